#!/bin/sh
# Make the structures and flattened topologies of the example inputs and of the force field tests
# with GROMACS (2022.5 as in Debian 12) and python3.
#
#   ./make.sh glu             capped protonated glutamic acid in water     -> ../01-glu/glu.{gro,top}
#   ./make.sh asp             capped protonated aspartic acid in water     -> ../02-asp/asp.{gro,top}
#   ./make.sh his lys arg tyr cys glu3 asp3 nterm cterm    model compounds of the library -> ../04-his ... ../12-cterm
#   ./make.sh hirustasin      49 residues, every group protonated, Cl- -> ../13-hirustasin/hirustasin.{gro,top}
#   ./make.sh water           TIP3P                                        -> ../03-water/water.{gro,top}
#   ./make.sh peptide         capped 10-residue peptide, ions, AMBER       -> ../../tests/reference/peptide.{gro,top}
#   ./make.sh peptide-charmm  the same with CHARMM27 (Urey-Bradley, CMAP)  -> ../../tests/reference/peptide-charmm.{gro,top}
#   ./make.sh peptide-opls    the same with OPLS-AA (Ryckaert-Bellemans, geometric combination rule)
#   ./make.sh dodecahedron octahedron    salt water in triclinic boxes, AMBER -> ../../tests/reference/dodecahedron.{gro,top} ...
#
# Steps: pdb2gmx (hydrogens placed anew) on the heavy atoms of NAME.pdb (made by peptide.py), solvate, minimise,
# 20 ps NVT, 100 ps NPT (50 ps for systems 04 to 11, of which asp3 was stopped at 27 ps; 10 ps for 12 and the triclinic boxes, 14 ps for 13) at 300 K and 1 bar, then the frame of the second half of the NPT run whose
# volume is nearest to the mean of that half (closest_frame.py). The topology is what `grompp -pp` writes, cut
# down to what is used (flatten.py) and shown to give the same run input as the original (same_interactions.py).
# Everything temporary goes to build/NAME here; a system whose build/NAME/final.gro exists is only delivered again.
# Residues that the force field lacks are those of ../../lambda/library/pdb2gmx, in a copy of its folder.
# GMX selects another binary, THREADS the number of threads.
set -eu
cd "$(dirname "$0")"
GMX="${GMX:-gmx} -quiet -nobackup"
THREADS="${THREADS:-1}"
WARN="-maxwarn 1" # the net charge of a protonated residue is one
here=$(pwd)

mdrun() { $GMX mdrun -nt "$THREADS" -deffnm "$@"; }

# copy of the force field with the residues of octitrate, and the list of residues that are protein
extended() {
    prefix=$($GMX --version | sed -n 's/^Data prefix: *//p')
    cp -r "${GMXDATA:-$prefix/share/gromacs}/top/amber99sb-ildn.ff" "${GMXDATA:-$prefix/share/gromacs}/top/residuetypes.dat" .
    cp "$here"/../../lambda/library/pdb2gmx/octitrate.* amber99sb-ildn.ff
    sed -n 's/^\[ \([A-Z0-9]*\) \]$/\1 Protein/p' amber99sb-ildn.ff/octitrate.rtp >> residuetypes.dat
}

# minimise, then NVT and NPT; start.gro + system.top -> final.gro
equilibrate() {
    $GMX grompp $WARN -f "$here/em.mdp" -c start.gro -p system.top -o em.tpr -po em.out.mdp
    mdrun em
    $GMX grompp $WARN -f "$here/nvt.mdp" -c em.gro -p system.top -o nvt.tpr -po nvt.out.mdp
    mdrun nvt
    $GMX grompp $WARN -f "$here/npt.mdp" -c nvt.gro -t nvt.cpt -p system.top -o npt.tpr -po npt.out.mdp
    mdrun npt ${NPT_STEPS:+-nsteps "$NPT_STEPS"}
    echo Volume | $GMX energy -f npt.edr -o volume.xvg
    time=$(python3 "$here/closest_frame.py" volume.xvg)
    echo System | $GMX trjconv -f npt.trr -s npt.tpr -dump "$time" -o final.gro
}

# $1 folder, $2 file name, $3 title: final.gro and the flattened system.top, shown to be equivalent, go to folder $1
deliver() {
    $GMX grompp $WARN -f "$here/em.mdp" -c final.gro -p system.top -pp expanded.top -o original.tpr -po em.out.mdp
    python3 "$here/flatten.py" expanded.top "$3" > flat.top
    $GMX grompp $WARN -f "$here/em.mdp" -c final.gro -p flat.top -o flat.tpr -po em.out.mdp
    python3 "$here/same_interactions.py" original.tpr flat.tpr
    mkdir -p "$here/$1"
    case "$1" in
    *tests*) sed '$!s/^\(.\{44\}\).*/\1/' final.gro ;; # single points need no velocities; the last line is the box
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

with_ions() { # $1 Na+ and $2 Cl-
    $GMX grompp $WARN -f "$here/em.mdp" -c start.gro -p system.top -o ions.tpr -po em.out.mdp
    echo SOL | $GMX genion -s ions.tpr -p system.top -o start.gro -np "${1:-2}" -nn "${2:-3}" -seed 20220503
}

