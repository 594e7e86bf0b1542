#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "penstock/graph/gpu/packed_form.hpp"

// Writes the form of packed_form.hpp: which of a graph's tables a list takes, how many bits that is, and the bits themselves. The CPU
// and nvcc compile these functions, so the bits are the same wherever lists are packed.
//
// A list is the work of some Lanes, which share its entries: one on the CPU, eight of a warp on a GPU, where short and long lists then
// cost about what their entries do, and neighbouring lanes read neighbouring ones. Lanes have a constant kCount, number(), sum(), most(),
// either() and before(), the sum over all lower numbers, in which all lanes take part; and or_into(word, bits), as lists share words.
namespace penstock {

inline constexpr int kGapWidths = 32;  // a gap takes 0 to 31 bits

/// How a graph's gaps are stored.
struct PackedCode {
  std::uint32_t tables[kPackedTables] = {};
  std::uint8_t table_of[kGapWidths] = {};  // of lists of each level, which is the mean width of their gaps
  int table_bits = 0;
  std::uint32_t step = 1;  // what is added to each gap
};

constexpr int bits_of(std::uint32_t x) { return int(std::bit_width(x)); }
constexpr int width_code(std::uint32_t first) { return std::min(31, bits_of(first)); }
constexpr int level_of(int bits, int gaps) {
  return gaps == 0 ? 0 : std::min(kGapWidths - 1, (2 * bits + gaps) / (2 * gaps));
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
  bool fault =
      false;  // it does not ascend, has a column twice although gaps are less one, or a column outside the graph
};
/// `cols` is how many columns the graph has. With a fault the rest of the result means nothing. All lanes get the same.
template <class Lanes>
constexpr PartSize size_of_part(const PackedCode& code, const ListPart& part, std::int64_t cols,
                                const Lanes& lanes) {
  PartSize out;
  if (part.count == 0) return out;
  constexpr int kFaulty = 1 << 16;  // more than all gaps of a part take
  static_assert(kPackedPiece * kGapWidths < kFaulty);
  const int gaps = part.count - 1;
  int sum = 0, most = 0;
  bool fault = part.columns[0] < 0 || part.columns[gaps] >= cols;
  for (int i = lanes.number(); i < gaps; i += Lanes::kCount) {
    const auto column = part.columns[i], next = part.columns[i + 1];
    fault |= next < column || (next == column && code.step == 1);
    const int bits = bits_of(part.gap(i, code.step));
    sum += bits;
    most = std::max(most, bits);
  }
  if (part.more) {
    const auto column = part.columns[gaps], next = part.columns[gaps + 1];
    fault |= next < column || (next == column && code.step == 1);
  }
  // What a gap of a faulty list takes is at most 32 bits, too.
  sum = lanes.sum(fault ? sum + kFaulty : sum);
  most = lanes.most(most);
  out.fault = sum >= kFaulty;
  if (out.fault) return out;
  out.table = table_for(code, level_of(sum, gaps), most);
  const auto table = code.tables[out.table];
  int bits = 0;
  for (int i = lanes.number(); i < gaps; i += Lanes::kCount)
    bits += stored_width(table, bits_of(part.gap(i, code.step)));
  out.bits =
      lanes.sum(bits) + code.table_bits + 5 + first_width(std::uint32_t(width_code(part.first()))) + 2 * gaps;
  return out;
}

/// Puts numbers of at most 32 bits behind one another, from a bit of some words on, which are 0 there.
template <class Lanes>
class BitsInto {
 public:
  constexpr BitsInto(const Lanes& lanes, std::uint32_t* words, std::int64_t at)
      : lanes_(lanes), word_(words + (at >> 5)), filled_(int(at & 31)) {}
  constexpr void put(std::uint32_t x, int width) {
    pending_ |= (x & ((std::uint64_t(1) << width) - 1)) << filled_;
    filled_ += width;
    if (filled_ < 32) return;
    lanes_.or_into(word_++, std::uint32_t(pending_));
    pending_ >>= 32;
    filled_ -= 32;
  }
  constexpr void finish() {
    if (pending_ != 0) lanes_.or_into(word_, std::uint32_t(pending_));
  }

