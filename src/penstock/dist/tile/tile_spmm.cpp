// C(i, j) += A(i, k) B(k, j), A sparse, B and C dense, on the CPU. Products are added in place. A sum for another rank knows
// the rows in which it has products, and only these travel.
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

/// Bytes of pieces that wait for a sum's rows to be written: of one sum of a rank, that of the product under way.
constexpr std::int64_t kWaiting = 16 << 20;

/// What parts of a product share. A rank works on one at a time, so all its sums have this together.
template <class T>
struct PartsOfProduct {
  SpmmShared<T> shared;
  std::int64_t product = -1;
};

/// A dense sum in memory of its own or of others; whoever makes it says which rows have products.
template <Semiring S, class V>
class DenseSum : public TileSum {
 protected:
  using T = typename S::value_type;
  static constexpr auto kWord = static_cast<std::int64_t>(sizeof(T));

 public:
  using Shared = std::shared_ptr<PartsOfProduct<T>>;
  DenseSum(const TileAt& tile, std::byte* place, Shared parts)
      : tile_(tile), data_(reinterpret_cast<T*>(place)), parts_(std::move(parts)) {}

  void multiply_add(const TileView& a, const TileView& b) override {
    const auto rows = a.tile.row_span();
    // Rows that nothing has been written to are written, and the others added to.
    if (const auto end = std::min(rows.end, written_); rows.first < end)
      multiply(rows_of<V>(a, {rows.first, end}), a, b, row(rows.first), false);
    if (const auto first = std::max(rows.first, written_); first < rows.end) {
      begin(first);
      multiply(rows_of<V>(a, {first, rows.end}), a, b, row(first), true);
      written_ = rows.end;
    }
    rows_ = rows_.with(rows);
    if (written_ == tile_.rows) add_waiting();
  }

  void pieces(std::int64_t most, const Piece& piece) override {
    begin(tile_.rows);
    const auto step = (most - kDenseHead) / kWord;
    auto first = rows_.first * tile_.cols;
    const auto end = rows_.end * tile_.cols;
    do {
      const auto count = std::min(step, end - first);
      const auto bytes = count * kWord;
      const auto write = [&](std::byte* to) {
        std::memcpy(to, &first, kDenseHead);
        if (bytes > 0) std::memcpy(to + kDenseHead, data_ + first, static_cast<std::size_t>(bytes));
      };
      piece(kDenseHead + bytes, write, first + count == end);
      first += count;
    } while (first < end);
  }

  void add_piece(const std::byte* piece, std::int64_t bytes) override {
    if (under_way_ && 0 < written_ && written_ < tile_.rows && waiting_bytes_ + bytes <= kWaiting) {
      waiting_bytes_ += bytes;
      return waiting_.push_back(std::vector<std::byte>(piece, piece + bytes));
    }
    begin(tile_.rows);
    add_now(piece, bytes);
  }

  void end_parts() override {
    begin(tile_.rows);
    under_way_ = false;
  }

  Offset finish() override {
    begin(tile_.rows);
    return tile_.nnz;
  }
  void take(std::byte*) override {}

