#!/bin/sh
# Install what the build needs beyond a Rust toolchain: a C++ compiler and cmake (both for chemfiles).
# Debian or Ubuntu as root (or with passwordless sudo): apt-get. Otherwise cmake comes from PyPI into .tools/
# (the Makefile puts .tools/bin in front of PATH); a missing compiler can only be reported.
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
