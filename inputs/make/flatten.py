"""Cut the preprocessed topology of `grompp -pp` down to what its molecules use: figures only, no comments.

    python3 flatten.py expanded.top "title of the system" > flat.top

Kept: [defaults]; atom types that occur; [nonbond_params], [pairtypes] among those; bonded parameter types all of
whose types (or the wildcard X) occur in one molecule; [implicit_*] dropped; molecule types named in [molecules].
The order of lines is kept, because GROMACS takes the first of several equally good matches.
"""
import sys

TYPES_PER_LINE = {"bondtypes": 2, "constrainttypes": 2, "angletypes": 3, "cmaptypes": 5}
LJ_TYPES = {"nonbond_params", "pairtypes"}


def sections(path):
    """[(name, lines)] in file order, comments and empty lines removed, continued lines joined."""
    found = []
    text = open(path, encoding="utf-8").read().replace("\\\n", " ")
    for line in text.splitlines():
        line = line.split(";")[0].strip()
        if not line or line.startswith("*"):
            continue
        if line.startswith("["):
            found.append((line.strip("[] \t"), []))
        else:
            found[-1][1].append(line.split())
    return found


def bonded_type(fields):
    """Bonded type of an [atomtypes] line: particle type sits third from the end, before it charge and mass;
    an atomic number and a bonded type are optional in front of the mass."""
    extra = fields[1:-5]
    return next((item for item in extra if not item.isdigit()), fields[0])


def dihedral_types(fields):
    """2 (old style: types of the middle atoms) or 4 types in front of the function number."""
    return 2 if fields[2].isdigit() else 4


def main():
    found = sections(sys.argv[1])
    wanted = {fields[0] for name, lines in found if name == "molecules" for fields in lines}
    used, molecule = {}, None
    for name, lines in found:
        if name == "moleculetype":
            molecule = lines[0][0]
        elif name == "atoms" and molecule in wanted:
            used.setdefault(molecule, set()).update(fields[1] for fields in lines)
    lj_used = set().union(*used.values())
    to_bonded = {fields[0]: bonded_type(fields) for name, lines in found if name == "atomtypes" for fields in lines}
    bonded_used = [{to_bonded[kind] for kind in kinds} | {"X"} for kinds in used.values()]

    def keep(name, fields):
        if name == "atomtypes":
            return fields[0] in lj_used
        if name in LJ_TYPES:
            return set(fields[:2]) <= lj_used
        if name == "dihedraltypes":
            kinds = set(fields[: dihedral_types(fields)])
        elif name in TYPES_PER_LINE:
            kinds = set(fields[: TYPES_PER_LINE[name]])
        else:
            return True
        return any(kinds <= members for members in bonded_used)

    molecule = None
    for name, lines in found:
        if name.startswith("implicit_"):
            continue
        if name == "moleculetype":
            molecule = lines[0][0]
        elif name in ("system", "molecules"):
            molecule = None
        if molecule is not None and molecule not in wanted:
            continue
        kept = [fields for fields in lines if keep(name, fields)]
        if name == "system":
            kept = [sys.argv[2].split()]
        if kept:
            print(f"[ {name} ]")
            for fields in kept:
                rows = [fields[:8]] + [fields[k : k + 12] for k in range(8, len(fields), 12)] if name == "cmaptypes" else [fields]
                print("\\\n".join(" ".join(row) for row in rows))
            print()


if __name__ == "__main__":
    main()
