#pragma once
#include <algorithm>
#include <cstdint>

#include "penstock/graph/gpu/packed_form.hpp"

// Writes the form of packed_form.hpp: which of a graph's tables a list takes, how many bits that is, and the bits themselves. The CPU
// and nvcc compile these functions, so the bits are the same wherever lists are packed.
namespace penstock {

inline constexpr int kGapWidths = 32;  // a gap takes 0 to 31 bits

/// How a graph's gaps are stored.
struct PackedCode {
  std::uint32_t tables[kPackedTables] = {};
  std::uint8_t table_of[kGapWidths] = {};  // of lists of each level, which is the mean width of their gaps
  int table_bits = 0;
  std::uint32_t step = 1;  // what is added to each gap
};

constexpr int bits_of(std::uint32_t x) {
  int bits = 0;
  for (int half = 16; half > 0; half /= 2)
    if (x >> half != 0) x >>= half, bits += half;
  return bits + int(x);
}
constexpr int width_code(std::uint32_t first) { return std::min(31, bits_of(first)); }
constexpr int level_of(std::int64_t bits, int gaps) {
  return gaps == 0 ? 0 : std::min(kGapWidths - 1, int((2 * bits + gaps) / (2 * gaps)));
}
/// The table of a list of this level whose widest gap takes `most` bits: that of its level, or the next one that has a width for
/// the gap. The widths were chosen by some lists alone; the table of the last level has one for every gap.
constexpr int table_for(const PackedCode& code, int level, int most) {
  int t = code.table_of[level];
  while (t + 1 < kPackedTables && table_width(code.tables[t], 3) < most) ++t;
  return t;
}
/// Which of a table's widths, the narrowest that suffices, a gap of so many bits takes.
constexpr unsigned which_width(std::uint32_t table, int bits) {
  return unsigned(bits > table_width(table, 0)) + unsigned(bits > table_width(table, 1)) +
         unsigned(bits > table_width(table, 2));
}
constexpr int stored_width(std::uint32_t table, int bits) {
  return table_width(table, which_width(table, bits));
}

/// What keeps a list from being packed as it is.
enum ListFault : unsigned { kDescends = 1, kRepeats = 2, kOutside = 4 };

/// A list of at most kPackedPiece entries, or a piece of one. `more`: another piece follows.
struct ListPart {
  const Index* columns = nullptr;
  int count = 0;
  Index vertex = 0;
  bool more = false;

  constexpr std::uint32_t gap(int i, std::uint32_t step) const {
    return std::uint32_t(columns[i + 1]) - std::uint32_t(columns[i]) - step;
  }
  constexpr std::uint32_t first() const { return zigzag(std::int64_t(columns[0]) - vertex); }
};
struct PartSize {
  int table = 0, bits = 0;
  unsigned faults = 0;
};
/// `cols` is how many columns the graph has. With faults the rest of the result means nothing.
constexpr PartSize size_of_part(const PackedCode& code, const ListPart& part, std::int64_t cols) {
  PartSize out;
  if (part.count == 0) return out;
  std::int64_t sum = 0;
  int most = 0;
  auto before = part.columns[0];
  if (before < 0 || before >= cols) out.faults |= kOutside;
  const int gaps = part.count - 1;
  for (int i = 1; i <= gaps + part.more; ++i) {
    const auto column = part.columns[i];
    if (column < 0 || column >= cols) out.faults |= kOutside;
    if (column < before) out.faults |= kDescends;
    if (column == before && code.step == 1) out.faults |= kRepeats;
    if (i <= gaps) {
      const int bits = bits_of(std::uint32_t(column) - std::uint32_t(before) - code.step);
      sum += bits;
      most = std::max(most, bits);
    }
    before = column;
  }
  out.table = table_for(code, level_of(sum, gaps), most);
  const auto table = code.tables[out.table];
  out.bits = code.table_bits + 5 + first_width(std::uint32_t(width_code(part.first()))) + 2 * gaps;
  for (int i = 0; i < gaps; ++i) out.bits += stored_width(table, bits_of(part.gap(i, code.step)));
  return out;
}

/// Appends numbers of at most 32 bits to words, from a bit of the first one on. The first and the last word may hold bits of other
/// lists, so they are left to the caller: the words between are written.
class PartWriter {
 public:
  constexpr PartWriter(std::uint32_t* words, std::int64_t at)
      : word_(words + (at >> 5)), filled_(int(at & 31)) {}
  constexpr void put(std::uint32_t x, int width) {
    pending_ |= (x & ((std::uint64_t(1) << width) - 1)) << filled_;
    filled_ += width;
    if (filled_ <= 32) return;  // a full word may be the last one
    if (begun_) *word_ = std::uint32_t(pending_);
    else first_ = std::uint32_t(pending_), begun_ = true;
    ++word_;
    pending_ >>= 32;
    filled_ -= 32;
  }
  constexpr std::uint32_t first() const { return begun_ ? first_ : std::uint32_t(pending_); }
  /// 0 if the first word is the last one.
  constexpr std::uint32_t last() const { return begun_ ? std::uint32_t(pending_) : 0; }
  constexpr std::uint32_t* last_word() const { return word_; }

 private:
  std::uint32_t* word_;
  std::uint64_t pending_ = 0;
  int filled_ = 0;
  std::uint32_t first_ = 0;
  bool begun_ = false;
};

/// `Writer` has put(number, width of at most 32 bits).
template <class Writer>
constexpr void write_part(const PackedCode& code, const ListPart& part, int table_number, Writer& out) {
  const auto table = code.tables[table_number];
  out.put(std::uint32_t(table_number), code.table_bits);
  const auto first = part.first();
  const auto width = std::uint32_t(width_code(first));
  out.put(width, 5);
  out.put(first, first_width(width));
  const int gaps = part.count - 1;
  for (int from = 0; from < gaps;) {
    const int to = std::min(gaps, from + kPackedChunk - (from == 0));
    std::uint32_t low = 0, high = 0;
    for (int i = from; i < to; ++i) {
      const unsigned which = which_width(table, bits_of(part.gap(i, code.step)));
      low |= (which & 1) << (i - from), high |= (which >> 1) << (i - from);
    }
    out.put(low, to - from);
    out.put(high, to - from);
    for (int i = from; i < to; ++i) {
      const auto gap = part.gap(i, code.step);
      out.put(gap, stored_width(table, bits_of(gap)));
    }
    from = to;
  }
}

}  // namespace penstock
