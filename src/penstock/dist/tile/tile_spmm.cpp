// C(i, j) += A(i, k) B(k, j), A sparse, B and C dense, on the CPU. Products are added in place. A sum knows the rows in
// which it has products, and only these travel to another rank.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "penstock/core/reuse.hpp"
#include "penstock/dist/tile/tile_sum.hpp"
#include "penstock/kernel/spmm/spmm.hpp"

namespace penstock {
namespace {

/// Bytes at the beginning of a piece: the number of its first entry, counted row by row, and the entries follow. Or, below
/// 0, how many rows follow: their numbers, padded to 8 bytes, and then their entries.
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
    if (own_.size > 0) mark(csr_of<One>(a.data, a.tile), a.tile.row_span());
  }

  void pieces(std::int64_t most, const Piece& piece) override {
    begin();
    if (worth_naming(met_, rows_)) named_pieces(most, piece);
    else contiguous_pieces(most, piece);
  }

  void add_piece(const std::byte* piece, std::int64_t bytes) override {
    begin();
    std::int64_t first = 0;
    std::memcpy(&first, piece, kDenseHead);
    if (first < 0) return add_named(piece + kDenseHead, -first);
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

  void contiguous_pieces(std::int64_t most, const Piece& piece) {
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

  /// Marks the rows with products, of which alone a sum for another rank consists.
  void mark(const CsrView<One>& a, Span rows) {
    if (marked_.empty()) marked_.resize(static_cast<std::size_t>(tile_.rows));
    for (auto r = rows.first; r < rows.end; ++r)
      if (a.indptr[r] < a.indptr[r + 1]) met_ += std::exchange(marked_[static_cast<std::size_t>(r)], 1) == 0;
  }

  /// Whole rows. Where a piece is smaller than one row, all rows between the first and the last travel.
  void named_pieces(std::int64_t most, const Piece& piece) {
    const auto row = tile_.cols * static_cast<std::int64_t>(sizeof(T));
    const auto step = (most - 2 * kDenseHead) / (row + kRowName);
    if (step < 1) return contiguous_pieces(most, piece);
    std::vector<Index> names;
    names.reserve(static_cast<std::size_t>(met_));
    for (auto r = rows_.first; r < rows_.end; ++r)
      if (marked_[static_cast<std::size_t>(r)]) names.push_back(static_cast<Index>(r));
    for (std::int64_t n = 0; n < met_; n += step) {
      const auto count = std::min(step, met_ - n);
      const auto* const some = names.data() + n;
      const auto write = [&](std::byte* to) {
        const auto head = -count;
        std::memcpy(to, &head, kDenseHead);
        std::memcpy(to += kDenseHead, some, static_cast<std::size_t>(count * kRowName));
        to += padded_to(count * kRowName, 8);
        for (std::int64_t r = 0; r < count; ++r, to += row)
          std::memcpy(to, data_ + some[r] * tile_.cols, static_cast<std::size_t>(row));
      };
      piece(kDenseHead + padded_to(count * kRowName, 8) + count * row, write, n + count == met_);
    }
  }

  void add_named(const std::byte* names, std::int64_t count) {
    const auto* const rows = reinterpret_cast<const Index*>(names);
    const auto* from = reinterpret_cast<const T*>(names + padded_to(count * kRowName, 8));
    for (std::int64_t n = 0; n < count; ++n, from += tile_.cols) {
      auto* const to = data_ + rows[n] * tile_.cols;
      for (std::int64_t c = 0; c < tile_.cols; ++c) to[c] = S::add(to[c], from[c]);
    }
  }

  TileAt tile_;
  Span rows_{0, 0};  // the rows that have products, of a sum for another rank by name
  std::int64_t met_ = 0;
  std::vector<std::uint8_t> marked_;
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
