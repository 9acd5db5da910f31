#!/usr/bin/env bash
# Builds and runs every benchmark: benchmarks/cpp/*_bench.cpp against the library, then benchmarks/*_bench.py against the
# installed package. Each prints its own table. Settings: PYTHON=python  BUILD_DIR=build/bench  JOBS=<cores>
set -u
cd "$(dirname "$0")/.." || exit 1

PYTHON=${PYTHON:-python}
BUILD_DIR=${BUILD_DIR:-build/bench}
mkdir -p "$(dirname "$BUILD_DIR")"
generator=()
if [ ! -f "$BUILD_DIR/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi

build() {
    cmake -S . -B "$BUILD_DIR" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DINFINIRT_BUILD_BENCHMARKS=ON \
        -DINFINIRT_BUILD_PYTHON=OFF -DPython_EXECUTABLE="$(command -v "$PYTHON")" &&
        cmake --build "$BUILD_DIR" --parallel "${JOBS:-$(nproc)}"
}
if ! build >"$BUILD_DIR.log" 2>&1; then
    cat "$BUILD_DIR.log"
    exit 1
fi

status=0
ran=0
run() {
    printf '\n=== %s\n' "$1"
    shift
    ran=$((ran + 1))
    "$@" || { printf 'exit status %d\n' $?; status=1; }
}
# By the sources, not by the executables: a build folder keeps those whose source is gone.
for source in benchmarks/cpp/*_bench.cpp; do
    name=$(basename "$source" .cpp)
    [ -f "$source" ] && run "$name" "$BUILD_DIR/benchmarks/$name"
done
# Benchmarks in Python compare with C executables of the same build.
export INFINIRT_BENCH_DIR=$PWD/$BUILD_DIR/benchmarks
for source in benchmarks/*_bench.py; do
    [ -f "$source" ] && run "$(basename "$source" .py)" "$PYTHON" "$source"
done
[ "$ran" -gt 0 ] || { echo "no benchmark found" >&2; status=1; }
exit "$status"
