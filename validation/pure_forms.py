#!/usr/bin/env python3
"""pKa values of pure forms beside those of forms as parts of λ, from the thinned runs in results/.

    .tools/prepare/bin/python3 validation/pure_forms.py 1pgb-charmm36m-forms 4pti-charmm36m-forms 2lzt-charmm36m-forms 1stn-charmm36m-forms-2

`octitrate pka` counted a frame for a form where λ of the form is above 0.8, whatever V does between there and 1, and does so with runs that do not have V_MM in sites.toml. Here a frame n above a threshold counts for the pure form
by exp(−(V(form) − V(λ_n) − F(form) + F(λ_n))/RT), F what V_MM takes away. V is linear in the weights of a site, so that V(form) − V(λ_n) = Σ_β (δ_β − λ_β) ∂V/∂λ_β of that frame, and
the sum over frames is the free energy of the pure form whatever the threshold is; barrier and walls are the same for each form. V_pH is taken to the form likewise.
That λ of the charge buffer goes along, by a hundredth or two for each tenth of λ, is left out: its V_MM takes away what that costs but for the scatter.

Each pH stands for itself here, pKa values of those with 2 to 98 % of a form are averaged by what they tell: they differ from those of MBAR by a tenth or so. Sites of
three forms that titrate in all runs, with the corrections that come with octitrate. Differences are computed less measured values, in solution, in pK units.
"""

import csv
import math
import pathlib
import re
import sys
import tarfile
import tempfile
import tomllib

import numpy as np
from record_corrections import polynomial

HERE = pathlib.Path(__file__).parent
RESULTS = HERE / "results"
RT = 8.314462618e-3 * 300.0
EQUILIBRATION = 200.0
TRIPLES = ((1, 1, 1), (1, 2, 1), (1, 1, 2), (1, 2, 2), (2, 2, 1), (2, 1, 2))
COLUMNS = ((0.8, False), (0.9, False), (0.95, False), (0.9, True), (0.95, True))


def free_energy(correction, weights):
    """F of weights, kJ/mol; frames × forms. The order of terms is that of lambda/src/bias/simplex.rs."""
    n, degree = weights.shape[1], correction["degree"]
    terms = [weights[:, a] for a in range(1, n)]
    for a in range(n):
        for b in range(a + 1, n):
            terms += [weights[:, a] * weights[:, b] * (weights[:, b] - weights[:, a]) ** k for k in range(degree - 1)]
    inside = (1, 3, 6)[correction.get("interior_degree", 0)] if n == 3 and degree >= 3 else 0
    terms += [np.prod(weights ** np.array(powers), axis=1) for powers in TRIPLES[:inside]]
    return np.stack(terms, axis=1) @ np.array(correction["coefficients"])


def correction_of(site):
    """The correction of a site: that of sites.toml, or of the library where a run did not record it."""
    if "correction" in site:
        return site["correction"]
    return dict(zip(("degree", "interior_degree", "coefficients"), polynomial(site)))


def read(folder):
    """Runs as pH, sites by name, head and frames."""
    for path in sorted(folder.glob("runs_*/*/*/lambda.csv")):
        settings = tomllib.loads((path.parent / "sites.toml").read_text(encoding="utf-8"))
        with open(path, newline="", encoding="utf-8") as file:
            head, *lines = csv.reader(line for line in file if not line.startswith("#"))
        frames = np.array([[float(cell or "nan") for cell in line] for line in lines])
        yield settings["ph"], {site["name"]: site for site in settings["site"]}, head, frames[frames[:, 0] >= EQUILIBRATION]


def occupied(site, correction, head, frames, ph, threshold, pure):
    """What frames of one run tell of the protonated and of the deprotonated forms."""
    at = [head.index(f"lambda {site['name']}:{form['name']}") for form in site["forms"]]
    weights = frames[:, at]
    lost, pk = (np.array([form[key] for form in site["forms"]]) for key in ("protons_lost", "pk"))
    slopes = RT * math.log(10.0) * (pk - lost * ph) + (frames[:, [column + 1 for column in at]] if pure else 0.0)
    sums = [0.0, 0.0]
    for form, corner in enumerate(np.eye(len(at))):
        within = weights[:, form] > threshold
        energy = ((corner - weights[within]) * np.broadcast_to(slopes, weights.shape)[within]).sum(axis=1)
        if pure:
            energy -= free_energy(correction, corner[None]) - free_energy(correction, weights[within])
        sums[lost[form]] += np.exp(-energy / RT).sum()
    return sums


def pka(runs, name, threshold, pure):
    by_ph = {}
    for ph, sites, head, frames in runs:
        site = sites[name]
        sums = occupied(site, correction_of(site), head, frames, ph, threshold, pure)
        total = by_ph.setdefault(ph, [0.0, 0.0, 0])
        by_ph[ph] = [total[0] + sums[0], total[1] + sums[1], total[2] + len(frames)]
    told = []
    for ph, (protonated, deprotonated, frames) in by_ph.items():
        share = deprotonated / (protonated + deprotonated) if protonated + deprotonated else 0.0
        if 0.02 < share < 0.98:
            told.append((ph - math.log10(deprotonated / protonated), frames * share * (1.0 - share)))
    values, weights = zip(*told)
    return float(np.average(values, weights=weights))


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {row["site"]: row for row in csv.DictReader(file)}


def averages(label, differences):
    for word, of in (("mean absolute", lambda d: np.abs(d).mean(axis=0)), ("root mean square", lambda d: np.sqrt((d**2).mean(axis=0)))):
        print(f"{label:8}{word} of {len(differences)}".ljust(28) + "".join(f"{value:10.2f}" for value in of(np.array(differences))))


def main():
    everything = []
    print("λ above".ljust(28) + "".join(f"{threshold}{' pure' if pure else ''}".rjust(10) for threshold, pure in COLUMNS))
    for folder in sys.argv[1:]:
        measured, values = table(RESULTS / folder / "comparison.csv"), table(RESULTS / folder / "pka.csv")
        with tempfile.TemporaryDirectory() as place:
            for archive in sorted((RESULTS / folder).glob("runs_*.tar.xz")):
                with tarfile.open(archive) as file:
                    file.extractall(place, filter="data")
            runs = list(read(pathlib.Path(place)))
        protein = []
        for name, row in measured.items():
            if row["verdict"] != "difference" or any(len(sites.get(name, {}).get("forms", ())) != 3 for _, sites, _, _ in runs):
                continue
            shift = float(values[name]["pKa in solution"]) - float(values[name]["pKa"]) - float(row["measured"])
            protein.append([pka(runs, name, *column) + shift for column in COLUMNS])
            print(f"{folder.split('-')[0]:8}{re.sub('^(GL3|AS3|HIP|ZGL3) ', '', name):20}" + "".join(f"{value:+10.2f}" for value in protein[-1]))
        averages(folder.split("-")[0], protein)
        everything += protein
    averages("all", everything)


if __name__ == "__main__":
    main()
