"""Residues for `gmx pdb2gmx` that AMBER99SB-ILDN lacks, so that everything that titrates can be built protonated.

    python3 extra_residues.py /usr/share/gromacs/top/amber99sb-ildn.ff ../../lambda/library/pdb2gmx

GL3, AS3   Glu and Asp with a hydrogen on both oxygens, of which only one carries a charge. Charges are those of GLH and
           ASH (the proton on OE2, OD2). Both oxygens are alike otherwise: type OH; lengths and angles of the carboxylate.
Z + name   (ZALA, ZGLY, ...) C-terminal residues with a carboxyl group OC1, OC2-HOC. Charges are those of the residue CALA,
           CGLY, ... plus the difference between the carboxyl groups of ASH and ASP; CA takes what is left of the CH2.

Written are octitrate.rtp (residues), octitrate.hdb (where hydrogens go) and octitrate.arn (O, OXT are
OC2, OC1 as in the force field: the oxygen that a structure lacks is built).
"""
import sys
from pathlib import Path

# ASH - ASP: CG, the oxygen of C=O, the oxygen and the hydrogen of O-H; CB HB1 HB2 together.
ACID = {"C": -0.1532, "OC1": 0.2460, "OC2": 0.1638, "HOC": 0.4747, "CA": 0.2687}
CARBOXYL = {"GL3": ("GLH", "CG", "CD", "OE1", "OE2", "HE1", "HE2"), "AS3": ("ASH", "CB", "CG", "OD1", "OD2", "HD1", "HD2")}
BONDED = """[ bondedtypes ]
; as in aminoacids.rtp
     1       1          9          4        1         3      1     0
"""


def residues(path):
    """{name: {directive: [words of a line]}} of an .rtp file."""
    found, residue, lines = {}, None, None
    for line in path.read_text().splitlines():
        line = line.split(";")[0].strip()
        if line.startswith("["):
            name = line.strip("[] ")
            if name in ("atoms", "bonds", "impropers", "angles", "dihedrals"):
                lines = residue.setdefault(name, [])
            else:
                residue, lines = found.setdefault(name, {}), None
        elif line and lines is not None:
            lines.append(line.split())
    return found


def hydrogens(path):
    """{residue: [lines]} of an .hdb file."""
    lines = [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith(";")]
    found, at = {}, 0
    while at < len(lines):
        name, count = lines[at][0], int(lines[at][1])
        found[name] = lines[at + 1 : at + 1 + count]
        at += 1 + count
    return found


def both_oxygens(residue, around):
    """GLH or ASH with a hydrogen without charge on the other oxygen, and with two equal C-O bonds."""
    before, carbon, first, second, new, old = around
    atoms = [[name, "OH" if name == first else kind, charge, ""] for name, kind, charge, _ in residue["atoms"]]
    place = next(k for k, atom in enumerate(atoms) if atom[0] == old)
    atoms.insert(place, [new, "HO", "0.00000", ""])
    bond, angle, middle = ["0.12500", "548940.8"], ["117.000", "585.760"], ["126.000", "669.440"]
    bonds = [pair + (bond if carbon in pair and before not in pair else []) for pair in residue["bonds"]] + [[first, new]]
    # Twofold as HO-OH-C-O; onefold so that the hydrogen without charge stays on the side of the other oxygen.
    torsions = [
        [h, o, carbon, other, "180.0", *terms]
        for h, o, other in ((new, first, second), (old, second, first))
        for terms in (["9.62320", "2"], ["7.94960", "1"])
    ]
    flat = [[before, first, carbon, second, "180.00", "43.93200", "2"]]
    impropers = [line for line in residue["impropers"] if carbon not in line] + flat
    angles = [[before, carbon, first] + angle, [before, carbon, second] + angle, [first, carbon, second] + middle]
    return {"atoms": atoms, "bonds": bonds, "angles": angles, "dihedrals": torsions, "impropers": impropers}


def acid(residue):
    """A C-terminal residue with a carboxyl group."""
    kinds = {"OC1": "O", "OC2": "OH"}
    charged = [
        [name, kinds.get(name, kind), f"{float(charge) + ACID.get(name, 0.0):.5f}", ""]
        for name, kind, charge, _ in residue["atoms"]
    ] + [["HOC", "HO", f"{ACID['HOC']:.5f}", ""]]
    return {"atoms": charged, "bonds": residue["bonds"] + [["OC2", "HOC"]], "impropers": residue["impropers"]}


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    known, placed = residues(source / "aminoacids.rtp"), hydrogens(source / "aminoacids.hdb")
    made, where = {}, {}
    for name, (model, *around) in CARBOXYL.items():
        before, carbon, first, second, new, old = around
        made[name] = both_oxygens(known[model], around)
        lines = [line for line in placed[model] if line[2] != old]
        where[name] = lines + [["1", "2", new, first, carbon, before], ["1", "2", old, second, carbon, before]]
    ends = [name for name in known if len(name) == 4 and name[0] == "C" and any(atom[0] == "OC1" for atom in known[name]["atoms"])]
    for name in ends:
        made["Z" + name[1:]] = acid(known[name])
        where["Z" + name[1:]] = placed[name] + [["1", "2", "HOC", "OC2", "C", "CA"]]
    head = "; Made by inputs/make/extra_residues.py from amber99sb-ildn.ff of GROMACS; what and why is said there.\n"
    with (target / "octitrate.rtp").open("w") as out:
        out.write(head + "\n" + BONDED)
        for name, parts in made.items():
            out.write(f"\n[ {name} ]\n")
            for number, atom in enumerate(parts["atoms"], start=1):
                atom[3] = str(number)
            for directive, lines in parts.items():
                out.write(f" [ {directive} ]\n" + "".join("  " + " ".join(f"{word:>6s}" for word in line) + "\n" for line in lines))
    with (target / "octitrate.hdb").open("w") as out:
        for name, lines in where.items():
            out.write(f"{name}\t{len(lines)}\n" + "".join("\t".join(line) + "\n" for line in lines))
    with (target / "octitrate.arn").open("w") as out:
        out.write("".join(f"Z{name[1:]} O OC2\nZ{name[1:]} OXT OC1\n" for name in ends))


if __name__ == "__main__":
    main()
