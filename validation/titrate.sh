#!/bin/sh
# A protein of this folder from its entry in the PDB to pKa values beside measured ones.
#
#   validation/titrate.sh 1pgb FOLDER [--device cuda:0 ...]
#
# What comes after FOLDER goes to `octitrate titrate`; the same command continues a run that was stopped. OCTITRATE is the program, `octitrate` by default.
# FORCE_FIELD is charmm36m-ecc (default), charmm36m, ff14SB, or ff19SB, in OPC: 1pgb and 4pti with two walkers at each pH.
# dphs is a model of the variant of nuclease whose acids were measured, made from 1stn (nuclease_variant.py).
# PREPARE holds further options of `octitrate prepare` (--pair-corrections cufix by default with ff14SB), SEED the seed of the runs: with another one they are independent.
# START is `crystal` (default), `heated` (a structure whose side chains, and ends that titrate, were at 500 K for half a nanosecond while the rest of the backbone was held, start_2.toml), `both`: two
# walkers at each pH, one ladder from each of the two; or a number of ladders, 5 for an error that knows what they keep, all but the first from heated side chains.
# UNTIL is the error at which the runs end (0.2), from 1 ns on; without it they have 20 ns each.
# ALKALINE=1 titrates Lys, Tyr and the amino end of 1pgb, 4pti or 2lzt at pH 8.5 to 13, in place of the groups that titrate below.
# What the size of the box does to pKa values is taken off before they are compared (finite_box.csv); the table has both.
# The job is what `octitrate prepare` writes, with pH values where groups titrate and 20 ns at each pH, which may be stopped before (--max-hours, Ctrl-C).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
octitrate=${OCTITRATE:-octitrate}
entry=$1
folder=$2
shift 2
force_field=${FORCE_FIELD:-charmm36m-ecc}
replicas=1
start=${START:-crystal}
case $start in
    crystal) starts=1 ;;
    heated | both) starts=2 ;;
    [2-9]) starts=$start ;;
    *) echo "START is $start, and can be crystal, heated, both or a number of structures, 2 to 9" >&2; exit 2 ;;
esac
case ${ALKALINE:+alkaline-}$force_field-$entry in
    # What titrates lower has no proton here, and Arg has one.
    alkaline-charmm36m-ecc-1pgb) sites=LYS,TYR,nterm range=8:13 ph="8.75, 9.75, 10.5, 11.25, 12.0, 13.0" ;;
    alkaline-charmm36m-4pti | alkaline-charmm36m-ecc-4pti) sites=LYS,TYR,nterm range=8:13 ph="8.5, 9.5, 10.25, 11.0, 11.75, 12.75" ;;
    alkaline-charmm36m-ecc-2lzt) sites=LYS,TYR,nterm range=8:13 ph="8.5, 9.5, 10.25, 11.0, 11.75, 12.75" ;;
    alkaline-*) echo "ALKALINE is for 1pgb, 4pti and 2lzt with charmm36m-ecc, and for 4pti with charmm36m" >&2; exit 2 ;;
    *-1pgb) sites=GLU,ASP,cterm range=1:7 ph="1.25, 2.0, 2.75, 3.25, 3.75, 4.25, 4.75, 5.75" ;;
    # Amino ends come out at 8 to 9 with CHARMM36m; its first runs in results/ end with pH 8.5 and 8.
    charmm36m-4pti | charmm36m-ecc-4pti) sites=GLU,ASP,nterm,cterm range=1:9 ph="1.25, 2.0, 2.75, 3.25, 3.75, 4.5, 6.5, 8.0, 9.25" ;;
    charmm36m-2lzt | charmm36m-ecc-2lzt) sites=GLU,ASP,HIS,nterm,cterm range=0:9 ph="0.5, 1.5, 2.25, 3.0, 3.75, 4.5, 5.5, 6.5, 8.0, 9.25" ;;
    *-4pti) sites=GLU,ASP,nterm,cterm range=1:9 ph="1.25, 2.0, 2.75, 3.25, 3.75, 4.5, 6.5, 7.5, 8.5" ;;
    *-2lzt) sites=GLU,ASP,HIS,nterm,cterm range=0:9 ph="0.5, 1.5, 2.25, 3.0, 3.75, 4.5, 5.5, 6.5, 8.0" ;;
    ff19SB-2ovo | charmm36m-ecc-2ovo) sites=GLU,ASP range=1:6 ph="1.0, 1.75, 2.5, 3.0, 3.5, 4.0, 4.5, 5.25" ;;
    charmm36m-ecc-1vii) sites=GLU,ASP,cterm range=1:7 ph="1.5, 2.5, 3.25, 4.0, 4.75, 6.0" ;;
    charmm36m-ecc-1w4h) sites=GLU,ASP,HIS range=1:8 ph="1.75, 2.75, 3.5, 4.25, 5.0, 5.75, 6.5, 7.5" ;;
    charmm36m-ecc-1xnb) sites=GLU,ASP,HIS range=2:9 ph="2.5, 3.5, 4.25, 5.0, 5.75, 6.5, 7.25, 8.0, 9.0" ;;
    charmm36m-ecc-1a2p) sites=GLU,ASP,HIS range=3:10 ph="3.5, 4.25, 5.0, 5.75, 6.5, 7.25, 8.0, 8.75, 9.5" ;;
    *-dphs) sites=GLU,ASP,HIS range=1:8 ph="1.25, 2.25, 3.0, 3.5, 4.0, 4.5, 5.25, 6.0, 7.0" ;;
    *-1stn) sites=GLU,ASP,HIS range=1:8 ph="1.25, 2.25, 3.0, 3.5, 4.0, 4.5, 5.25, 6.0, 7.0" ;;
    *) echo "$entry with $force_field is none of 1pgb, 4pti, 2lzt, 1stn, dphs with ff14SB, ff19SB, charmm36m or charmm36m-ecc, not 2ovo with ff19SB or charmm36m-ecc, and not 1xnb, 1a2p, 1vii or 1w4h with charmm36m-ecc" >&2; exit 2 ;;
