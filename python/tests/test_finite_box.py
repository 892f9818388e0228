"""What a box does to pKa values: against what is known without a solver, and against another solver."""

from __future__ import annotations

import math

import pytest

np = pytest.importorskip("numpy")

from octitrate.finite_box import BJERRUM, ION, PER_MOLAR, alone, in_box, radius, table, too_high  # noqa: E402


def test_a_small_charge_has_the_potential_of_debye_and_hueckel() -> None:
    size, salt, charge = 1.5, 0.15, 0.05
    near = size + ION
    kappa = math.sqrt(8 * math.pi * BJERRUM * salt * PER_MOLAR)
    expected = charge * BJERRUM * (1 / near / (1 + kappa * near) + 1 / size - 1 / near) / math.log(10)
    # sinh(φ) − φ at a φ of 0.01, and the grid.
    assert alone(charge, size, salt) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("charge", "size", "waters", "expected"),
    # solve_bvp of scipy 1.17 (collocation, tolerance 1e-6) for the same equations: alone in 0.1 and 0.15 mol/l, and in the box with 0.15.
    [(18, 1.7, 8205, (1.24, 1.14, 0.95)), (12, 1.61, 8488, (0.93, 0.85, 0.72)), (7, 1.24, 5683, (0.83, 0.76, 0.65))],
)
def test_large_charges_have_the_potentials_of_another_solver(charge: float, size: float, waters: int, expected: tuple[float, float, float]) -> None:
    found = alone(charge, size, 0.1), alone(charge, size, 0.15), in_box(charge, size, waters, 0.15)
    # They are known to 0.01.
    assert found == pytest.approx(expected, abs=0.0075)


def test_counter_ions_without_salt() -> None:
    """Peptides in two boxes, by the other solver with 0.5 mmol/l."""
    assert [in_box(6.5, 0.9, waters, 0.0005) for waters in (2820, 9490)] == pytest.approx([1.04, 1.32], abs=0.0075)


def test_a_large_box_has_no_walls_and_a_negative_protein_is_the_mirror_image() -> None:
    mass = 14_300.0
    assert 1.55 < radius(mass) < 1.65
    errors = [too_high(12.0, mass, waters, 0.15) for waters in (4_000, 8_488, 30_000, 1_000_000)]
    assert errors == sorted(errors, reverse=True) and errors[0] > 0.15 and 0.0 < errors[-1] < 0.01
    assert too_high(-12.0, mass, 8_488, 0.15) == pytest.approx(-errors[1], abs=1e-9)
    assert too_high(0.0, mass, 8_488, 0.15) == too_high(12.0, mass, 8_488, 0.0) == 0.0


def test_the_table_has_the_effect_after_each_proton() -> None:
    """Lines between its rows lie on what is computed between them."""
    lines = [line.split(",") for line in table(19.0, 12, 14_300.0, 8_488, 0.15).splitlines() if not line.startswith("#")]
    assert lines[0] == ["protons lost", "charge of the protein", "too high"]
    lost, charge, shift = np.array(lines[1:], float).T
    assert lost[0] == 0 and lost[-1] == 12 and len(lost) == 9 and charge == pytest.approx(19.0 - lost, abs=1e-9)
    for gone in (1.0, 5.0, 10.5):
        assert np.interp(gone, lost, shift) == pytest.approx(too_high(19.0 - gone, 14_300.0, 8_488, 0.15), abs=0.003)
    assert len(table(2.0, 1, 5_000.0, 4_000, 0.15).splitlines()) == 5