 protected:
  void add_now(const std::byte* piece, std::int64_t bytes) {
    std::int64_t first = 0;
    std::memcpy(&first, piece, kDenseHead);
    if (first < 0) return add_named(piece + kDenseHead, -first);
    const auto* from = reinterpret_cast<const T*>(piece + kDenseHead);
    add_to(first, from, (bytes - kDenseHead) / kWord);
  }
  /// Writes the product to y, or adds it.
  void multiply(const CsrView<V>& some, const TileView& a, const TileView& b, T* y, bool write) {
    const auto cols = tile_.cols;
    // Only rows of B that A has columns for are here, and no memory behind the last of them.
    auto left = some;
    left.cols = a.tile.col_span().end;
    const DenseView<const T> right{reinterpret_cast<const T*>(b.data), left.cols, cols, cols, 1};
    const DenseView<T> out{y, left.rows, cols, cols, 1};
    under_way_ = a.product >= 0;
    auto& [shared, product] = *parts_;
    if (under_way_ && a.product != product) {
      auto whole = csr_of<V>(a.data, a.tile);
      whole.cols = left.cols;
      auto memory = std::move(shared.memory);
      shared = spmm_shared<S, V>(whole, right), product = a.product;
      shared.memory = std::move(memory);
      if (a.stolen && shared.copies) shared.copies = false, shared.width = right.cols;
    }
    spmm<S, V>(left, right, out, write ? Scale<S>{} : Scale<S>::accumulate(), under_way_ ? &shared : nullptr);
  }
  /// The rows before `end` that nothing has been written to are zeros from now on.
  void begin(std::int64_t end) {
    if (end > written_) {
      std::fill_n(row(written_), (end - written_) * tile_.cols, S::zero());
      written_ = end;
    }
    if (written_ == tile_.rows) add_waiting();
  }
  void add_waiting() {
    for (const auto& piece : std::exchange(waiting_, {})) add_now(piece.data(), std::ssize(piece));
    waiting_bytes_ = 0;
  }
  T* row(std::int64_t r) { return data_ + r * tile_.cols; }
  void add_named(const std::byte* names, std::int64_t count) {
    const auto* const rows = reinterpret_cast<const Index*>(names);
    const auto* from = reinterpret_cast<const T*>(names + padded_to(count * kRowName, 8));
    for (std::int64_t n = 0; n < count; ++n) add_to(rows[n] * tile_.cols, from + n * tile_.cols, tile_.cols);
  }
  void add_to(std::int64_t first, const T* from, std::int64_t count) {
    for (std::int64_t n = 0; n < count; ++n) data_[first + n] = S::add(data_[first + n], from[n]);
  }

  TileAt tile_;
  Span rows_{0, 0};           // between which products are
  std::int64_t written_ = 0;  // the rows before this one hold sums, the others nothing yet
  T* data_ = nullptr;

 private:
  /// Pieces that came while parts of the first product were written: so the rest is written, too, which is faster than zeros
  /// that are added to.
  std::vector<std::vector<std::byte>> waiting_;
  std::int64_t waiting_bytes_ = 0;
  Shared parts_;
  bool under_way_ = false;  // between parts of a product
};

/// A sum for another rank, of which only the rows with products travel. As long as each product, or part of one, is of rows
/// behind those before, only these exist, too.
template <Semiring S, class V>
class SentSum final : public DenseSum<S, V> {
  using Base = DenseSum<S, V>;
  using Base::data_, Base::kWord, Base::rows_, Base::tile_, Base::written_;
  using typename Base::T;

 public:
  SentSum(const TileAt& tile, typename Base::Shared parts) : Base(tile, nullptr, std::move(parts)) {}

  void multiply_add(const TileView& a, const TileView& b) override {
    const auto entries = rows_of<V>(a, a.tile.row_span());
    const bool behind = names_.empty() || names_.back() < a.tile.row_span().first;
    if (!wide_ && behind && multiply_rows(entries, a, b)) return;
    widen();
    Base::multiply_add(a, b);
    for (std::int64_t r = 0; r < entries.rows; ++r)
      if (entries.indptr[r] < entries.indptr[r + 1]) mark(a.tile.row_span().first + r);
  }

  /// Adds what another rank of this node has for the same tile.
  void add_piece(const std::byte* piece, std::int64_t bytes) override {
    widen();
    this->begin(tile_.rows);
    Base::add_piece(piece, bytes);
    std::int64_t first = 0;
    std::memcpy(&first, piece, kDenseHead);
    const auto has = [&](std::int64_t row) { mark(row), rows_ = rows_.with({row, row + 1}); };
    if (first < 0) {
      const auto* const rows = reinterpret_cast<const Index*>(piece + kDenseHead);
      for (std::int64_t n = 0; n < -first; ++n) has(rows[n]);
    } else if (const auto count = (bytes - kDenseHead) / kWord; count > 0) {
      for (auto r = first / tile_.cols; r <= (first + count - 1) / tile_.cols; ++r) has(r);
    }
  }

