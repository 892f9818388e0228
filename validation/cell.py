"""What a box of finite size and its salt take from the shift of pKa values by the net charge of a protein: Poisson-Boltzmann, in pK units.

    .tools/prepare/bin/python3 validation/cell.py --charge 18 --radius 1.7 --waters 8205 --salt 0.15 --experiment 0.1

The model is that of `octitrate prepare` (python/octitrate/finite_box.py), which compares with an experiment in the salt of the simulation.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

from octitrate.finite_box import alone, in_box  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--charge", type=float, required=True, help="of the protein at the pH of interest, e")
    parser.add_argument("--radius", type=float, required=True, help="of a sphere of its volume, nm")
    parser.add_argument("--waters", type=int, required=True, help="molecules of water in the box")
    parser.add_argument("--salt", type=float, default=0.15, help="of the simulation, mol/l")
    parser.add_argument("--experiment", type=float, default=0.1, help="salt of the experiment, mol/l")
    args = parser.parse_args()
    if args.radius <= 0 or args.waters <= 0 or args.salt <= 0 or args.experiment <= 0:
        parser.error("all values but the charge are above 0")
    experiment, same = (alone(args.charge, args.radius, salt) for salt in (args.experiment, args.salt))
    box = in_box(args.charge, args.radius, args.waters, args.salt)
    print(f"a sphere of {args.radius} nm with {args.charge:+g} e lowers pKa values")
    print(f"alone in {args.experiment} mol/l by               {experiment:.2f}")
    print(f"alone in {args.salt} mol/l by              {same:.2f}")
    print(f"in a box with {args.waters} waters by        {box:.2f}")
    print(f"computed pKa values are too high by {experiment - box:.2f}")


main()
