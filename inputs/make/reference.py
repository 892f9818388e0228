"""Single-point reference of one structure and topology: every energy term and the forces, from GROMACS in double precision,
and the Coulomb part again from the plain Ewald sum of ewald.py.

    python3 reference.py ../01-glu/glu ../../tests/reference/glu.json        (needs numpy; GMX_D names the binary, default gmx_d)

GROMACS evaluates exactly the positions of the .gro file: step 0 of a run without constraints ([settles] are taken out, so that
the virial holds forces only; `mdrun -rerun` of the same file gives the same energies, but no virial).
Runs: plain cut-off, potential shift and force switch for Lennard-Jones with all charges zero; full charges with tight PME at
two settings, whose difference is stored. GROMACS' own Coulomb constant is measured with two ions 1 nm apart, no periodicity.
Stored forces: all atoms that are not water, and all atoms of every tenth water molecule.
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import ewald

GMX = os.environ.get("GMX_D", "gmx_d")
K_E = 138.93545764438198
CUTOFF = 1.0
COMMON = {
    "integrator": "md", "nsteps": 0, "nstfout": 1, "nstenergy": 1, "nstcalcenergy": 1, "cutoff-scheme": "Verlet",
    "nstlist": 1, "verlet-buffer-tolerance": -1, "rvdw": CUTOFF, "constraints": "none", "continuation": "yes",
    "comm-mode": "none", "ld-seed": 1,
}
UNCHARGED = {"coulombtype": "Cut-off", "coulomb-modifier": "None", "rcoulomb": CUTOFF, "rlist": 1.1}
PME = {
    "coulombtype": "PME", "coulomb-modifier": "None", "rcoulomb": 1.3, "rlist": 1.31, "ewald-rtol": 1e-12,
    "fourierspacing": 0.045, "pme-order": 12, "vdw-modifier": "None", "DispCorr": "no",
}
PME_OTHER = PME | {"rcoulomb": 1.2, "rlist": 1.25, "ewald-rtol": 1e-11, "fourierspacing": 0.035}
LJ = {
    "none": {"vdw-modifier": "None"},
    "potential-shift": {"vdw-modifier": "Potential-shift"},
    "force-switch": {"vdw-modifier": "Force-switch", "rvdw-switch": 0.8},
}


def gmx(folder, *words, text=None):
    """Run GROMACS in `folder`; its output appears only when it fails."""
    done = subprocess.run([GMX, "-quiet", "-nobackup", *words], cwd=folder, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def version():
    """GROMACS and its version."""
    return "GROMACS " + gmx(".", "--version").split("GROMACS version:")[1].split("\n")[0].strip() + ", double precision"


def forces(path):
    """Forces (kJ/mol/nm) of the first frame of a double precision TRR file."""
    raw = path.read_bytes()
    length = struct.unpack(">i", raw[8:12])[0]  # magic, string length + 1, string length, string
    start = 12 + (length + 3) // 4 * 4
    sizes = struct.unpack(">13i", raw[start : start + 52])  # ir e box vir pres top sym x v f natoms step nre
    atoms = sizes[10]
    if sizes[9] != atoms * 24:
        sys.exit(f"{path}: no double precision forces")
    offset = start + 52 + 16 + sum(sizes[2:9])  # header ends with time and λ as doubles
    return np.frombuffer(raw, ">f8", atoms * 3, offset).reshape(atoms, 3).astype(float)


def single_point(gro, top, settings):
    """{term: value} as `gmx energy` names them, and forces, for the given mdp settings."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run.mdp").write_text("\n".join(f"{key} = {value}" for key, value in (COMMON | settings).items()) + "\n")
        gmx(folder, "grompp", "-f", "run.mdp", "-c", str(gro), "-p", str(top), "-o", "run.tpr", "-maxwarn", "3")
        gmx(folder, "mdrun", "-nt", "1", "-s", "run.tpr", "-deffnm", "run")
        gmx(folder, "energy", "-f", "run.edr", "-dp", "-xvg", "xmgrace", text="\n".join(map(str, range(1, 60))) + "\n0\n")
        lines = (folder / "energy.xvg").read_text().splitlines()
        names = [line.split('"')[1] for line in lines if line.startswith("@ s") and " legend " in line]
        values = [line for line in lines if line[0] not in "#@"][0].split()[1:]
        return dict(zip(names, map(float, values))), forces(folder / "run.trr")


def read_gro(path):
    """Residue names, positions (nm), vectors of the cell as rows (nm)."""
    lines = path.read_text().splitlines()
    atoms = lines[2:-1]
    positions = np.array([[float(line[20 + 8 * a : 28 + 8 * a]) for a in range(3)] for line in atoms])
    ax, by, cz, _, _, bx, _, cx, cy = ([float(word) for word in lines[-1].split()] + [0.0] * 6)[:9]
    return [line[5:10].strip() for line in atoms], positions, np.array([[ax, 0.0, 0.0], [bx, by, 0.0], [cx, cy, cz]])


