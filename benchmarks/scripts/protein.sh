#!/bin/sh
# A protein in water with every carboxyl group protonated, for titration: from a PDB file with one chain to NAME.gro and NAME.top.
#
#   benchmarks/scripts/protein.sh 1pgb.pdb FOLDER NAME
#
# Needs GROMACS (2022.5 as in Debian 12). Glu and Asp become GL3 and AS3, the last residue Z and its name (its side chain too, if it is Glu or Asp),
# the first one N and its name if it is Glu or Asp; everything else is built as pdb2gmx does. Cubic box (BOX=dodecahedron: that one) with 1.15 nm of water, 0.1 M NaCl, neutral
# with all protons, energy minimised. Ligands, alternate places and hydrogens must have been taken out of the file.
set -eu
pdb=$(realpath "$1"); folder=$2; name=$3
root=$(realpath "$(dirname "$0")/../..")
gmx="${GMX:-gmx} -quiet -nobackup"
top=${GMXDATA:-$(${GMX:-gmx} --version | sed -n 's/^Data prefix: *//p')/share/gromacs}/top
mkdir -p "$folder"
cd "$folder"
cp -r "$top/amber99sb-ildn.ff" "$top/residuetypes.dat" .
cp "$root"/lambda/library/pdb2gmx/octitrate.* amber99sb-ildn.ff
sed -n 's/^\[ \([A-Z0-9]*\) \]$/\1 Protein/p' amber99sb-ildn.ff/octitrate.rtp >> residuetypes.dat
awk '
    /^ATOM/ { lines[++n] = $0; number[n] = substr($0, 23, 5) }
    END {
        for (i = 1; i <= n; i++) {
            residue = substr(lines[i], 18, 3)
            titrating = residue == "GLU" ? "GL3" : residue == "ASP" ? "AS3" : residue
            if (number[i] == number[n]) titrating = "Z" titrating
            else if (number[i] == number[1] && titrating != residue) titrating = "N" titrating
            print substr(lines[i], 1, 17) sprintf("%-4s", titrating) substr(lines[i], 22)
        }
    }' "$pdb" > protonated.pdb
$gmx pdb2gmx -f protonated.pdb -o bare.gro -p system.top -i posre.itp -ff amber99sb-ildn -water tip3p -ignh
$gmx editconf -f bare.gro -o box.gro -bt "${BOX:-cubic}" -d 1.15 -c
$gmx solvate -cp box.gro -cs spc216.gro -p system.top -o solvated.gro
$gmx grompp -maxwarn 1 -f "$root/inputs/make/em.mdp" -c solvated.gro -p system.top -o ions.tpr -po out.mdp
echo SOL | $gmx genion -s ions.tpr -p system.top -o start.gro -neutral -conc 0.1 -seed 7
$gmx grompp -maxwarn 1 -f "$root/inputs/make/em.mdp" -c start.gro -p system.top -o em.tpr -po out.mdp
$gmx mdrun -nt 1 -deffnm em
$gmx grompp -maxwarn 1 -f "$root/inputs/make/em.mdp" -c em.gro -p system.top -pp expanded.top -o last.tpr -po out.mdp
python3 "$root/inputs/make/flatten.py" expanded.top "$name, protonated, 0.1 M NaCl, TIP3P water, AMBER99SB-ILDN" > "$name.top"
cp em.gro "$name.gro"
