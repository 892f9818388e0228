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
# The integration tests often wait, for runs that they start and for a browser, and leave half a core. The other tests run beside them and say afterwards what they have to
# say: unit tests, then those of the Python package, whose tools are fetched meanwhile. Both select the same packages, so that cargo compiles each once, and before either.
logs="${CARGO_TARGET_DIR:-target}/tmp"
mkdir -p "$logs"
tests() { cargo test --release --workspace --locked "$@"; }
tests --no-run
beside() {
    scripts/prepare_tools.sh test &
    fetching=$!
    tests --lib --bins --examples || { status=$? && wait && exit $status; }
    if ! wait $fetching; then
        echo "test: no tools of the Python package in .tools/prepare: it is not tested"
        tests --doc
        return 0
    fi
    # What takes one core only, the check of its types and the examples of the documentation, runs beside the tests of the package.
    { (cd python && ../.tools/prepare/bin/mypy) && tests --doc; } > "$logs/examples.log" 2>&1 &
    examples=$!
    # the package and the program as they are installed, from what the tests above have compiled
    status=0
    scripts/wheel.sh -n auto --dist loadfile || status=$?
    wait $examples || status=$?
    cat "$logs/examples.log"
    return $status
}
echo "test: unit tests and those of the Python package run beside the integration tests, and are printed after them ($logs/beside.log)"
beside > "$logs/beside.log" 2>&1 &
other=$!
# What runs in the background does not hear Ctrl-C.
trap 'trap - INT TERM; kill 0' INT TERM
status=0
tests --test '*' || status=$?
wait $other || status=$?
cat "$logs/beside.log"
[ $status = 0 ] || echo "test: there are failures above"
exit $status