def read_charges(path):
    """Charges (e), exclusion lists and the indices of atoms that are not water, of the expanded system of a flattened topology."""
    molecules, order, section = {}, [], None
    for line in path.read_text().splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "[":
            section = words[1]
        elif section == "moleculetype":
            current = molecules[words[0]] = {"nrexcl": int(words[1]), "charges": [], "bonds": [], "excluded": []}
        elif section == "atoms":
            current["charges"].append(float(words[6]))
        elif section in ("bonds", "constraints"):
            current["bonds"].append((int(words[0]) - 1, int(words[1]) - 1))
        elif section == "exclusions":
            current["excluded"] += [(int(words[0]) - 1, int(other) - 1) for other in words[1:]]
        elif section == "molecules":
            order += [words[0]] * int(words[1])
    for molecule in molecules.values():
        molecule["partners"] = partners(molecule)
    charges, excluded, not_water = [], [], []
    for name in order:
        first = len(charges)
        charges += molecules[name]["charges"]
        excluded += [[first + other for other in row] for row in molecules[name]["partners"]]
        not_water += [] if name == "SOL" else range(first, len(charges))
    return np.array(charges), excluded, not_water


def partners(molecule):
    """Exclusions of one molecule: up to nrexcl bonds apart, and the explicit ones."""
    n = len(molecule["charges"])
    bonded = [set() for _ in range(n)]
    for i, j in molecule["bonds"]:
        bonded[i].add(j)
        bonded[j].add(i)
    rows = []
    for i in range(n):
        reached, shell = {i}, {i}
        for _ in range(molecule["nrexcl"]):
            shell = set().union(*(bonded[j] for j in shell)) - reached
            reached |= shell
        rows.append(reached - {i})
    for i, j in molecule["excluded"]:
        rows[i].add(j)
        rows[j].add(i)
    return [sorted(row) for row in rows]


def bare(path, folder, charged):
    """Copy of the topology without the content of [settles] and, unless `charged`, with every charge of [atoms] zero."""
    section, lines = None, []
    for line in path.read_text().splitlines():
        words = line.split()
        if words and words[0] == "[":
            section = words[1]
        elif words and section == "atoms" and not charged:
            words[6] = "0.0"
        if section != "settles":
            lines.append(" ".join(words))
        elif words and words[0] == "[":
            lines.append("[ bonds ]")  # none; grompp wants some interaction before exclusions
    target = Path(folder) / f"charged-{charged}.top"
    target.write_text("\n".join(lines) + "\n")
    return target


