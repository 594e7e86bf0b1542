#!/bin/bash
# The tests marked gpu_small under compute-sanitizer, a line for each tool: gpu_sanitize.sh PYTHON [TOOL...], where
# no TOOL means memcheck, initcheck and racecheck. The files of tests are dealt to SANITIZER_WORKERS processes, each under a
# compute-sanitizer of its own (one over the workers of pytest-xdist hung). Each process writes logs of its own,
# build/sanitizer/TOOL/PID.log, and the logs decide.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
shift
tools=("$@")
[ $# -gt 0 ] || tools=(memcheck initcheck racecheck)

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
if [ -z "$sanitizer" ]; then
  echo "compute-sanitizer not found: the tests marked gpu_small ran without it"
  exit 0
fi
half=$(($(nproc) / 2))
count=${SANITIZER_WORKERS:-$((half > 8 ? 8 : half > 1 ? half : 1))}
mapfile -t files < <(grep -rl --include='test_*.py' gpu_small tests/gpu | sort)

summary='SUMMARY: *[0-9]+'
# What a process says at once: one that is killed writes no summary.
error='=+ +(Invalid|Uninitialized|Error: |Program hit|Warning: .*[Rr]ace|Race reported)'
# False where the tests fail, or a log has an error.
check() {
  local tool=$1 logs="build/sanitizer/$1" tests=passed seen bad
  rm -rf "$logs"
  mkdir -p "$logs"
  local worker jobs=() i
  for ((worker = 0; worker < count && worker < ${#files[@]}; worker++)); do
    local mine=()
    for ((i = worker; i < ${#files[@]}; i += count)); do mine+=("${files[i]}"); done
    "$sanitizer" --tool "$tool" --target-processes all --log-file "$PWD/$logs/%p.log" \
      "$python" -m pytest -q -m gpu_small -p no:xdist "${mine[@]}" >"$logs/pytest$worker.txt" 2>&1 &
    jobs+=($!)
  done
  for i in "${jobs[@]}"; do wait "$i" || tests=failed; done
  if grep -rqs "Device not supported" "$logs"; then  # some virtual machines refuse the tool: no fault of the code
    echo "$tool: compute-sanitizer does not support the GPU of this machine"
    return 0
  fi
  seen=$(grep -rlsE --include='*.log' "$summary" "$logs" | wc -l) || true
  bad=$(grep -rlsE --include='*.log' "SUMMARY: *[1-9]|$error" "$logs" | sort) || true
  echo "$tool: tests $tests, $seen processes checked, $(wc -w <<<"$bad") with errors: $(tail -qn 1 "$logs"/pytest*.txt | paste -sd ';')"
  [ -z "$bad" ] || grep -hE -A 4 -m 2 "$error|SUMMARY: *[1-9]|[.]py:" $bad | head -n 60
  [ "$tests" = passed ] || tail -n 20 "$logs"/pytest*.txt
  [ "$seen" -gt 0 ] || echo "$tool: no log has a summary: nothing was checked"
  [ "$tests" = passed ] && [ -z "$bad" ] && [ "$seen" -gt 0 ]
}

failed=()
for tool in "${tools[@]}"; do
  echo "== compute-sanitizer: $tool"
  check "$tool" || failed+=("$tool")
done
[ ${#failed[@]} -eq 0 ] || {
  echo "compute-sanitizer found errors: ${failed[*]} (logs in build/sanitizer)"
  exit 1
}
