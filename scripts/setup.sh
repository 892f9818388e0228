#!/bin/sh
# Install what the build needs beyond a Rust toolchain: a C++ compiler and cmake (both for chemfiles).
# Debian or Ubuntu as root (or with passwordless sudo): apt-get. Otherwise cmake comes from PyPI into .tools/
# (the Makefile puts .tools/bin in front of PATH); a missing compiler can only be reported.
# Then, unless called as `setup.sh build`, NVIDIA's run-time compiler of PyPI into .tools/nvrtc (58 MB; no GPU, no root), with
# which tests compile every kernel. Without it they leave that out.
# Does nothing, quickly, where everything is there.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.tools/bin:$PATH:$HOME/.cargo/bin"

have() { command -v "$1" > /dev/null 2>&1; }

# apt-get as root; fails where that is not possible
apt() {
    have apt-get || return 1
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif have sudo && sudo -n true 2> /dev/null; then
        as_root="sudo -n"
    else
        return 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get install -y --no-install-recommends "$@" ||
        { $as_root apt-get update && $as_root apt-get install -y --no-install-recommends "$@"; }
}

# cmake of PyPI as .tools/bin/cmake
cmake_from_pypi() {
    have python3 || return 1
    mkdir -p .tools/bin
    python3 -m pip install --quiet --target .tools/python 'cmake>=3.20' || return 1
    printf '#!/bin/sh\nPYTHONPATH="%s" exec python3 -m cmake "$@"\n' "$PWD/.tools/python" > .tools/bin/cmake
    chmod +x .tools/bin/cmake
    .tools/bin/cmake --version > /dev/null
}

# libnvrtc of PyPI in .tools/nvrtc. cudarc looks for libnvrtc.so, which only toolkits have.
# An old one: what it compiles, newer ones compile too.
nvrtc_version=13.0.88
nvrtc_from_pypi() {
    have python3 || return 1
    rm -rf .tools/nvrtc.tmp
    mkdir -p .tools/nvrtc.tmp
    python3 -m pip download --quiet --retries 1 --no-deps --only-binary=:all: --dest .tools/nvrtc.tmp \
        "nvidia-cuda-nvrtc==$nvrtc_version" 2> /dev/null &&
        python3 -m zipfile -e .tools/nvrtc.tmp/*.whl .tools/nvrtc.tmp &&
        mkdir .tools/nvrtc.tmp/nvrtc &&
        mv .tools/nvrtc.tmp/nvidia/*/lib/libnvrtc*.so.* .tools/nvrtc.tmp/nvrtc/ &&
        (cd .tools/nvrtc.tmp/nvrtc && ln -s libnvrtc.so.[0-9]* libnvrtc.so && echo "$nvrtc_version" > version) &&
        rm -rf .tools/nvrtc && mv .tools/nvrtc.tmp/nvrtc .tools/nvrtc && rm -r .tools/nvrtc.tmp
}

stop() {
    echo "setup: $1" >&2
    exit 1
}

have cargo || stop "cargo is missing: install Rust from https://rustup.rs, then run this again"
have c++ || have g++ || have clang++ || { echo "setup: installing g++" && apt g++ make; } ||
    stop "a C++ compiler is missing and cannot be installed from here: install g++ or clang++ (Debian: apt install g++)"
have make || apt make || stop "make is missing and cannot be installed from here (Debian: apt install make)"
have cmake || { echo "setup: installing cmake" && { apt cmake || cmake_from_pypi; }; } ||
    stop "cmake is missing and can be installed neither by apt nor by pip: install it (Debian: apt install cmake)"

[ "${1:-}" != build ] || exit 0
[ "$(cat .tools/nvrtc/version 2> /dev/null)" = "$nvrtc_version" ] ||
    { echo "setup: fetching NVRTC $nvrtc_version" && nvrtc_from_pypi; } ||
    { rm -rf .tools/nvrtc.tmp && echo "setup: NVRTC cannot be fetched (pip of python3, network)"; }