def gromacs_coulomb_constant():
    """k_e (kJ mol⁻¹ nm e⁻²) of this GROMACS: minus the energy of charges +1 and −1 one nm apart."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        top = "[ defaults ]\n1 2 yes 1 1\n[ atomtypes ]\nA 1 1.0 0.0 A 0.3 0.0\n[ moleculetype ]\nP 0\n[ atoms ]\n1 A 1 P A 1 1.0\n"
        top += "[ moleculetype ]\nM 0\n[ atoms ]\n1 A 1 M A 1 -1.0\n[ system ]\npair\n[ molecules ]\nP 1\nM 1\n"
        gro = "pair\n    2\n    1P        A    1   1.000   1.000   1.000\n    2M        A    2   2.000   1.000   1.000\n   9.0 9.0 9.0\n"
        (folder / "pair.top").write_text(top)
        (folder / "pair.gro").write_text(gro)
        settings = UNCHARGED | {"rcoulomb": 1.5, "rvdw": 1.5, "rlist": 1.6, "coulombtype": "Reaction-Field", "epsilon-rf": 1}
        energies, _ = single_point(folder / "pair.gro", folder / "pair.top", settings)
        return -energies["Coulomb (SR)"]


def gromacs(gro, top):
    """{run: (terms, forces)}: each Lennard-Jones modifier with all charges zero, and full charges with tight PME at two settings."""
    with tempfile.TemporaryDirectory() as folder:
        uncharged, charged = bare(top, folder, False), bare(top, folder, True)
        runs = {name: single_point(gro, uncharged, UNCHARGED | settings | {"DispCorr": "EnerPres"}) for name, settings in LJ.items()}
        for name, settings in LJ.items():  # GROMACS' virial holds the dispersion correction too
            runs[f"{name}, cut-off only"] = single_point(gro, uncharged, UNCHARGED | settings | {"DispCorr": "no"})
        runs["pme"] = single_point(gro, charged, PME)
        runs["pme second"] = single_point(gro, charged, PME_OTHER)
    return runs


BONDED = {
    "Bond": "bonds", "Angle": "angles", "U-B": "urey_bradley", "Proper Dih.": "proper_dihedrals", "Per. Imp. Dih.": "periodic_impropers",
    "Improper Dih.": "harmonic_impropers", "Ryckaert-Bell.": "ryckaert_bellemans", "CMAP Dih.": "cmap", "LJ-14": "lennard_jones_14",
}


def trace(energies, name):
    return sum(energies[f"{name}-{axis}"] for axis in ("XX", "YY", "ZZ"))


def exact_coulomb(x, charges, cell, excluded, reach):
    """Ewald sum with real-space terms down to erfc(reach)."""
    cutoff = 0.4999 * ewald.image_distance(cell)
    return ewald.evaluate(x, charges, cell, excluded, reach / cutoff, cutoff)


def gap_at_cutoff(x, cell):
    """Smallest | |r_ij| − cut-off | of all pairs (nm): were it zero to rounding, two right programs might count different pairs."""
    gap = np.inf
    for i in range(len(x) - 1):
        d = ewald.nearest(x[i] - x[i + 1 :], cell)
        gap = min(gap, float(abs(np.sqrt(np.einsum("ij,ij->i", d, d)) - CUTOFF).min()))
    return gap


def rounded(array):
    return [[float(f"{value:.10g}") for value in row] for row in array]


def main():
    stem, target = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    gro, top = stem.with_suffix(".gro"), stem.with_suffix(".top")
    resnames, x, cell = read_gro(gro)
    charges, excluded, not_water = read_charges(top)
    k_gromacs = gromacs_coulomb_constant()

    runs = gromacs(gro, top)
    plain, plain_force = runs["none"]
    tight, tight_force = runs["pme"]
    other, other_force = runs["pme second"]
    pme = tight["Coulomb (SR)"] + tight["Coul. recip."]
    pme_other = other["Coulomb (SR)"] + other["Coul. recip."]
    exact, exact_force = exact_coulomb(x, charges, cell, excluded, 5.8)
    again, again_force = exact_coulomb(x, charges, cell, excluded, 6.4)
    tight_coulomb_force = tight_force - plain_force

    others = set(not_water)
    waters = [i for k, i in enumerate(i for i in range(len(x)) if i not in others) if k // 3 % 10 == 0]
    atoms = list(not_water) + waters
    norm = np.linalg.norm
    ewald_gromacs = exact * k_gromacs
    result = {
        "description": "single point of the structure and topology named below; energies kJ/mol, forces kJ/mol/nm, virial traces sum(r.F) kJ/mol",
        "structure": gro.name,
        "topology": top.name,
        "provenance": {
            "program": version(),
            "command": "inputs/make/reference.py",
            "lennard_jones_cutoff_nm": CUTOFF,
            "force_switch_from_nm": 0.8,
            "pair_nearest_to_cutoff_nm": gap_at_cutoff(x, cell),
            "pme": {key: PME[key] for key in ("rcoulomb", "ewald-rtol", "fourierspacing", "pme-order")},
            "pme_second_setting": {key: PME_OTHER[key] for key in ("rcoulomb", "ewald-rtol", "fourierspacing", "pme-order")},
            "k_e_gromacs": k_gromacs,
            "k_e_octitrate": K_E,
            "note": "values from GROMACS carry k_e_gromacs, those under 'coulomb.ewald' and 'coulomb_ewald' k_e_octitrate",
        },
        "bonded": {label: plain[name] for name, label in BONDED.items() if name in plain},
        "coulomb_14": tight.get("Coulomb-14", 0.0),
        "lennard_jones": {
            name: {
                "energy": energies["LJ (SR)"],
                "dispersion_correction": energies["Disper. corr."],
                "dispersion_correction_pressure_bar": energies["Pres. DC"],
                "virial_trace_with_bonded_and_14": -2 * trace(runs[f"{name}, cut-off only"][0], "Vir"),
            }
            for name, energies in ((name, runs[name][0]) for name in LJ)
        },
        "coulomb": {
            "net_charge": float(round(charges.sum(), 12)) + 0.0,
            "gromacs": {"energy": pme, "energy_second_setting": pme_other, "reciprocal": tight["Coul. recip."]},
            "ewald": {
                "energy": exact * K_E,
                "relative_change_with_beta": abs(again - exact) / abs(exact),
                "forces_relative_change_with_beta": norm(again_force - exact_force) / norm(exact_force),
                "gromacs_relative_difference_same_k_e": abs(pme - ewald_gromacs) / abs(ewald_gromacs),
            },
            "forces_relative_change_between_pme_settings": norm(tight_force - other_force) / norm(tight_coulomb_force),
        },
        "forces": {
            "atoms": atoms,
            "bonded_and_lennard_jones_none": rounded(plain_force[atoms]),
            "coulomb_ewald": rounded(exact_force[atoms] * K_E),
            "coulomb_and_14_gromacs": rounded(tight_coulomb_force[atoms]),
        },
    }
    text = json.dumps(result, indent=1)
    target.write_text(compact(text) + "\n")
    print(json.dumps({key: result[key] for key in ("bonded", "coulomb_14", "lennard_jones", "coulomb")}, indent=1))
    # Forces of the Ewald sum and of GROMACS differ only by the 1-4 Coulomb pairs, which water does not have.
    ours, theirs = exact_force[waters] * k_gromacs, tight_coulomb_force[waters]
    print("forces on water, GROMACS against Ewald:", norm(ours - theirs) / norm(ours))


def compact(text):
    """One row of numbers per line."""
    return re.sub(r"\[\s+([-0-9.e+]+(?:,\s+[-0-9.e+]+)*)\s+\]", lambda found: "[" + re.sub(r"\s+", " ", found[1]) + "]", text)


if __name__ == "__main__":
    main()
