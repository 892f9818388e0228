#!/bin/sh
# Every test, and without arguments (those of cargo test) also those of the Python package, against its wheel, where its tools can be fetched.
# With NVRTC (scripts/setup.sh fetches it) kernels must compile for GPUs; without it that is left out.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.tools/bin:$PATH:$HOME/.cargo/bin"
if [ -e .tools/nvrtc/libnvrtc.so ]; then
    export OCTITRATE_NEEDS_NVRTC=1
    export LD_LIBRARY_PATH="$PWD/.tools/nvrtc${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
elif [ -z "${OCTITRATE_NEEDS_NVRTC:-}" ]; then
    echo "test: no NVRTC in .tools/nvrtc: kernels are not compiled for GPUs"
fi
if [ $# != 0 ]; then
    cargo test --release --workspace --locked "$@"
    exit 0
fi
# The tools of the Python package are fetched while cargo compiles and tests.
logs="${CARGO_TARGET_DIR:-target}/tmp"
mkdir -p "$logs"
scripts/prepare_tools.sh test &
fetching=$!
cargo test --release --workspace --locked --lib --bins --tests --examples || { status=$? && wait && exit $status; }
examples() { cargo test --release --workspace --locked --doc; }
if ! wait $fetching; then
    echo "test: no tools of the Python package in .tools/prepare: it is not tested"
    examples
    exit 0
fi
# What takes one core only, the check of its types and the examples of the documentation, runs beside the tests of the package and says afterwards what it has to say.
{ (cd python && ../.tools/prepare/bin/mypy) && examples; } > "$logs/examples.log" 2>&1 &
beside=$!
# the package and the program as they are installed, from what the tests above have compiled
scripts/wheel.sh -n auto --dist loadfile || { status=$? && wait $beside || cat "$logs/examples.log"; exit $status; }
status=0
wait $beside || status=$?
cat "$logs/examples.log"
exit $status