start() { # start.gro and system.top of system $1
    case "$1" in
    glu) solvated "$here/glu.pdb" amber99sb-ildn 3.3 ;;
    asp) solvated "$here/asp.pdb" amber99sb-ildn 3.3 ;;
    his | lys | arg | tyr | cys | nterm) solvated "$here/$1.pdb" amber99sb-ildn 3.3 ;;
    glu3 | asp3 | cterm)
        extended
        solvated "$here/$1.pdb" amber99sb-ildn 3.3
        ;;
    hirustasin)
        extended
        solvated "$here/hirustasin.pdb" amber99sb-ildn 4.8
        $GMX grompp $WARN -f "$here/em.mdp" -c start.gro -p system.top -o ions.tpr -po em.out.mdp
        echo SOL | $GMX genion -s ions.tpr -p system.top -o start.gro -neutral -seed 20220503
        ;;
    water)
        printf '%s\n' '#include "amber99sb-ildn.ff/forcefield.itp"' '#include "amber99sb-ildn.ff/tip3p.itp"' \
            '[ system ]' 'TIP3P' '[ molecules ]' > system.top
        $GMX solvate -cs spc216.gro -box 3.3 3.3 3.3 -p system.top -o start.gro
        ;;
    dodecahedron | octahedron)
        printf '%s\n' '#include "amber99sb-ildn.ff/forcefield.itp"' '#include "amber99sb-ildn.ff/tip3p.itp"' \
            '#include "amber99sb-ildn.ff/ions.itp"' '[ system ]' 'salt water' '[ molecules ]' 'SOL 1' > system.top
        printf '%s\n' 'one water' '    3' '    1SOL     OW    1   0.000   0.000   0.000' '    1SOL    HW1    2   0.096   0.000   0.000' \
            '    1SOL    HW2    3  -0.024   0.093   0.000' '   1.0 1.0 1.0' > one.gro
        $GMX editconf -f one.gro -o box.gro -bt "$1" -box 2.8 -c
        $GMX solvate -cp box.gro -cs spc216.gro -p system.top -o start.gro
        with_ions 3 3
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
        echo "make.sh: unknown system '$1': glu, asp, his, lys, arg, tyr, cys, glu3, asp3, nterm, cterm, hirustasin, water, peptide, peptide-charmm, peptide-opls, dodecahedron, octahedron" >&2
        exit 2
        ;;
    esac
}

for name in "$@"; do
    mkdir -p "build/$name"
    cd "build/$name"
    if [ ! -e final.gro ]; then
        start "$name"
        case "$name" in
        glu | asp | water | peptide*) NPT_STEPS= ;;
        dodecahedron | octahedron | cterm) NPT_STEPS=5000 ;;
        hirustasin) NPT_STEPS=7000 ;;
        *) NPT_STEPS=25000 ;;
        esac
        equilibrate
    fi
    case "$name" in
    glu) deliver ../01-glu glu "ACE-GLH-NME in TIP3P water, AMBER99SB-ILDN" ;;
    asp) deliver ../02-asp asp "ACE-ASH-NME in TIP3P water, AMBER99SB-ILDN" ;;
    his) deliver ../04-his his "ACE-HIP-NME in TIP3P water, AMBER99SB-ILDN" ;;
    lys) deliver ../05-lys lys "ACE-LYS-NME in TIP3P water, AMBER99SB-ILDN" ;;
    arg) deliver ../06-arg arg "ACE-ARG-NME in TIP3P water, AMBER99SB-ILDN" ;;
    tyr) deliver ../07-tyr tyr "ACE-TYR-NME in TIP3P water, AMBER99SB-ILDN" ;;
    cys) deliver ../08-cys cys "ACE-CYS-NME in TIP3P water, AMBER99SB-ILDN" ;;
    glu3) deliver ../09-glu3 glu3 "ACE-GL3-NME in TIP3P water, AMBER99SB-ILDN" ;;
    asp3) deliver ../10-asp3 asp3 "ACE-AS3-NME in TIP3P water, AMBER99SB-ILDN" ;;
    nterm) deliver ../11-nterm nterm "NH3-ALA-NME in TIP3P water, AMBER99SB-ILDN" ;;
    cterm) deliver ../12-cterm cterm "ACE-ALA-COOH in TIP3P water, AMBER99SB-ILDN" ;;
    hirustasin) deliver ../13-hirustasin hirustasin "Hirustasin 5-53, protonated, Cl, TIP3P water, AMBER99SB-ILDN" ;;
    water) deliver ../03-water water "TIP3P water" ;;
    dodecahedron | octahedron) deliver ../../tests/reference "$name" "0.3 M NaCl in TIP3P water, AMBER99SB-ILDN" ;;
    peptide) deliver ../../tests/reference "$name" "ACE-AEKWPHCRIN-NME, ions, TIP3P water, AMBER99SB-ILDN" ;;
    peptide-charmm) deliver ../../tests/reference "$name" "ACE-AEKWPHCRIN-CT3, ions, TIP3P water, CHARMM27" ;;
    peptide-opls) deliver ../../tests/reference "$name" "ACE-AEKWPHCRIN-NAC, ions, TIP3P water, OPLS-AA" ;;
    esac
    cd "$here"
done
