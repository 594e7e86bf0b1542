#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"
#include "penstock/io/random.hpp"

// What a random lift is made of, as functions that threads of the CPU and of a GPU share. Copy 0 says all: row (c, u) has the
// columns of row (0, u), moved on by c copies, modulo all of them. So a lift is a block circulant matrix, and a sorted row of it
// is a sorted row of copy 0, turned around at one place.
namespace penstock {

/// By how many copies an entry of A moves: 0 for all but a share `mix` of the edges, which move by a hash of the edge, modulo
/// the copies. What is above the diagonal moves forward, and its mirror image back by as much, so that the lift of a symmetric
/// pattern is symmetric. The diagonal stays.
class LiftShift {
 public:
  constexpr LiftShift(std::int64_t copies, double mix, std::uint64_t seed)
      : copies_(copies), mixed_(threshold(mix)), chosen_(seed, 0x11f7), far_(seed, 0x11f8) {}

  /// In [0, copies).
  constexpr std::int64_t operator()(std::int64_t row, std::int64_t column) const {
    const bool up = row < column;
    const auto low = static_cast<std::uint64_t>(up ? row : column);
    const auto edge = low << 32 | static_cast<std::uint64_t>(up ? column : row);
    if (row == column || chosen_(edge) >= mixed_) return 0;
    const auto shift = below(far_(edge), copies_);
    return up || shift == 0 ? shift : copies_ - shift;
  }

 private:
  std::int64_t copies_;
  std::uint64_t mixed_;
  Random chosen_, far_;
};

/// Copy 0: `rows` rows, sorted, with columns in [0, rows * copies).
struct LiftView {
  std::int64_t rows, copies;
  const Offset* indptr;
  const Index* columns;
};

/// One row of a copy: where each entry of that row of copy 0 goes, and which column it has there.
class LiftedRow {
 public:
  constexpr LiftedRow(const LiftView& a, std::int64_t copy, std::int64_t row)
      : begin_(a.indptr[row]),
        end_(a.indptr[row + 1]),
        turn_(end_),
        add_(copy * a.rows),
        wrap_(a.rows * a.copies) {
    const auto first = wrap_ - add_;  // columns from here on come out in a lower copy
    if (begin_ == end_ || a.columns[end_ - 1] < first) return;
    for (auto low = begin_; low < turn_;) {
      const auto middle = low + (turn_ - low) / 2;
      if (a.columns[middle] < first) low = middle + 1;
      else turn_ = middle;
    }
  }

  /// The entries [turn(), end()) come first in the row, those of [begin(), turn()) after them.
  constexpr Offset begin() const { return begin_; }
  constexpr Offset turn() const { return turn_; }
  constexpr Offset end() const { return end_; }
  /// What columns grow by, after the turn and before it.
  constexpr std::int64_t wrapped() const { return add_ - wrap_; }
  constexpr std::int64_t added() const { return add_; }

  /// Where entry k of copy 0 lies within its copy.
  constexpr Offset place(Offset k) const { return k >= turn_ ? k - (turn_ - begin_) : k + (end_ - turn_); }
  constexpr Index column(Index of_copy_0, Offset k) const {
    return static_cast<Index>(of_copy_0 + (k >= turn_ ? wrapped() : added()));
  }

 private:
  Offset begin_, end_, turn_;
  std::int64_t add_, wrap_;
};

}  // namespace penstock
