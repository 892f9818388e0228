#!/bin/sh
# What `octitrate prepare` needs, from PyPI: OpenMM, PDBFixer, PROPKA (as python/pyproject.toml lists them), in a Python environment of its own in
# .tools/prepare, where the program finds it. The package itself is used as it lies in python/. With the argument `test` also what
# `octitrate.results` needs (pandas, pyarrow, matplotlib) and what tests need: pytest, maturin, mypy, alchemlyb.
# Does nothing, quickly, where everything is there.
set -eu
cd "$(dirname "$0")/.."
tools=.tools/prepare
stamp="$(cat python/pyproject.toml scripts/prepare_tools.sh | cksum)"
case "$(cat $tools/stamp 2> /dev/null)" in
    "$stamp test") exit 0 ;;
    "$stamp") [ "${1:-}" = test ] || exit 0 ;;
esac

stop() {
    echo "prepare-tools: $1" >&2
    exit 1
}

command -v python3 > /dev/null || stop "python3 is missing: install it with its module venv (Debian: apt install python3-venv)"
echo "prepare-tools: fetching OpenMM, PDBFixer and PROPKA"
rm -rf $tools
mkdir -p .tools
python3 -m venv $tools || stop "python3 has no module venv (Debian: apt install python3-venv)"
# the lists of requirements of pyproject.toml, in the form that pip takes
wanted="$($tools/bin/python3 - "${1:-}" << 'EOF'
import re, sys
text = open("python/pyproject.toml").read()
names = ["dependencies", "prepare"] + (["results", "test"] if sys.argv[1] == "test" else [])
for name in names:
    print(*re.findall(r'"([^"]+)"', re.search(rf"^{name} = \[(.*?)\]", text, re.M | re.S)[1]), sep="\n")
EOF
)"
printf '%s\n' "$wanted" > $tools/requirements.txt
$tools/bin/python3 -m pip install --quiet --disable-pip-version-check -r $tools/requirements.txt || stop "pip cannot fetch them (network)"
site="$($tools/bin/python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')"
printf '%s\n' "$PWD/python" > "$site/octitrate.pth"
printf '%s\n' "$stamp${1:+ $1}" > $tools/stamp
