#!/bin/sh
# Every test. With NVRTC (scripts/setup.sh fetches it) kernels must compile for GPUs; without it that is left out.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.tools/bin:$PATH:$HOME/.cargo/bin"
if [ -e .tools/nvrtc/libnvrtc.so ]; then
    export OCTITRATE_NEEDS_NVRTC=1
    export LD_LIBRARY_PATH="$PWD/.tools/nvrtc${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
elif [ -z "${OCTITRATE_NEEDS_NVRTC:-}" ]; then
    echo "test: no NVRTC in .tools/nvrtc: kernels are not compiled for GPUs"
fi
exec cargo test --release --workspace --locked "$@"
