#!/bin/sh
# Compiles every kernel for every architecture that is shipped, without linking: ci/all_architectures.sh [ARCH ...]
# (those of wheels by default). Says each file that fails, and what nvcc and ptxas warn of (launch bounds that a chip
# does not have, for one); exits with 1 if there is any. JOBS=4 compiles four files at a time, FILES limits which.
set -eu
cd "$(dirname "$0")/.."

nvcc=${NVCC:-$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")}
[ -x "$nvcc" ] || { echo "nvcc not found: install a CUDA toolkit, or set NVCC"; exit 1; }
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(sed -nE 's/^set\(PENSTOCK_WHEEL_ARCHITECTURES (.*)\)/\1/p' cmake/PenstockArchitectures.cmake)

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT INT TERM
mkdir -p "$out/penstock/core"
# What CMake would write, as far as kernels read it.
sed -e 's/@PENSTOCK_SIMD_FAMILY@/none/' -e 's/@PENSTOCK_HAVE_CUDA@/true/' -e 's/@[A-Za-z_]*@//g' \
  src/penstock/core/config.hpp.in > "$out/penstock/core/config.hpp"

codes=
for arch in "$@"; do codes="$codes -gencode arch=compute_$arch,code=sm_$arch"; done
export nvcc out codes

# shellcheck disable=SC2016
echo "${FILES:-$(find src/penstock -name '*.cu' | sort)}" | tr ' ' '\n' |
  xargs -P "${JOBS:-2}" -I{} sh -c '
    name=$(echo "{}" | tr / _)
    # 554: as in cmake/PenstockCuda.cmake. 20050: inline kernels in headers.
    if "$nvcc" -std=c++20 --expt-relaxed-constexpr --extended-lambda --diag-suppress=554,20050 -O3 -DNDEBUG \
        $codes -I"$out" -Isrc -c "{}" -o "$out/$name.o" > "$out/$name.log" 2>&1
    then echo "ok      {}"; else echo "FAILED  {}"; touch "$out/failed"; fi
    rm -f "$out/$name.o"
    if grep -E "error|warning" "$out/$name.log"; then touch "$out/failed"; fi'

if [ -e "$out/failed" ]; then echo "kernels: not all compile for $*"; exit 1; fi
echo "kernels: all compile for $*"
