#pragma once
#include "penstock/format/csr.hpp"
#include "penstock/kernel/launch_gpu.cuh"

// The merge path (Merrill and Garland, SC 2016): nonzeros and ends of rows are merged into one list, in which the end of row r
// is item number indptr[r + 1] - indptr[0] + r. Pieces of equal length of that list are equal work, whatever the row lengths
// are.
namespace penstock::gpu {

/// How many rows end before item number `item` of the list.
__device__ inline std::int64_t rows_before(const Offset* indptr, std::int64_t rows, Offset nnz,
                                           std::int64_t item) {
  auto low = item > nnz ? item - nnz : 0, high = item < rows ? item : rows;
  while (low < high) {
    const auto mid = (low + high) / 2;
    if (indptr[mid + 1] - indptr[0] + mid < item) low = mid + 1;
    else high = mid;
  }
  return low;
}

/// first_rows[t] = rows_before(t * tile), for t in [0, tiles].
static __global__ void find_tiles(const Offset* __restrict__ indptr, std::int64_t rows, std::int64_t tiles,
                                  int tile, std::int64_t* __restrict__ first_rows) {
  const auto t = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (t > tiles) return;
  const auto nnz = indptr[rows] - indptr[0];
  const auto item = t * tile < rows + nnz ? t * tile : rows + nnz;
  first_rows[t] = rows_before(indptr, rows, nnz, item);
}

}  // namespace penstock::gpu
