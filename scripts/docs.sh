#!/bin/sh
# The manual: docs/ as a book in target/manual, its links checked. Opens with target/manual/index.html; no network is needed to read it.
#
#   scripts/docs.sh         build the book with mdBook, which is built into .tools/ the first time (about a minute on two cores), and check it
#   scripts/docs.sh keys    write docs/src/keys.md again from the program
#
# mdBook comes from crates.io, because that is where everything else comes from: no optimisation and no server, which nobody needs here.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.tools/bin:$PATH:$HOME/.cargo/bin"
version=0.5.4

keys() {
    cargo run --release --locked --quiet -- schema --markdown > docs/src/keys.md.tmp
    mv docs/src/keys.md.tmp docs/src/keys.md
}

mdbook_from_crates_io() {
    echo "docs: building mdBook $version"
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR="$PWD/.tools/mdbook" cargo install mdbook --version "$version" --locked --debug --quiet \
        --no-default-features --features search --force --root "$PWD/.tools" && rm -rf .tools/mdbook
}

tools() {
    [ "$(mdbook --version 2> /dev/null)" = "mdbook v$version" ] || mdbook_from_crates_io
}

case "${1:-build}" in
keys) keys ;;
build)
    tools
    mdbook build docs
    python3 scripts/check_links.py target/manual
    ;;
*)
    echo "docs.sh: unknown argument '$1': nothing or keys" >&2
    exit 2
    ;;
esac