esac
case $force_field-$entry in ff19SB-1pgb | ff19SB-4pti) replicas=2 ;; esac
if [ "$force_field" = ff14SB ]; then pairs="--pair-corrections cufix"; else pairs=; fi
if [ ! -e "$folder" ]; then
    input=$here/$entry.pdb.gz
    if [ "$entry" = dphs ]; then # the variant of 1stn whose acids were measured
        input=$folder.pdb
        python3 "$here/nuclease_variant.py" > "$input"
        pairs="$pairs --gaps build --mutate P111G --mutate H118L --mutate S122A"
    fi
    if [ "$entry" = 1w4h ]; then pairs="$pairs --ends capped"; fi # a piece of a chain, which had caps in the runs that it is compared with
    if [ "$entry" = 1a2p ]; then pairs="$pairs --chains A --drop ZN"; fi # one of three copies; a zinc ion of the crystal stands at His18
    "$octitrate" prepare "$input" --force-field "$force_field" --sites "$sites" --ph-range "$range" --duration "20 ns" --starts $starts ${UNTIL:+--until "$UNTIL"} ${PREPARE-$pairs} -o "$folder"
    # Few lines of λ and frames, and pH values where groups titrate: fewer walkers, each of them longer.
    sed -i -e "s/^ph = .*/ph = [$ph]/" -e '/^replicas = /d' -e "s/^exchange = .*/&\nreplicas = $((replicas > starts ? replicas : starts))\nequilibration = \"200 ps\"/" \
        -e 's/^lambda = .*/lambda = "1 ps"/' -e 's/^trajectory = .*/trajectory = "50 ps"\ntrajectory_atoms = "solute"\nenergy = "10 ps"/' \
        -e 's/^until = .*/&\nuntil_from = "1 ns"/' -e "s/^time_step = .*/&\nseed = ${SEED:-1}/" "$folder/titrate.toml"
    for job in "$folder"/start_*.toml; do # other side chains with another seed
        if [ -e "$job" ]; then sed -i "s/^seed = \(.*\)/seed = ${SEED:-1}\1/" "$job"; fi
    done
    if [ "$start" = heated ]; then
        sed -i -e 's/^structures = .*/structures = ["start_2\/final.gro"]/' -e "s/^replicas = .*/replicas = $replicas/" "$folder/titrate.toml"
    fi
fi
status=0
"$octitrate" titrate "$folder/titrate.toml" "$@" || status=$?
"$octitrate" pka "$folder/titrate" --compare "$here/measured.csv" --entry "$entry"
exit "$status"
