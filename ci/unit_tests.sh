#!/bin/bash
# The C++ unit tests: `unit_tests.sh dev` in the package's own build folder, `asan` and `tsan` by their presets.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -x .venv/bin/cmake ]; then export PATH="$PWD/.venv/bin:$PATH"; fi  # the CMake that configured build/dev
preset=$1

have_gtest() { echo '#include <gtest/gtest.h>' | ${CXX:-g++} -E -x c++ - >/dev/null 2>&1; }

if ! have_gtest; then
  sudo=""
  [ "$(id -u)" = 0 ] || sudo="sudo -n"
  if command -v apt-get >/dev/null && { [ -z "$sudo" ] || $sudo true 2>/dev/null; }; then
    echo "GoogleTest not found: apt-get install libgtest-dev"
    { $sudo apt-get install -y -q libgtest-dev || { $sudo apt-get update -q && $sudo apt-get install -y -q libgtest-dev; }; } \
      >build/gtest.log 2>&1 || echo "that failed (build/gtest.log)"
  fi
fi
if ! have_gtest; then
  echo "skipped: GoogleTest is not installed, and may not be installed from here (apt-get install libgtest-dev)"
  exit 0
fi

log=build/unit_$preset.log
if [ "$preset" = dev ]; then
  { cmake build/dev && cmake --build build/dev --target unit_tests; } >"$log" 2>&1 || { cat "$log"; exit 1; }
else
  { cmake --preset "$preset" && cmake --build --preset "$preset"; } >"$log" 2>&1 || { cat "$log"; exit 1; }
fi
grep -E "warning:" "$log" || true

run=()
case $preset in
  asan)
    export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
    ;;
  tsan)
    export TSAN_OPTIONS=halt_on_error=1:die_after_fork=0:allocator_may_return_null=1
    export GTEST_FILTER=-Machine.Measures*  # a gigabyte under ThreadSanitizer takes half a minute, and tests no thread
    # ThreadSanitizer of g++ 12 and 13 cannot start where addresses are randomised by more than 28 bits
    if setarch -R true 2>/dev/null; then run=(setarch -R); fi
    ;;
esac

# In two processes: most tests keep one core busy. Prints what each says, and fails where one does.
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT  # processes in the background do not hear Ctrl-C
in_shards() {
  local shards=2 i failed=0 pids=()
  for ((i = 0; i < shards; i++)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "$@" --gtest_brief=1 >"build/unit_$preset.$i.log" 2>&1 &
    pids+=($!)
  done
  for ((i = 0; i < shards; i++)); do
    wait "${pids[i]}" || failed=1
    cat "build/unit_$preset.$i.log"
  done
  return $failed
}

in_shards "${run[@]}" "build/$preset/tests/unit/unit_tests"
if [ "$preset" = dev ]; then  # what CPUs without the widest vectors run
  for simd in avx2 scalar; do
    PENSTOCK_SIMD=$simd in_shards "build/$preset/tests/unit/unit_tests" --gtest_filter='Multiply*:Spmv*'
  done
fi
