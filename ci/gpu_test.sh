#!/bin/bash
# The tests of tests/gpu, then the small ones under compute-sanitizer: gpu_test.sh PYTHON. With the Python of .venv the
# installed package is tested; with another one a build of cmake alone, in build/gpu (nothing is downloaded).
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(command -v "$1") || { echo "gpu-test: no such Python: $1"; exit 1; }

if [ "$python" != "$PWD/.venv/bin/python" ]; then
  echo "== Building for $python in build/gpu"
  cmake -S . -B build/gpu -G Ninja -DPENSTOCK_CUDA=ON -DPENSTOCK_TESTS=OFF -DPython_EXECUTABLE="$python"
  cmake --build build/gpu
  rm -rf build/gpu/site
  mkdir -p build/gpu/site
  cp -R python/penstock build/gpu/site/
  rm -f build/gpu/site/penstock/_core*.so
  cmake --install build/gpu --prefix "$PWD/build/gpu/site" >/dev/null
  export PYTHONPATH="$PWD/build/gpu/site${PYTHONPATH:+:$PYTHONPATH}"
fi
"$python" -c 'import penstock, sys; sys.exit(not penstock._core.config()["cuda"])' || {
  echo "gpu-test: there is a GPU, but this build has no CUDA: install a toolkit, then make clean gpu-test"
  exit 1
}

pytest() { "${tool[@]}" "$python" -m pytest -q tests/gpu -m "$@"; }
tool=()
pytest gpu

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
if [ -z "$sanitizer" ]; then
  echo "compute-sanitizer not found: the tests marked gpu_small ran without it"
  exit 0
fi
for check in memcheck racecheck; do
  echo "== compute-sanitizer: $check"
  tool=("$sanitizer" --tool "$check" --error-exitcode 86)
  if ! pytest gpu_small 2>&1 | tee "build/$check.log"; then
    # Some virtual machines refuse the tool: that is no fault of the code
    grep -q "Device not supported" "build/$check.log" || exit 1
    echo "compute-sanitizer does not support the GPU of this machine"
  fi
done
