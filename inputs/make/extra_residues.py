"""Residues for `gmx pdb2gmx` that AMBER99SB-ILDN lacks, so that everything that titrates can be built protonated.

    python3 extra_residues.py /usr/share/gromacs/top/amber99sb-ildn.ff ../../lambda/library/pdb2gmx

GL3, AS3   Glu and Asp with a hydrogen on both oxygens, of which only one carries a charge. Atom types and bonded terms are those of
           GLU and ASP, the form that proteins have most of the time, so that the side-chain torsions of ILDN act on Asp too; ASH has
           none of them. Charges are those of GLH and ASH, the proton on OE2, OD2.
Z + name   (ZALA, ZGLY, ...) C-terminal residues with a hydrogen on both oxygens, HO1 on OC1 and HO2 on OC2, where the charge of the
           proton is. Atom types and bonded terms are those of CALA, CGLY, ...; charges are theirs plus the difference between the
           carboxyl groups of ASH and ASP; CA takes what is left of the CH2.

NGL3, NAS3, ZGL3, ZAS3   Glu and Asp at the ends of chains: the charges of NGLU, CGLU, ... plus the difference between the residue with
           its proton and without it, CB takes what is left.

Both oxygens are alike but for charges. Hydrogens have the bond and the angle of HO-OH-C, and a torsion that holds them on the side of the
other oxygen (syn) for good: without its charge a hydrogen feels nothing else, and the torsion of the force field lets it go in nanoseconds.

Written are octitrate.rtp (residues), octitrate.hdb (where hydrogens go) and octitrate.arn (O, OXT are
OC2, OC1 as in the force field: the oxygen that a structure lacks is built).
"""
import sys
from pathlib import Path

# ASH - ASP: CG, the oxygen of C=O, the oxygen and the hydrogen of O-H; CB HB1 HB2 together.
ACID = {"C": -0.1532, "OC1": 0.2460, "OC2": 0.1638, "HO2": 0.4747, "CA": 0.2687}
# Residue: its protonated and deprotonated form in the force field; atom before the carbon, carbon, oxygens, hydrogens.
CARBOXYL = {
    "GL3": ("GLH", "GLU", "CG", "CD", "OE1", "OE2", "HE1", "HE2"),
    "AS3": ("ASH", "ASP", "CB", "CG", "OD1", "OD2", "HD1", "HD2"),
}
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


def with_hydrogens(residue, before, carbon, first, second, new, old):
    """Bonds, angles and torsions of a residue with the hydrogens `new` on oxygen `first` and `old` on `second`."""
    hydrogens = ((new, first, second), (old, second, first))
    bonds = residue["bonds"] + [[oxygen, hydrogen, "0.09600", "462750.4"] for hydrogen, oxygen, _ in hydrogens]
    angles = [[carbon, oxygen, hydrogen, "113.000", "418.400"] for hydrogen, oxygen, _ in hydrogens]
    # Held syn by a onefold term of 2 x 80 kJ/mol. The path over the atom before the carbon gets a term without force: it must have one.
    torsions = [
        [hydrogen, oxygen, carbon, end, "180.0", force, "1"]
        for hydrogen, oxygen, other in hydrogens
        for end, force in ((other, "80.0"), (before, "0.0"))
    ]
    return bonds, angles, residue.get("dihedrals", []) + torsions


def both_oxygens(protonated, residue, around):
    """GLU or ASP with the charges of GLH or ASH, and a hydrogen without charge on the other oxygen."""
    *_, first, second, new, old = around
    charges = {name: charge for name, _, charge, _ in protonated["atoms"]}
    kinds = {name: kind for name, kind, _, _ in residue["atoms"]} | {old: "HO"}
    atoms = [[name, kinds[name], charges[name], ""] for name, *_ in protonated["atoms"]]
    place = next(k for k, atom in enumerate(atoms) if atom[0] == old)
    atoms.insert(place, [new, "HO", "0.00000", ""])
    bonds, angles, torsions = with_hydrogens(residue, *around)
    before, carbon = around[:2]
    flat = [[before, first, carbon, second]]
    impropers = [line for line in residue["impropers"] if carbon not in line] + flat
    return {"atoms": atoms, "bonds": bonds, "angles": angles, "dihedrals": torsions, "impropers": impropers}


def at_end(residue, protonated, charged, around):
    """A terminal Glu or Asp (NGLU, CGLU, ...) with its side chain protonated: charges by difference, CB takes what is left."""
    *_, first, second, new, old = around
    charges, without = ({name: float(q) for name, _, q, _ in one["atoms"]} for one in (protonated, charged))
    backbone = ("N", "H", "CA", "HA", "C", "O", "CB")
    added = {name: q - without.get(name, 0.0) for name, q in charges.items() if name not in backbone}
    added["CB"] = 1.0 - sum(added.values())
    atoms = []
    for name, kind, charge, _ in residue["atoms"]:
        atoms.append([name, kind, f"{float(charge) + added.get(name, 0.0):.5f}", ""])
        if name == second:
            atoms += [[new, "HO", "0.00000", ""], [old, "HO", f"{charges[old]:.5f}", ""]]
    bonds, angles, torsions = with_hydrogens(residue, *around)
    return {"atoms": atoms, "bonds": bonds, "angles": angles, "dihedrals": torsions, "impropers": residue["impropers"]}


def acid(residue):
    """A C-terminal residue with a hydrogen on both oxygens."""
    charged = [
        [name, kind, f"{float(charge) + ACID.get(name, 0.0):.5f}", ""] for name, kind, charge, _ in residue["atoms"]
    ] + [["HO1", "HO", "0.00000", ""], ["HO2", "HO", f"{ACID['HO2']:.5f}", ""]]
    bonds, angles, torsions = with_hydrogens(residue, "CA", "C", "OC1", "OC2", "HO1", "HO2")
    angles = residue.get("angles", []) + angles
    return {"atoms": charged, "bonds": bonds, "angles": angles, "dihedrals": torsions, "impropers": residue["impropers"]}


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    known, placed = residues(source / "aminoacids.rtp"), hydrogens(source / "aminoacids.hdb")
    made, where = {}, {}
    for name, (model, charged, *around) in CARBOXYL.items():
        before, carbon, first, second, new, old = around
        made[name] = both_oxygens(known[model], known[charged], around)
        lines = [line for line in placed[model] if line[2] != old]
        where[name] = lines + [["1", "2", new, first, carbon, before], ["1", "2", old, second, carbon, before]]
    ends = [name for name in known if len(name) == 4 and name[0] == "C" and any(atom[0] == "OC1" for atom in known[name]["atoms"])]
    for name in ends:
        made["Z" + name[1:]] = acid(known[name])
        where["Z" + name[1:]] = placed[name] + [["1", "2", "HO1", "OC1", "C", "CA"], ["1", "2", "HO2", "OC2", "C", "CA"]]
    for name, (model, charged, *around) in CARBOXYL.items():
        before, carbon, first, second, new, old = around
        more = [["1", "2", new, first, carbon, before], ["1", "2", old, second, carbon, before]]
        first_residue, last_residue = (at_end(known[end + charged], known[model], known[charged], around) for end in "NC")
        made["N" + name], made["Z" + name] = first_residue, acid(last_residue)
        where["N" + name], where["Z" + name] = placed["N" + charged] + more, where["Z" + charged] + more
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
        names = ["Z" + name[1:] for name in ends] + ["Z" + name for name in CARBOXYL]
        out.write("".join(f"{name} O OC2\n{name} OXT OC1\n" for name in names))


if __name__ == "__main__":
    main()
