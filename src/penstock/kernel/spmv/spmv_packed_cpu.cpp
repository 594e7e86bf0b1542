// y = alpha A x + beta y on the CPU, straight from packed blocks. The columns of a tile are decoded to a buffer in the cache,
// and multiplied from there. A thread takes whole blocks, and the sums of a block depend on the block alone.
#include "penstock/core/parallel.hpp"
#include "penstock/format/pack_values.hpp"
#include "penstock/format/packed_tile.hpp"
#include "penstock/kernel/spmv/spmv_packed.hpp"

namespace penstock::cpu {
namespace {

/// Goes through the rows of a block in order, and writes also those without entries.
template <Semiring S>
class Rows {
 public:
  using T = typename S::value_type;
  Rows(const PackedView& block, T* y, Scale<S> scale) : block_(block), y_(y), scale_(scale) {}

  /// Takes the sum of the next row that has entries.
  void finish(T sum) {
    skip_empty();
    y_[row_] = scale_(sum, y_[row_]);
    ++row_;
  }
  void end() {
    while (row_ < block_.header().rows) {
      y_[row_] = scale_(S::zero(), y_[row_]);
      ++row_;
    }
  }

 private:
  void skip_empty() {
    if (block_.header().present_at == 0) return;
    for (; (block_.present()[row_ / 32] >> (row_ % 32) & 1) == 0; ++row_)
      y_[row_] = scale_(S::zero(), y_[row_]);
  }
  const PackedView block_;
  T* y_;
  const Scale<S> scale_;
  std::int64_t row_ = 0;
};

template <Semiring S, class V>
void multiply_block(const PackedView& block, const typename S::value_type* x, typename S::value_type* y,
                    Scale<S> scale) {
  using T = typename S::value_type;
  Rows<S> rows(block, y, scale);
  DecodedTile tile;
  [[maybe_unused]] V values[is_pattern<V> ? 1 : kTileNnz];
  const auto part = [&](int from, int to, T sum) {
    for (int k = from; k < to; ++k) sum = S::add(sum, S::mul(entry<S>(values, k), x[tile.columns[k]]));
    return sum;
  };
  T sum = S::zero();  // of the row that has begun and not ended
  bool under_way = false;
  for (std::int64_t t = 0; t < block.header().tiles; ++t) {
    decode_tile(block, t, tile);
    if constexpr (!is_pattern<V>) read_values(block, t * kTileNnz, tile.count, values);
    sum = part(0, tile.starts > 0 ? tile.start[0] : tile.count, sum);
    for (int s = 0; s < tile.starts; ++s) {
      if (under_way) rows.finish(sum);
      under_way = true;
      sum = part(tile.start[s], s + 1 < tile.starts ? tile.start[s + 1] : tile.count, S::zero());
    }
  }
  if (under_way) rows.finish(sum);
  rows.end();
}

}  // namespace

template <Semiring S, class V>
void spmv_packed(const PackedRun& run, const typename S::value_type* x, typename S::value_type* y,
                 Scale<S> scale) {
  const auto& first = run.blocks[0];
  parallel_for(std::ssize(run.blocks), [&](std::int64_t i) {
    const auto& b = run.blocks[static_cast<std::size_t>(i)];
    multiply_block<S, V>({run.bytes + (b.at - first.at)}, x, y + (b.first_row - first.first_row), scale);
  });
}

#define X(S, V) \
  template void spmv_packed<S, V>(const PackedRun&, const S::value_type*, S::value_type*, Scale<S>);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock::cpu
