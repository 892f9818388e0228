#!/bin/sh
# A protein of this folder from its entry in the PDB to pKa values beside measured ones.
#
#   validation/titrate.sh 1pgb FOLDER [--device cuda:0 ...]
#
# What comes after FOLDER goes to `octitrate titrate`; the same command continues a run that was stopped. OCTITRATE is the program, `octitrate` by default.
# PREPARE holds further options of `octitrate prepare` (--pair-corrections cufix by default), SEED the seed of the runs: with another one they are independent.
# The job is that of results/*-cufix/titrate.toml but for what `octitrate prepare` decides otherwise since: 20 ns at each pH, which may be stopped before (--max-hours, Ctrl-C).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
octitrate=${OCTITRATE:-octitrate}
entry=$1
folder=$2
shift 2
case $entry in
    1pgb) sites=GLU,ASP,cterm range=1:7 ph="1.25, 2.0, 2.75, 3.25, 3.75, 4.25, 4.75, 5.75" ;;
    4pti) sites=GLU,ASP,nterm,cterm range=1:9 ph="1.25, 2.0, 2.75, 3.25, 3.75, 4.5, 6.5, 7.5, 8.5" ;;
    2lzt) sites=GLU,ASP,HIS,nterm,cterm range=0:9 ph="0.5, 1.5, 2.25, 3.0, 3.75, 4.5, 5.5, 6.5, 8.0" ;;
    1stn) sites=GLU,ASP,HIS range=1:8 ph="1.25, 2.25, 3.0, 3.5, 4.0, 4.5, 5.25, 6.0, 7.0" ;;
    *) echo "$entry is none of 1pgb, 4pti, 2lzt, 1stn" >&2; exit 2 ;;
esac
if [ ! -e "$folder" ]; then
    "$octitrate" prepare "$here/$entry.pdb.gz" --force-field ff14SB --sites "$sites" --ph-range "$range" --duration "20 ns" ${PREPARE---pair-corrections cufix} -o "$folder"
    # Few lines of λ and frames, and pH values where groups titrate: fewer walkers, each of them longer.
    sed -i -e "s/^ph = .*/ph = [$ph]/" -e 's/^exchange = .*/&\nequilibration = "200 ps"/' -e 's/^lambda = .*/lambda = "1 ps"/' \
        -e 's/^trajectory = .*/trajectory = "50 ps"\ntrajectory_atoms = "solute"\nenergy = "10 ps"/' \
        -e "s/^time_step = .*/&\nseed = ${SEED:-1}/" "$folder/titrate.toml"
fi
status=0
"$octitrate" titrate "$folder/titrate.toml" "$@" || status=$?
"$octitrate" pka "$folder/titrate" --compare "$here/measured.csv" --entry "$entry"
exit "$status"
