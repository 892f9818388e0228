#!/bin/sh
# Make the structures and flattened topologies of the example inputs and of the force field tests
# with GROMACS (2022.5 as in Debian 12) and python3.
#
#   ./make.sh glu             capped protonated glutamic acid in water     -> ../01-glu/glu.{gro,top}
#   ./make.sh asp             capped protonated aspartic acid in water     -> ../02-asp/asp.{gro,top}
#   ./make.sh water           TIP3P                                        -> ../03-water/water.{gro,top}
#   ./make.sh peptide         capped 10-residue peptide, ions, AMBER       -> ../../tests/reference/peptide.{gro,top}
#   ./make.sh peptide-charmm  the same with CHARMM27 (Urey-Bradley, CMAP)  -> ../../tests/reference/peptide-charmm.{gro,top}
#   ./make.sh peptide-opls    the same with OPLS-AA (Ryckaert-Bellemans, geometric combination rule)
#
# Steps: pdb2gmx (hydrogens placed anew) on the heavy atoms of NAME.pdb (made by peptide.py), solvate, minimise,
# 20 ps NVT, 100 ps NPT at 300 K and 1 bar, then the frame of the second half of the NPT run whose
# volume is nearest to the mean of that half (closest_frame.py). The topology is what `grompp -pp` writes, cut
# down to what is used (flatten.py) and shown to give the same run input as the original (same_interactions.py).
# Everything temporary goes to build/NAME here; a system whose build/NAME/final.gro exists is only delivered again.
# GMX selects another binary, THREADS the number of threads.
set -eu
cd "$(dirname "$0")"
GMX="${GMX:-gmx} -quiet -nobackup"
THREADS="${THREADS:-1}"
here=$(pwd)

mdrun() { $GMX mdrun -nt "$THREADS" -deffnm "$1"; }

# minimise, then NVT and NPT; start.gro + system.top -> final.gro
equilibrate() {
    $GMX grompp -f "$here/em.mdp" -c start.gro -p system.top -o em.tpr -po em.out.mdp
    mdrun em
    $GMX grompp -f "$here/nvt.mdp" -c em.gro -p system.top -o nvt.tpr -po nvt.out.mdp
    mdrun nvt
    $GMX grompp -f "$here/npt.mdp" -c nvt.gro -t nvt.cpt -p system.top -o npt.tpr -po npt.out.mdp
    mdrun npt
    echo Volume | $GMX energy -f npt.edr -o volume.xvg
    time=$(python3 "$here/closest_frame.py" volume.xvg)
    echo System | $GMX trjconv -f npt.trr -s npt.tpr -dump "$time" -o final.gro
}

# $1 folder, $2 file name, $3 title: final.gro and the flattened system.top, shown to be equivalent, go to folder $1
deliver() {
    $GMX grompp -f "$here/em.mdp" -c final.gro -p system.top -pp expanded.top -o original.tpr -po em.out.mdp
    python3 "$here/flatten.py" expanded.top "$3" > flat.top
    $GMX grompp -f "$here/em.mdp" -c final.gro -p flat.top -o flat.tpr -po em.out.mdp
    python3 "$here/same_interactions.py" original.tpr flat.tpr
    mkdir -p "$here/$1"
    case "$1" in
    *tests*) awk 'length($0) > 60 { $0 = substr($0, 1, 44) } { print }' final.gro ;; # single points need no velocities
    *) cat final.gro ;;
    esac | sed "1s/.*/$3/" > "$here/$1/$2.gro"
    cp flat.top "$here/$1/$2.top"
}

# $1 heavy atoms, $2 force field, $3 edge of the cubic box (nm); the two numbers on standard input say "no terminus" where asked
solvated() {
    $GMX pdb2gmx -f "$1" -o bare.gro -p system.top -i posre.itp -ff "$2" -water tip3p -ignh ${4:-}
    $GMX editconf -f bare.gro -o box.gro -bt cubic -box "$3" -c
    $GMX solvate -cp box.gro -cs spc216.gro -p system.top -o start.gro
}

with_ions() {
    $GMX grompp -f "$here/em.mdp" -c start.gro -p system.top -o ions.tpr -po em.out.mdp -maxwarn 1
    echo SOL | $GMX genion -s ions.tpr -p system.top -o start.gro -np 2 -nn 3 -seed 20220503
}

start() { # start.gro and system.top of system $1
    case "$1" in
    glu) solvated "$here/glu.pdb" amber99sb-ildn 3.3 ;;
    asp) solvated "$here/asp.pdb" amber99sb-ildn 3.3 ;;
    water)
        printf '%s\n' '#include "amber99sb-ildn.ff/forcefield.itp"' '#include "amber99sb-ildn.ff/tip3p.itp"' \
            '[ system ]' 'TIP3P' '[ molecules ]' > system.top
        $GMX solvate -cs spc216.gro -box 3.3 3.3 3.3 -p system.top -o start.gro
        ;;
    peptide)
        solvated "$here/peptide.pdb" amber99sb-ildn 3.3
        with_ions
        ;;
    peptide-charmm)
        sed 's/NME/CT3/' "$here/peptide.pdb" > capped.pdb
        printf '3\n5\n' | solvated capped.pdb charmm27 2.8 -ter
        with_ions
        ;;
    peptide-opls)
        sed 's/NME/NAC/' "$here/peptide.pdb" > capped.pdb
        printf '3\n3\n' | solvated capped.pdb oplsaa 2.8 -ter
        with_ions
        ;;
    *)
        echo "make.sh: unknown system '$1': glu, asp, water, peptide, peptide-charmm, peptide-opls" >&2
        exit 2
        ;;
    esac
}

for name in "$@"; do
    mkdir -p "build/$name"
    cd "build/$name"
    if [ ! -e final.gro ]; then
        start "$name"
        equilibrate
    fi
    case "$name" in
    glu) deliver ../01-glu glu "ACE-GLH-NME in TIP3P water, AMBER99SB-ILDN" ;;
    asp) deliver ../02-asp asp "ACE-ASH-NME in TIP3P water, AMBER99SB-ILDN" ;;
    water) deliver ../03-water water "TIP3P water" ;;
    peptide) deliver ../../tests/reference "$name" "ACE-AEKWPHCRIN-NME, ions, TIP3P water, AMBER99SB-ILDN" ;;
    peptide-charmm) deliver ../../tests/reference "$name" "ACE-AEKWPHCRIN-CT3, ions, TIP3P water, CHARMM27" ;;
    peptide-opls) deliver ../../tests/reference "$name" "ACE-AEKWPHCRIN-NAC, ions, TIP3P water, OPLS-AA" ;;
    esac
    cd "$here"
done
