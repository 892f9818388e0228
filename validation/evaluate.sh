#!/bin/sh
# The tables of results/ENTRY-charmm36m-ecc, made again from the runs that are kept beside them.
#
#   validation/evaluate.sh 1pgb
#
# ENTRY is 1pgb, 4pti, 2lzt or 1stn; OCTITRATE is the program, `octitrate` by default. The tables in the folder are replaced.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
octitrate=${OCTITRATE:-octitrate}
entry=$1
results=$here/results/$entry-charmm36m-ecc
case $entry in
    1pgb | 4pti | 2lzt | 1stn) measured=$(echo "$entry" | tr a-z A-Z) ;;
    *) echo "$entry is none of 1pgb, 4pti, 2lzt, 1stn" >&2; exit 2 ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for archive in "$results"/runs_*.tar.xz; do tar -C "$folder" -xJf "$archive"; done
cd "$folder"
evaluate() { # OUTPUT RUNS...
    output=$1
    shift
    "$octitrate" pka "$@" --equilibration "200 ps" --compare "$here/measured.csv" --entry "$measured" --finite-box "$results/finite_box.csv" \
        --no-parquet --output "$output"
}
case $entry in
    # The first ladder of the third runs is the beginning of that of the fourth: one structure, one seed.
    1pgb) evaluate all runs_1 runs_2 runs_3/pH_*/replica_[2-5] runs_4 ;;
    *) evaluate all runs_* ;;
esac
for table in comparison convergence diagnostics pairs pka titration; do cp all/$table.csv "$results"; done
if [ "$entry" = 4pti ]; then # the amino end has another offset in the second runs, and none in the first
    evaluate apart runs_3 runs_4 runs_5
    sed -n -e 1p -e '/^"nterm ARG 1"/p' apart/comparison.csv > "$results/apart.csv"
    sed -n -e 1p -e '/^nterm ARG 1,/p' apart/pka.csv > "$results/apart_pka.csv"
fi