 private:
  const Lanes& lanes_;
  std::uint32_t* word_;
  std::uint64_t pending_ = 0;
  int filled_ = 0;
};

/// Edges without lengths.
struct NoLengths {
  constexpr int bits() const { return 0; }
  constexpr NoLengths from(Offset) const { return {}; }
  constexpr std::uint32_t operator()(int) const { return 0; }
};
/// Lengths that stand beside columns: what each exceeds the least one, in `width` bits.
template <class N>
struct EdgeLengths {
  const N* values = nullptr;
  std::uint32_t least = 0;
  int width = 0;
  constexpr int bits() const { return width; }
  constexpr EdgeLengths from(Offset entry) const { return {values + entry, least, width}; }
  constexpr std::uint32_t operator()(int entry) const { return std::uint32_t(values[entry]) - least; }
};

/// The bits of a part, from bit `at` of words on, which are 0 there. `lengths` are those of its entries.
template <class Lengths, class Lanes>
constexpr void write_part(const PackedCode& code, const ListPart& part, const Lengths& lengths,
                          int table_number, std::uint32_t* words, std::int64_t at, const Lanes& lanes) {
  constexpr bool kLengths = !std::is_same_v<Lengths, NoLengths>;
  constexpr int kOwn = kPackedChunk / Lanes::kCount;  // neighbouring gaps of a chunk
  static_assert(kOwn * Lanes::kCount == kPackedChunk);
  const int me = lanes.number();
  const auto table = code.tables[table_number];
  const auto first = part.first();
  const int width = width_code(first), first_bits = first_width(std::uint32_t(width));
  if (me == 0) {
    BitsInto out(lanes, words, at);
    out.put(std::uint32_t(table_number), code.table_bits);
    out.put(std::uint32_t(width), 5);
    out.put(first, first_bits);
    out.finish();
  }
  at += code.table_bits + 5 + first_bits;
  const int gaps = part.count - 1;
  for (int from = 0; from < gaps || (kLengths && from == 0);) {  // a single entry has a length, and no gap
    const int to = std::min(gaps, from + kPackedChunk - (from == 0)), count = to - from;
    std::uint32_t low = 0, high = 0, own[kOwn] = {};
    int bits = 0, widths[kOwn] = {};
    for (int i = 0; i < kOwn; ++i) {
      const int k = me * kOwn + i;
      if (k >= count) continue;
      own[i] = part.gap(from + k, code.step);
      const unsigned which = which_width(table, bits_of(own[i]));
      low |= (which & 1) << k, high |= (which >> 1) << k;
      widths[i] = table_width(table, which);
      bits += widths[i];
    }
    low = lanes.either(low), high = lanes.either(high);
    const int before = lanes.before(bits), all = lanes.sum(bits);
    if (me == 0) {
      BitsInto planes(lanes, words, at);
      planes.put(low, count);
      planes.put(high, count);
      planes.finish();
    }
    at += 2 * count;
    BitsInto out(lanes, words, at + before);
    for (int i = 0; i < kOwn; ++i) out.put(own[i], widths[i]);
    out.finish();
    at += all;
    if constexpr (kLengths) {
      const int first_entry = from + (from > 0), entries = to + 1 - first_entry;
      BitsInto behind(lanes, words, at + lengths.bits() * me * kOwn);
      for (int i = 0; i < kOwn; ++i)
        if (me * kOwn + i < entries) behind.put(lengths(first_entry + me * kOwn + i), lengths.bits());
      behind.finish();
      at += lengths.bits() * entries;
      if (gaps == 0) break;
    }
    from = to;
  }
}

/// The CPU, which has a list to itself.
struct OneLane {
  static constexpr int kCount = 1;
  constexpr int number() const { return 0; }
  constexpr int sum(int mine) const { return mine; }
  constexpr int most(int mine) const { return mine; }
  constexpr std::uint32_t either(std::uint32_t mine) const { return mine; }
  constexpr int before(int) const { return 0; }
  constexpr void or_into(std::uint32_t* word, std::uint32_t bits) const { *word |= bits; }
};

}  // namespace penstock
