#!/usr/bin/env python3
"""Computed pKa values of the four proteins over measured ones, and PROPKA's beside them, as a picture without dependencies.

    .tools/prepare/bin/python3 validation/figure.py charmm36m-ecc docs/src/validation.svg

Full marks are groups that have converged by the program's criteria, bars their errors; the bands are half a unit and a unit wide on either side. Groups that are off by more than
0.9 have their names. Needs propka, which `make prepare-tools` fetches.
"""

import argparse
import csv
import pathlib

from baselines import NAMES, predicted
from force_fields import RESULTS, averages, lines

PROTEINS = {"1pgb": ("protein G", "#0072b2", "circle"), "4pti": ("BPTI", "#d55e00", "square"), "2lzt": ("lysozyme", "#009e73", "diamond"), "1stn": ("nuclease", "#8a4f9e", "triangle")}
LOW, HIGH, SIDE, LEFT, TOP, GAP = 0.0, 9.0, 400, 56, 44, 44
LABELLED = 0.9


def errors(folder):
    """Errors of computed pKa values by site. Tables have two columns `its error`, and the first is that of the computed value."""
    found = {}
    for file in (RESULTS / folder / "comparison.csv", RESULTS / folder / "apart.csv"):
        if file.exists():
            with open(file, newline="", encoding="utf-8") as rows:
                head, *table = csv.reader(rows)
            found |= {row[head.index("site")]: float(row[head.index("its error")]) for row in table if row[head.index("its error")]}
    return found


def groups(results):
    """Protein, name, measured and computed pKa with its error, that of PROPKA, and whether it has converged, of each group with a measured number."""
    for entry in PROTEINS:
        by_propka, error = predicted(entry), errors(f"{entry}-{results}")
        for row in lines(f"{entry}-{results}/comparison"):
            if row["verdict"] == "difference":
                kind, *_, number = row["site"].split()
                known = NAMES[kind]
                name = {"N+": "N-term", "C-": "C-term"}.get(known, known.capitalize()) + " " + number
                yield entry, name, float(row["measured"]), float(row["computed"]), error[row["site"]], by_propka[known, int(number)], row["converged"] == "yes"


def mark(shape, x, y, colour, full):
    """A mark of one protein."""
    points = {"square": [(-4, -4), (4, -4), (4, 4), (-4, 4)], "diamond": [(0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)], "triangle": [(0, -5.5), (5, 4), (-5, 4)]}
    style = f'stroke="{colour}" stroke-width="1.5" fill="{colour if full else "#ffffff"}"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {style}/>'
    return f'<polygon points="{" ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in points[shape])}" {style}/>'


def panel(left, title, values, axis):
    """One square: `values` are protein, name, measured, computed, error or none, full mark or not."""

    def across(pka):
        return left + (pka - LOW) / (HIGH - LOW) * SIDE

    def up(pka):
        return TOP + (HIGH - pka) / (HIGH - LOW) * SIDE

    def band(width, colour):
        corners = [(LOW, LOW - width), (LOW, LOW + width), (HIGH, HIGH + width), (HIGH, HIGH - width)]
        return f'<polygon points="{" ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in corners)}" fill="{colour}" clip-path="url(#square{left})"/>'

    out = [f'<clipPath id="square{left}"><rect x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}"/></clipPath>']
    out += [band(1.0, "#eef2f6"), band(0.5, "#dde6ee")]
    for tick in range(int(LOW), int(HIGH) + 1):
        out.append(f'<text x="{across(tick):.1f}" y="{TOP + SIDE + 18}" text-anchor="middle">{tick}</text>')
        if axis:
            out.append(f'<text x="{left - 8}" y="{up(tick) + 4:.1f}" text-anchor="end">{tick}</text>')
    out.append(f'<path d="M{across(LOW):.1f} {up(LOW):.1f}L{across(HIGH):.1f} {up(HIGH):.1f}" stroke="#5b6770"/>')
    out.append(f'<rect x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#5b6770"/>')
    names: list[str] = []
    places: list[tuple[float, float]] = []
    for entry, name, measured, computed, error, full in values:
        _, colour, shape = PROTEINS[entry]
        if error:
            out.append(f'<path d="M{across(measured):.1f} {up(computed - error):.1f}V{up(computed + error):.1f}" stroke="{colour}"/>')
        out.append(mark(shape, across(measured), up(computed), colour, full))
        if abs(computed - measured) > LABELLED:
            # Away from the diagonal, inside of the square, and not on another name.
            x, y = across(measured), up(computed) + 4
            where, x, y = ("end", x - 9, y) if computed > measured else ("middle", x, y + 18) if x > left + SIDE - 60 else ("start", x + 9, y)
            while any(abs(a - x) < 60 and abs(b - y) < 11 for a, b in places):
                y -= 12
            places.append((x, y))
            names.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{where}" font-size="11">{name}</text>')
    out += names
    differences = [computed - measured for _, _, measured, computed, *_ in values]
    said = averages(differences).split(" (")[0]
    out.append(f'<text x="{left}" y="{TOP - 22}" font-weight="bold">{title}</text><text x="{left}" y="{TOP - 7}">{said}</text>')
    out.append(f'<text x="{left + SIDE / 2}" y="{TOP + SIDE + 38}" text-anchor="middle">measured pKa</text>')
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what names of folders in results/ end with: charmm36m-ecc")
    parser.add_argument("picture", type=pathlib.Path)
    arguments = parser.parse_args()
    found = list(groups(arguments.results))
    width, height = LEFT + 2 * SIDE + GAP + 16, TOP + SIDE + 70
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13" fill="#24303a">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    ours = [(entry, name, measured, computed, error, full) for entry, name, measured, computed, error, _, full in found]
    theirs = [(entry, name, measured, by_propka, None, True) for entry, name, measured, _, _, by_propka, _ in found]
    out += panel(LEFT, "octitrate, scaled charges, in solution", ours, True)
    out += panel(LEFT + SIDE + GAP, "PROPKA 3.5.1", theirs, False)
    middle = TOP + SIDE / 2
    out.append(f'<text x="16" y="{middle}" transform="rotate(-90 16 {middle})" text-anchor="middle">computed pKa</text>')
    x = LEFT
    for title, colour, shape in PROTEINS.values():
        out.append(mark(shape, x + 5, height - 14, colour, True) + f'<text x="{x + 16}" y="{height - 10}">{title}</text>')
        x += 30 + 8 * len(title)
    out.append(mark("circle", x + 5, height - 14, "#5b6770", False) + f'<text x="{x + 16}" y="{height - 10}">not converged by the program’s criteria</text>')
    arguments.picture.write_text("\n".join([*out, "</svg>"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