  /// Whole rows with their numbers. Where a piece is smaller than one row, all rows between the first and the last travel.
  void pieces(std::int64_t most, const TileSum::Piece& piece) override {
    const auto row = tile_.cols * kWord, count = wide_ ? met_ : std::ssize(names_);
    const auto step = (most - 2 * kDenseHead) / (row + kRowName);
    if (step < 1 || (!named_ && !worth_naming(count, rows_, row))) {
      widen();
      return Base::pieces(most, piece);
    }
    if (wide_)
      for (auto r = rows_.first; r < rows_.end; ++r)
        if (marked_[static_cast<std::size_t>(r)]) names_.push_back(static_cast<Index>(r));
    std::int64_t n = 0;
    do {  // at least one, which says how many products are in it
      const auto some = std::min(step, count - n), head = -some;
      const auto write = [&](std::byte* to) {
        std::memcpy(to, &head, kDenseHead);
        std::memcpy(to += kDenseHead, names_.data() + n, static_cast<std::size_t>(some * kRowName));
        to += padded_to(some * kRowName, 8);
        if (!wide_) std::memcpy(to, data_ + n * tile_.cols, static_cast<std::size_t>(some * row));
        for (std::int64_t r = n; r < n + some && wide_; ++r, to += row)
          std::memcpy(to, data_ + names_[static_cast<std::size_t>(r)] * tile_.cols,
                      static_cast<std::size_t>(row));
      };
      piece(kDenseHead + padded_to(some * kRowName, 8) + some * row, write, n + some == count);
      n += some;
    } while (n < count);
  }

 private:
  /// The product of the rows with entries alone. False: there are too many of them.
  bool multiply_rows(const CsrView<V>& a, const TileView& from, const TileView& b) {
    const auto at = from.tile.row_span();
    const auto before = std::ssize(names_);
    std::vector<Offset> ends;
    for (std::int64_t r = 0; r < a.rows; ++r)
      if (a.indptr[r] < a.indptr[r + 1])
        names_.push_back(static_cast<Index>(at.first + r)), ends.push_back(a.indptr[r]);
    const auto count = std::ssize(names_) - before;
    const bool small = from.product >= 0 && 2 * at.size() < tile_.rows;  // a whole tile would be mostly zeros
    if (!small && !worth_naming(count, at, tile_.cols * kWord)) {
      names_.resize(static_cast<std::size_t>(before));
      return false;
    }
    ends.push_back(a.indptr[a.rows]);
    auto rows = a;
    rows.rows = count, rows.indptr = ends.data();
    const auto old = own_;
    hold(before + count);
    if (before > 0) std::copy_n(old.data, before * tile_.cols, data_);
    this->multiply(rows, from, b, this->row(before), true);
    rows_ = rows_.with(at), named_ = named_ || small;
    return true;
  }

  /// From now on all rows of the tile exist.
  void widen() {
    if (std::exchange(wide_, true)) return;
    named_ = false;
    const auto few = own_;
    hold(tile_.rows);
    if (names_.empty()) return;
    this->begin(tile_.rows);
    for (std::size_t n = 0; n < names_.size(); ++n) {
      mark(names_[n]);
      std::copy_n(few.data + static_cast<std::int64_t>(n) * tile_.cols, tile_.cols, this->row(names_[n]));
    }
    names_.clear();
  }
  void hold(std::int64_t rows) {
    own_ = reuse<T>(rows * tile_.cols);
    data_ = own_.data;
  }
  void mark(std::int64_t row) {
    if (marked_.empty()) marked_.resize(static_cast<std::size_t>(tile_.rows));
    met_ += std::exchange(marked_[static_cast<std::size_t>(row)], 1) == 0;
  }

  bool wide_ = false;   // data_ has all rows of the tile; else those named in names_, one after the other
  bool named_ = false;  // of small parts, which travel with their numbers, however many rows have products
  std::vector<Index> names_;
  std::vector<std::uint8_t> marked_;  // where all rows exist: those with products
  std::int64_t met_ = 0;
  Array<T> own_;
};

template <Semiring S, class V>
class Spmm final : public LocalProduct {
 public:
  TileValue result() const override { return tile_value<typename S::value_type>(); }
  bool takes_rows() const override { return true; }
  std::unique_ptr<TileSum> start(const TileAt& tile, std::byte* place) const override {
    if (!place) return std::make_unique<SentSum<S, V>>(tile, parts_);
    return std::make_unique<DenseSum<S, V>>(tile, place, parts_);
  }

 private:
  using Parts = PartsOfProduct<typename S::value_type>;
  std::shared_ptr<Parts> parts_ = std::make_shared<Parts>();
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
