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
  export PENSTOCK_CACHE="${PENSTOCK_CACHE:-$PWD/build/gpu/cache}"  # without platformdirs, too
fi
"$python" -c 'import penstock, sys; sys.exit(not penstock._core.config()["cuda"])' || {
  echo "gpu-test: there is a GPU, but this build has no CUDA: install a toolkit, then make clean gpu-test"
  exit 1
}

"$python" -m pytest -q tests/gpu -m gpu
ci/gpu_sanitize.sh "$python"
