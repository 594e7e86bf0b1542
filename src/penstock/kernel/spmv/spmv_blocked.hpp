#pragma once
#include <cstdint>
#include <vector>

#include "penstock/kernel/row_blocks.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// Sparse blocks of at most 64k x 64k (buono-2017, section 4, after Buono et al., ICS 2016): x and y of a block stay in the
/// second-level cache, and an index inside it takes two bytes. A stripe is a range of rows and the unit of work for a thread;
/// its blocks are in the order of their columns. In a block, the entries of a row are a segment if they are enough for vector
/// gathers; all other entries are scattered one by one.
template <class V>
struct BlockedPlan {
  struct Segment {
    std::uint16_t row, count;
  };
  struct Block {
    std::int64_t first_col;
    // Where the parts of the block begin. They end where those of the next block begin.
    std::int64_t segments, vector_entries, single_entries;
  };
  struct Stripe {
    std::int64_t first_row = 0, rows = 0;
    bool piece = false;              // it is a piece of one row that is longer than a stripe should be
    std::vector<Block> blocks = {};  // and one more, which is the end of the last
    std::vector<Segment> segments = {};
    std::vector<std::uint16_t> cols = {};  // columns of the entries of segments
    std::vector<V> values = {};
    std::vector<std::uint32_t> singles = {};  // row << 16 | column
    std::vector<V> single_values = {};
  };
  std::vector<Stripe> stripes;
  std::vector<RowBlock> cut;

  static constexpr std::int64_t kBlockShift = 16;
  std::int64_t bytes() const;
};

template <class V>
BlockedPlan<V> make_blocked(const CsrView<V>& a);

template <Semiring S, class V>
void spmv_blocked(const BlockedPlan<V>& plan, const typename S::value_type* x, typename S::value_type* y,
                  Scale<S> scale);

/// The product of one block: y += A x, where x and y begin with the block's first column and row.
template <class T, class V>
struct BlockArgs {
  const std::uint16_t* segments;  // pairs (row, count)
  std::int64_t segment_count;
  const std::uint16_t* cols;
  const V* values;
  const std::uint32_t* singles;
  const V* single_values;
  std::int64_t single_count;
  const T* x;
  T* y;
};
template <class T, class V>
using BlockKernel = void (*)(const BlockArgs<T, V>&);
namespace avx2 {
template <class T, class V>
void block(const BlockArgs<T, V>&);
}

}  // namespace penstock

#define PENSTOCK_FOR_EACH_PLANNED(X) \
  X(float, float)                    \
  X(double, double)                  \
  X(float, One)                      \
  X(double, One)
