#pragma once
#include "penstock/core/array.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// What is computed once for a matrix, or for one of its blocks, so that its products on a GPU start without delay. Without it
/// every product finds the rows of its tiles again, and takes scratch memory. A plan belongs to one view on one GPU and to
/// vectors of one entry size. One stream at a time may use it, because it holds the sums of cut rows; any number of streams may
/// use a copy whose `cells` are empty, with which each product takes scratch memory for those sums.
struct SpmvGpuPlan {
  std::int64_t entry_bytes = 0;  // of x and y
  std::int64_t tiles = 0;        // how many there are; each is a thread block
  // If no row is long: the whole rows of a tile, none of which is cut; else 0.
  std::int64_t rows_per_tile = 0;
  Array<const std::int64_t> first_rows;  // the first row of each tile of the merge path
  Array<std::byte> cells;                // the parts of cut rows
  Offset longest = 0;                    // entries of the longest row
  int lanes = 0;                         // if the matrix is small, and has no tiles: threads of a row; else 0
  Array<const Index> long_rows;          // of a small matrix: the rows that get a block each

  std::int64_t bytes() const { return first_rows.bytes() + cells.bytes() + long_rows.bytes(); }
};

/// Makes the plan: reads the row offsets on the GPU, and waits for it. For the CPU the plan is empty. With `tiles` even a
/// small matrix has tiles.
template <class V>
SpmvGpuPlan plan_spmv(const CsrView<V>& a, std::int64_t entry_bytes, Stream stream, bool tiles = false);

/// spmv by a plan. On the CPU the plan is not used.
template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          Stream stream, const SpmvGpuPlan& plan);

/// How many whole rows make a tile if no row is longer than `longest`. 0 if rows are long, or so uneven that tiles would be
/// half empty.
std::int64_t rows_of_tile(std::int64_t rows, Offset nnz, Offset longest, std::int64_t tile_items);
/// How many threads take a row (2 to 16) if the matrix, with `value_bytes` an entry, stays in a GPU's second-level cache of
/// `cache_bytes` and no row is too long for one block; otherwise 0.
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
