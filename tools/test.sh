#!/usr/bin/env bash
# The whole suite as two halves at once: tests wait for other processes much of their time, and one half alone leaves a
# core idle. Usage: tools/test.sh PYTHON -m pytest OPTIONS...
# The first half's output is shown as it comes, the second's when it has ended.
set -u
cd "$(dirname "$0")/.." || exit 1

second=(tests/conformance_kit tests/infinicore tests/ops tests/unit)
first=()
for folder in tests/*/; do
    folder=${folder%/}
    [ -n "$(find "$folder" -maxdepth 1 -name 'test_*.py' -print -quit)" ] || continue
    case " ${second[*]} " in *" $folder "*) ;; *) first+=("$folder") ;; esac
done

mkdir -p build/tests
echo "== beside what follows, to build/tests/second.log: ${second[*]}"
"$@" "${second[@]}" >build/tests/second.log 2>&1 &
other=$!
trap 'kill "$other" 2>/dev/null' INT TERM
"$@" "${first[@]}"
status=$?
echo "== ${second[*]}"
wait "$other"
other_status=$?
cat build/tests/second.log
[ "$status" -eq 0 ] && [ "$other_status" -eq 0 ]
