"""Bonded terms of the forms of carboxyl groups and His: a residue with them is the residue that the force field has for each form."""

from __future__ import annotations


import pytest

pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from conftest import loaded  # noqa: E402
from octitrate.bonded import OfForms, Terms, of_forms, terms  # noqa: E402
from octitrate.force_fields import patched, view  # noqa: E402
from octitrate.templates import BACKBONE, CARBOXYLS  # noqa: E402


def replaced(built: Terms, forms: tuple[OfForms, ...], form: int) -> dict[tuple[str, int, tuple[str, ...]], list[tuple[float, ...]]]:
    """All terms of the residue as it is built, with those of one form in the place of others on the same atoms, as the program does it."""
    kinds = {"bonds": 1, "angles": 1, "torsions": 9}
    found = {}
    for kind, function in kinds.items():
        for atoms, numbers in getattr(built, kind).items():
            own = [one for one in forms if one.function == function and one.atoms in (atoms, atoms[::-1])]
            found[kind, len(atoms), atoms] = [one.numbers[form] for one in own if one.numbers[form]] if own else numbers if isinstance(numbers, list) else [numbers]
        # Terms that the residue as it is built has not.
        for one in forms:
            key = (kind, len(one.atoms), one.atoms)
            if one.function == function and len(one.atoms) in {"bonds": (2,), "angles": (3,), "torsions": (4,)}[kind] and one.numbers[form] and key not in found:
                found[key] = [two.numbers[form] for two in forms if two.atoms == one.atoms and two.numbers[form]]
    return {key: sorted(numbers) for key, numbers in found.items() if any(any(values[1:2]) for values in numbers)}


@pytest.mark.parametrize("residue", CARBOXYLS)
@pytest.mark.parametrize("force_field", ["ff14SB", "ff19SB", "charmm36m"])
def test_each_form_has_the_terms_of_its_residue(force_field: str, residue: str) -> None:
    ff = loaded(force_field)
    base, protonated, patch, _, _, first, second, new, old = CARBOXYLS[residue]
    built = terms(ff.forcefield, ff.residues.view(residue), f"{base}-built")
    acid = view(ff.forcefield, patched(ff.forcefield, base, patch)) if ff.residues.is_patched else ff.residues.plain(protonated)
    on_second = terms(ff.forcefield, acid, f"{base}-acid")
    forms = of_forms(force_field, residue, ff.residues)
    assert len(forms) > 10
    without = terms(ff.forcefield, ff.residues.plain(base), f"{base}-base")
    for form, expected in enumerate((on_second, on_second.renamed({first: second, second: first}), without)):
        assert_alike(replaced(built, forms, form), replaced(expected, (), 0), {new, old})


def assert_alike(mine: dict, theirs: dict, hydrogens: set[str]) -> None:
    """The terms but for those of the backbone alone and of hydrogens that leave."""

    def heavy(found: dict) -> dict:
        return {key: numbers for key, numbers in found.items() if not hydrogens & set(key[2]) and not set(key[2]) <= set(BACKBONE)}

    mine, theirs = heavy(mine), heavy(theirs)
    assert mine.keys() == theirs.keys(), mine.keys() ^ theirs.keys()
    for key, numbers in theirs.items():
        for one, other in zip(mine[key], numbers, strict=True):
            assert one == pytest.approx(other, rel=1e-9), key


@pytest.mark.parametrize("force_field", ["ff14SB", "ff19SB", "charmm36m"])
def test_each_form_of_his_has_the_terms_of_its_residue(force_field: str) -> None:
    ff = loaded(force_field)
    charged, *neutral = (terms(ff.forcefield, ff.residues.plain(name), f"{name}-tested") for name in ("HIP", "HID", "HIE"))
    forms = of_forms(force_field, "HIP", ff.residues)
    assert len(forms) > 25
    for form, expected in enumerate((charged, *neutral)):

        def but_lengths(found: dict) -> dict:
            # Bonds to hydrogen are constraints; distances of Urey and Bradley are not bonded.
            hydrogen = {frozenset(pair) for pair in charged.bonded if any(name.startswith("H") for name in pair)}
            return {key: numbers for key, numbers in found.items() if key[1] != 2 or frozenset(key[2]) not in hydrogen}

        assert_alike(but_lengths(replaced(charged, forms, form)), but_lengths(replaced(expected, (), 0)), {"HD1", "HE2"})


def test_forms_that_should_differ_do() -> None:
    """ff19SB's torsion about CA-CB of Asp, N-CA-CB-CG, once around: 9.0 kJ/mol without the proton, 2.9 with it (amber19/protein.ff19SB.xml of OpenMM 8.6.1)."""
    found = [one.numbers for one in of_forms("ff19SB", "AS3") if set(one.atoms) == {"N", "CA", "CB", "CG"} and one.numbers[2][2] == 1.0]
    assert found == [((180.0, 2.878592, 1.0), (180.0, 2.878592, 1.0), (180.0, 9.012336, 1.0))]
