// C(i, j) += A(i, k) B(k, j), A sparse, B and C dense, on the CPU. Products are added in place. A sum knows the rows in
// which it has products, and only these travel to another rank.
#include <algorithm>
#include <cstring>
#include <utility>

#include "penstock/core/reuse.hpp"
#include "penstock/dist/tile/tile_sum.hpp"
#include "penstock/kernel/spmm/spmm.hpp"

namespace penstock {
namespace {

/// Bytes at the beginning of a piece: the number of its first entry, counted row by row. Entries follow.
constexpr std::int64_t kDenseHead = 8;

template <Semiring S, class V>
class DenseSum final : public TileSum {
  using T = typename S::value_type;

 public:
  DenseSum(const TileAt& tile, std::byte* place) : tile_(tile) {
    if (!place && tile.nnz > 0) {
      own_ = reuse<T>(tile.nnz);
      place = reinterpret_cast<std::byte*>(own_.data);
    }
    data_ = reinterpret_cast<T*>(place);
  }

  void multiply_add(const TileView& a, const TileView& b) override {
    const auto cols = tile_.cols;
    const DenseView<const T> x{reinterpret_cast<const T*>(b.data), b.tile.rows, cols, cols, 1};
    const auto rows = fresh_ ? Span{0, tile_.rows} : a.tile.row_span();  // the first one writes all
    const DenseView<T> y{data_ + rows.first * cols, rows.size(), cols, cols, 1};
    spmm<S, V>(rows_of<V>(a, rows), x, y, fresh_ ? Scale<S>{} : Scale<S>::accumulate());
    rows_ = rows_.with(a.tile.row_span()), fresh_ = false;
  }

  void pieces(std::int64_t most, const Piece& piece) override {
    begin();
    const auto step = (most - kDenseHead) / static_cast<std::int64_t>(sizeof(T));
    auto first = rows_.first * tile_.cols;
    const auto end = rows_.end * tile_.cols;
    do {
      const auto count = std::min(step, end - first);
      const auto bytes = count * static_cast<std::int64_t>(sizeof(T));
      const auto write = [&](std::byte* to) {
        std::memcpy(to, &first, kDenseHead);
        if (bytes > 0) std::memcpy(to + kDenseHead, data_ + first, static_cast<std::size_t>(bytes));
      };
      piece(kDenseHead + bytes, write, first + count == end);
      first += count;
    } while (first < end);
  }

  void add_piece(const std::byte* piece, std::int64_t bytes) override {
    begin();
    std::int64_t first = 0;
    std::memcpy(&first, piece, kDenseHead);
    const auto* from = reinterpret_cast<const T*>(piece + kDenseHead);
    const auto count = (bytes - kDenseHead) / static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t n = 0; n < count; ++n) data_[first + n] = S::add(data_[first + n], from[n]);
  }

  Offset finish() override {
    begin();
    return tile_.nnz;
  }
  void take(std::byte*) override {}

 private:
  /// The first product overwrites what is there; anything else finds zeros.
  void begin() {
    if (std::exchange(fresh_, false)) std::fill_n(data_, tile_.nnz, S::zero());
  }

  TileAt tile_;
  Span rows_{0, 0};  // the rows that have products
  bool fresh_ = true;
  Array<T> own_;
  T* data_ = nullptr;
};

template <Semiring S, class V>
class Spmm final : public LocalProduct {
 public:
  TileValue result() const override { return tile_value<typename S::value_type>(); }
  std::unique_ptr<TileSum> start(const TileAt& tile, std::byte* place) const override {
    return std::make_unique<DenseSum<S, V>>(tile, place);
  }
};

template <Semiring S, class V>
bool matches(std::string_view asked, TileValue a, TileValue b) {
  return asked == semiring_name<S>() && a == tile_value<V>() && b == tile_value<typename S::value_type>();
}

}  // namespace

std::unique_ptr<LocalProduct> local_spmm(std::string_view semiring, TileValue a, TileValue b) {
#define X(S, V) \
  if (matches<S, V>(semiring, a, b)) return std::make_unique<Spmm<S, V>>();
  X(PlusTimes<float>, One)
  X(PlusTimes<float>, float)
  X(PlusTimes<double>, One)
  X(PlusTimes<double>, double)
  PENSTOCK_RANK_SEMIRINGS(PENSTOCK_WITH_NUMBERS, X, float)
  PENSTOCK_RANK_SEMIRINGS(PENSTOCK_WITH_NUMBERS, X, double)
  PENSTOCK_RANK_BOOLEAN_SEMIRINGS(PENSTOCK_BOOLEAN_WITH_PATTERNS, X)
#undef X
  return nullptr;
}

}  // namespace penstock
