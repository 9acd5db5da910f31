#!/usr/bin/env bash
# Checks the working tree on a machine with a GPU and no network: plain CMake build, staged install, the whole test suite,
# the benchmarks. Every part runs, whatever the others say; the table at the end and the exit status report all of them.
#
# Needs a C++20 compiler, CMake, Python 3.10 or newer with headers, pytest, hypothesis and NumPy. Settings, all optional:
#   PYTHON=python3   BUILD_DIR=build/gpu   JOBS=<cores>   TEST_LIMIT=420   BENCH_LIMIT=120 (seconds)
#   REPORT_DIR=<dir>     keeps each part's whole output there
#   PARTS="tests memcheck bench"   which of these to run after the build
# Arguments go to pytest: tools/gpu_check.sh -k graph
set -u
cd "$(dirname "$0")/.." || exit 1

PYTHON=${PYTHON:-python3}
BUILD_DIR=${BUILD_DIR:-build/gpu}
JOBS=${JOBS:-$(nproc)}
REPORT_DIR=${REPORT_DIR:-$BUILD_DIR/reports}
STAGE=$PWD/$BUILD_DIR/stage
mkdir -p "$BUILD_DIR" "$REPORT_DIR"

status=0
table=""

# part NAME SECONDS COMMAND...: runs a part under a time limit and adds a line to the table.
part() {
    local name=$1 limit=$2 started=$SECONDS verdict code
    shift 2
    printf '\n=== %s\n' "$name"
    timeout --kill-after=10 "$limit" "$@" 2>&1 | tee "$REPORT_DIR/$name.log"
    code=${PIPESTATUS[0]}
    case $code in
        0) verdict=ok ;;
        124 | 137) verdict="over ${limit} s" ;;
        *) verdict="FAILED ($code)" ;;
    esac
    [ "$code" -eq 0 ] || status=1
    table+=$(printf '%-28s %-14s %5d s' "$name" "$verdict" $((SECONDS - started)))$'\n'
    return "$code"
}

generator=()
command -v ninja >/dev/null && generator=(-G Ninja)

part gpu 30 nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
part configure 120 cmake -S . -B "$BUILD_DIR" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DINFINIRT_WERROR=ON \
    -DINFINIRT_BUILD_BENCHMARKS=ON -DPython_EXECUTABLE="$(command -v "$PYTHON")"
part build 300 cmake --build "$BUILD_DIR" --parallel "$JOBS"
rm -rf "$STAGE"
part install 60 cmake --install "$BUILD_DIR" --prefix "$STAGE"

export PYTHONPATH=$STAGE${PYTHONPATH:+:$PYTHONPATH}
export PYTHONUNBUFFERED=1
export INFINIRT_CPP_BUILD_ROOT=$PWD/$BUILD_DIR/cpp
export CMAKE_BUILD_PARALLEL_LEVEL=$JOBS
part import 30 "$PYTHON" -m infinirt --lib-dir

wanted() { case " ${PARTS:-tests memcheck bench} " in *" $1 "*) ;; *) return 1 ;; esac; }

if wanted tests; then
    part tests "${TEST_LIMIT:-420}" "$PYTHON" -m pytest -q -p no:cacheprovider -m "not soak" --require-gpu tests "$@"
fi
# API errors are left out: tests make them on purpose, and the library itself when it looks at addresses of the host.
if wanted memcheck; then
    part memcheck "${MEMCHECK_LIMIT:-240}" compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 \
        --target-processes all "$PYTHON" -m pytest -q -p no:cacheprovider -m "memcheck and not soak" --require-gpu tests
fi
if wanted bench; then
    for bench in "$BUILD_DIR"/benchmarks/*_bench; do
        [ -x "$bench" ] && part "$(basename "$bench")" "${BENCH_LIMIT:-120}" "$bench"
    done
    export INFINIRT_BENCH_DIR=$PWD/$BUILD_DIR/benchmarks
    for bench in benchmarks/*_bench.py; do
        [ -f "$bench" ] && part "$(basename "$bench" .py)" "${BENCH_LIMIT:-120}" "$PYTHON" "$bench"
    done
fi

printf '\n=== summary\n%s' "$table"
exit "$status"
