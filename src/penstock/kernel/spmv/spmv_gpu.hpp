#pragma once
#include "penstock/core/array.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// What a matrix, or one of its blocks, needs once so that products on a GPU start at once: without it every product finds
/// its rows again and takes scratch memory. Belongs to one view on one GPU and to vectors of one entry size; one stream
/// uses it at a time, since the sums of cut rows lie in it.
struct SpmvGpuPlan {
  std::int64_t entry_bytes = 0;          // of x and y
  std::int64_t tiles = 0;                // thread blocks
  std::int64_t rows_per_tile = 0;        // where no row is long: whole rows, nothing is cut or joined; else 0
  Array<const std::int64_t> first_rows;  // of each tile of the merge path
  Array<std::byte> cells;                // its parts of cut rows
  Offset longest = 0;                    // entries of the longest row
  int lanes = 0;                         // threads of a row, where the matrix is small: no tiles then; else 0
  Array<const Index> long_rows;          // and the rows that a block takes each

  std::int64_t bytes() const { return first_rows.bytes() + cells.bytes() + long_rows.bytes(); }
};

/// Reads the row offsets on the GPU, waiting for it. An empty plan for the CPU. `tiles`: also of a small matrix.
template <class V>
SpmvGpuPlan plan_spmv(const CsrView<V>& a, std::int64_t entry_bytes, Stream stream, bool tiles = false);

/// spmv by a plan; on the CPU the plan is not looked at.
template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          Stream stream, const SpmvGpuPlan& plan);

/// Rows of one tile where none is longer than `longest`; 0 where rows are long, or so uneven that tiles would be half empty.
std::int64_t rows_of_tile(std::int64_t rows, Offset nnz, Offset longest, std::int64_t tile_items);
/// Threads of a row (2 to 16) where the matrix, with `value_bytes` an entry, stays in a GPU's second-level cache of
/// `cache_bytes` and no row is too long for one block; else 0.
int lanes_of_rows(std::int64_t rows, Offset nnz, Offset longest, std::int64_t value_bytes,
                  std::int64_t cache_bytes);

namespace gpu {
template <class V>
SpmvGpuPlan plan_spmv(const CsrView<V>& a, std::int64_t entry_bytes, Stream stream, bool tiles);
template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          Stream stream, const SpmvGpuPlan& plan);
}  // namespace gpu

}  // namespace penstock
