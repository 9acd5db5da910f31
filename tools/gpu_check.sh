#!/usr/bin/env bash
# Checks the working tree on a machine with a GPU and no network: plain CMake build, staged install, the tests on the GPU,
# the benchmarks. Every part runs, whatever the others say; the table at the end and the exit status report all of them.
#
# Needs a C++20 compiler, CMake, Python 3.10 or newer with headers, pytest, hypothesis and NumPy. Settings, all optional:
#   PYTHON=python3   BUILD_DIR=build/gpu   JOBS=<cores>   TEST_LIMIT=420   KIT_LIMIT=420   BENCH_LIMIT=120 (seconds)
#   REPORT_DIR=<dir>     keeps each part's whole output there
#   PARTS="tests memcheck kit bench"   which of these to run after the build; "suite" is the whole suite, CPU tests, too
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
    -DINFINIRT_BUILD_BENCHMARKS=ON -DINFINIRT_BUILD_TESTS=ON -DPython_EXECUTABLE="$(command -v "$PYTHON")"
part build 300 cmake --build "$BUILD_DIR" --parallel "$JOBS"
rm -rf "$STAGE"
part install 60 cmake --install "$BUILD_DIR" --prefix "$STAGE"

export PYTHONPATH=$STAGE${PYTHONPATH:+:$PYTHONPATH}
export PYTHONUNBUFFERED=1
# A test that hangs says where, and ends the part instead of using its time up. The slowest that ends takes 40 s.
export PYTEST_ADDOPTS="-p no:cacheprovider -o faulthandler_timeout=150 -o faulthandler_exit_on_timeout=true"
export INFINIRT_CPP_BUILD_ROOT=$PWD/$BUILD_DIR/cpp INFINIRT_CPP_RELEASE_TREE=$PWD/$BUILD_DIR
export CMAKE_BUILD_PARALLEL_LEVEL=$JOBS
part import 30 "$PYTHON" -m infinirt --lib-dir

wanted() { case " ${PARTS:-tests memcheck kit bench} " in *" $1 "*) ;; *) return 1 ;; esac; }

# in_parts COUNT ARGUMENTS...: pytest in so many processes, each with its share of the tests; their outputs in order.
# shellcheck disable=SC2329 # called by a bash of its own, under `timeout`
in_parts() {
    local count=$1 index code=0 processes=()
    shift
    for ((index = 1; index <= count; index++)); do
        "$PYTHON" -m pytest -q --part="$index/$count" "$@" >"$REPORT_DIR/part-$index.log" 2>&1 &
        processes+=($!)
    done
    for ((index = 1; index <= count; index++)); do
        wait "${processes[index - 1]}"
        case $? in 0 | 5) ;; *) code=1 ;; esac # 5: nothing fell to this part
        grep -v '^$' "$REPORT_DIR/part-$index.log"
    done
    return "$code"
}
export -f in_parts
export PYTHON REPORT_DIR

# Tests of operators and of recorded graphs are mostly compilations of kernels, and the sanitizer's are programs that start, so these run in many
# processes; the others may look at what the whole GPU does, and run alone.
if wanted tests; then
    part operators "${TEST_LIMIT:-420}" bash -c 'in_parts "$@"' - "$JOBS" -m "gpu and not soak" --require-gpu tests/ops \
        tests/infinicore tests/sanitizer "$@"
    part tests "${TEST_LIMIT:-420}" "$PYTHON" -m pytest -q -m "gpu and not soak" --require-gpu tests \
        --ignore=tests/ops --ignore=tests/infinicore --ignore=tests/sanitizer "$@"
fi
if wanted suite; then
    PYTEST_ADDOPTS="-p no:cacheprovider" part suite "${SUITE_LIMIT:-1800}" bash -c 'in_parts "$@"' - "$JOBS" -m "not gpu and not soak" tests "$@"
fi
# API errors are left out: tests make them on purpose, and the library itself when it looks at addresses of the host.
if wanted memcheck; then
    part memcheck "${MEMCHECK_LIMIT:-240}" compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 \
        --target-processes all "$PYTHON" -m pytest -q -m "memcheck and not soak" --require-gpu tests
fi
if wanted kit; then
    # Most of it is compiling the operators' kernels, where they are not on disk yet.
    part conformance "${KIT_LIMIT:-420}" "$PYTHON" -m infinirt conformance --backend nvidia --level full --jobs "$JOBS"
fi
if wanted bench; then
    for bench in "$BUILD_DIR"/benchmarks/*_bench; do
        [ -x "$bench" ] && part "$(basename "$bench")" "${BENCH_LIMIT:-120}" "$bench"
    done
    export INFINIRT_BENCH_DIR=$PWD/$BUILD_DIR/benchmarks
    for bench in benchmarks/*_bench.py; do
        # Minutes, and all of it on the CPU device.
        [ "$bench" = benchmarks/cpu_operators_bench.py ] && continue
        arguments=()
        [ "$bench" = benchmarks/llama_bench.py ] && arguments=(--device nvidia:0)
        [ -f "$bench" ] && part "$(basename "$bench" .py)" "${BENCH_LIMIT:-120}" "$PYTHON" "$bench" "${arguments[@]}"
    done
fi

printf '\n=== summary\n%s' "$table"
exit "$status"
