#!/bin/sh
# The wheel: built by maturin as python/pyproject.toml says, into target/wheel, from what cargo has compiled already; installed into an empty Python environment, and
# the fast tests of the package run there, with the program and the package of the wheel and nothing of the sources on the path.
#
#   scripts/wheel.sh           with the other packages of .tools/prepare (`make prepare-tools` and the tests fetch them): seconds, and the tests
#   scripts/wheel.sh fresh     with all packages from PyPI, as `pip install "octitrate[prepare,results,test]"` fetches them
#   scripts/wheel.sh build     the wheel alone
#
# More arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
root="$PWD"
PATH="$PWD/.tools/bin:$PATH:$HOME/.cargo/bin"
mode=tools
case "${1:-}" in fresh | build) mode="$1" && shift ;; esac

stop() {
    echo "wheel: $1" >&2
    exit 1
}

tools="$root/.tools/prepare"
place="${CARGO_TARGET_DIR:-$root/target}/wheel"
rm -rf "$place"
mkdir -p "$place"
python3 -m venv "$place/venv"
maturin="$tools/bin/maturin"
[ -x "$maturin" ] || maturin="$(command -v maturin || true)"
if [ -z "$maturin" ]; then
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.7,<2'
    maturin="$place/venv/bin/maturin"
fi
(cd python && "$maturin" build --release --locked --out "$place") > "$place/maturin.log" 2>&1 || { cat "$place/maturin.log" && stop "maturin fails"; }
wheel="$(ls "$place"/octitrate-*.whl)"
echo "wheel: $wheel"
[ "$mode" != build ] || exit 0
if [ "$mode" = fresh ]; then
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel[prepare,results,test]"
else
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$wheel"
    # Its packages, but not what its own .pth files name (the sources): those of a folder that a .pth file names are not read.
    "$place/venv/bin/python3" -c "
import glob, sysconfig
folders = glob.glob('$tools/lib/python3*/site-packages')
open(sysconfig.get_paths()['purelib'] + '/tools.pth', 'w').write('\n'.join(folders) + '\n')"
fi
cd "$place"
unset PYTHONPATH OCTITRATE_BINARY OCTITRATE_PYTHON
export PATH="$place/venv/bin:$PATH"
python3 -c "import octitrate, sys; sys.exit(not octitrate.__file__.startswith('$place/venv'))" || stop "the package that is imported is not that of the wheel"
[ "$(command -v octitrate)" = "$place/venv/bin/octitrate" ] || stop "the program is not that of the wheel"
# not `python3 -m pytest`, which puts the working folder on the path
python3 -c 'import sys, pytest; sys.path[:] = [one for one in sys.path if one]; sys.exit(pytest.main(sys.argv[1:]))' "$root/python" -c "$root/python/pyproject.toml" "$@"
