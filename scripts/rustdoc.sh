#!/bin/sh
# Stands in for rustdoc where examples in documentation are run (RUSTDOC=scripts/rustdoc.sh cargo test): writes the pages of the crate, too, where a warning, such as
# a link that leads nowhere, in private modules, too, is an error. `cargo doc` would read every dependency once more, which takes more than half a minute.
set -eu
rustdoc "$@"
case " $* " in *" --test "*) ;; *) exit 0 ;; esac
# The same call without what concerns examples alone.
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    case $argument in
        --test | --no-run | --nocapture) ;;
        --test-*=* | --doctest-*=*) ;;
        --test-* | --doctest-*) shift && count=$((count - 1)) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
rustdoc "$@" --document-private-items --out-dir "${CARGO_TARGET_DIR:-target}/doc" -D warnings
