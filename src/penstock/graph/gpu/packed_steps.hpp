#pragma once
#include "penstock/graph/gpu/packed_encode.hpp"
#include "penstock/kernel/structure/steps.hpp"

// The steps in which a device packs lists (pack_gpu.cpp), for a piece of the matrix: the lists of some whole groups of 64 vertices.
// A thread takes a list of at most kPackedWhole entries, a piece of a longer one, or what 64 vertices need.
namespace penstock {

/// Added to a number of words if a list among them has a fault.
inline constexpr Offset kFault = Offset(1) << 40;
inline constexpr std::uint32_t kAtMask = (1u << kAtBits) - 1;

/// Lists of a range of vertices: their offsets as in the matrix, and the columns from entry `base` on.
struct RowPiece {
  const Offset* offsets = nullptr;
  const Index* columns = nullptr;
  Offset base = 0;
  Index first = 0;                      // vertex
  std::int64_t vertices = 0, cols = 0;  // of the piece; of the graph

  constexpr Offset size(std::int64_t i) const { return offsets[i + 1] - offsets[i]; }
  constexpr bool is_long(std::int64_t i) const { return size(i) > kPackedWhole; }
  constexpr ListPart whole(std::int64_t i) const {
    return {columns + (offsets[i] - base), int(size(i)), Index(first + i), false};
  }
  constexpr ListPart part(std::int64_t i, Offset number) const {
    const auto from = number * kPackedPiece, left = size(i) - from;
    return {columns + (offsets[i] - base) + from, int(std::min<Offset>(left, kPackedPiece)), Index(first + i),
            left > kPackedPiece};
  }
};

/// The lists above kPackedWhole entries among them: vertices, counted from the first of the piece; the first part of each, and how
/// many parts there are; the words of each part, and later the sums of those before it, with what they hold in `info`.
struct LongLists {
  const Index* vertices = nullptr;
  const Offset* first_part = nullptr;
  std::int64_t count = 0, parts = 0;
  Offset* words = nullptr;        // parts + 1
  std::uint8_t* table = nullptr;  // of each part
  std::int64_t before = 0;        // words of long lists of earlier pieces

  /// The list that has a part, and where its directory begins: one word for each part, and then the parts.
  constexpr std::int64_t list_of(Offset part) const {
    std::int64_t low = 0, high = count;
    while (high - low > 1) {
      const auto middle = low + (high - low) / 2;
      if (first_part[middle] <= part) low = middle;
      else high = middle;
    }
    return low;
  }
  constexpr std::int64_t number_of(Index vertex) const {
    std::int64_t low = 0, high = count;
    while (high - low > 1) {
      const auto middle = low + (high - low) / 2;
      if (vertices[middle] <= vertex) low = middle;
      else high = middle;
    }
    return low;
  }
  constexpr std::int64_t begin(std::int64_t list) const {
    return before + first_part[list] + words[first_part[list]];
  }
  constexpr std::int64_t place(std::int64_t list, Offset part) const {
    return before + first_part[list + 1] + words[part];
  }
};

/// Each list's head, with its own bits in place of those before it.
struct SizeLists {
  RowPiece piece;
  PackedCode code;
  std::uint32_t* heads;
  std::uint8_t* info;  // table and faults
  constexpr void operator()(std::int64_t i) const {
    if (piece.is_long(i)) {
      heads[i] = kInPieces << kAtBits | std::uint32_t(kLongBits);
      info[i] = 0;
      return;
    }
    const auto size = size_of_part(code, piece.whole(i), piece.cols);
    heads[i] = std::uint32_t(piece.size(i)) << kAtBits | (std::uint32_t(size.bits) & kAtMask);
    info[i] = std::uint8_t(unsigned(size.table) | size.faults << 3);
  }
};

/// The bits before each list of a group, and the words of the group.
struct PlaceLists {
  std::int64_t vertices, groups;
  std::uint32_t* heads;
  const std::uint8_t* info;
  Offset* words;  // groups + 1
  constexpr void operator()(std::int64_t g) const {
    std::uint32_t at = 0;
    unsigned faults = 0;
    const auto last = std::min(vertices, (g + 1) * kPackedGroup);
    for (auto i = g * kPackedGroup; i < last; ++i) {
      const auto bits = heads[i] & kAtMask;
      heads[i] = (heads[i] & ~kAtMask) | at;
      at += bits;
      faults |= info[i] >> 3;
    }
    words[g] = g == groups ? 0 : (at + 31) / 32 + (faults ? kFault : 0);
  }
};

/// The same for parts of long lists.
struct SizeLong {
  RowPiece piece;
  PackedCode code;
  LongLists longs;
  constexpr void operator()(std::int64_t t) const {
    if (t == longs.parts) return void(longs.words[t] = 0);
    const auto list = longs.list_of(t);
    const auto size =
        size_of_part(code, piece.part(longs.vertices[list], t - longs.first_part[list]), piece.cols);
    longs.table[t] = std::uint8_t(size.table);
    longs.words[t] = (size.bits + 31) / 32 + (size.faults ? kFault : 0);
  }
};

/// The lists of a piece; `words` begins with the first group's. What lies in a list's first and last word goes to `edges`, as these
/// words may have bits of other lists.
struct WriteLists {
  RowPiece piece;
  PackedCode code;
  LongLists longs;
  const std::uint32_t* heads;
  const std::uint8_t* info;
  const Offset* before;  // words of the groups before each
  std::uint32_t* words;
  std::uint32_t* edges;  // two for each vertex
  constexpr void operator()(std::int64_t i) const {
    const auto size = piece.size(i);
    if (size == 0) return;
    PartWriter out(words + before[i / kPackedGroup], std::int64_t(heads[i] & kAtMask));
    if (piece.is_long(i)) {
      const auto at = std::uint64_t(longs.begin(longs.number_of(Index(i))));
      out.put(std::uint32_t(size), 32);
      out.put(std::uint32_t(at), 32);
      out.put(std::uint32_t(at >> 32), 32);
    } else {
      write_part(code, piece.whole(i), info[i] & (kPackedTables - 1), out);
    }
    edges[2 * i] = out.first(), edges[2 * i + 1] = out.last();
  }
};

/// The words of a group in which lists begin or end, and its base.
struct WriteEdges {
  std::int64_t vertices;
  const std::uint32_t* heads;
  const std::uint32_t* edges;
  const Offset* before;
  std::uint32_t* words;
  std::uint64_t* bases;
  std::int64_t words_before;  // of earlier pieces
  constexpr void operator()(std::int64_t g) const {
    bases[g] = std::uint64_t(words_before + before[g]);
    auto* const out = words + before[g];
    const auto ends = before[g + 1] - before[g];
    std::int64_t word = 0;
    std::uint32_t bits = 0;
    const auto last = std::min(vertices, (g + 1) * kPackedGroup);
    for (auto i = g * kPackedGroup; i < last; ++i) {
      if (heads[i] >> kAtBits == 0) continue;
      const auto begin = std::int64_t(heads[i] & kAtMask) / 32;
      const auto end = i + 1 < last ? (std::int64_t(heads[i + 1] & kAtMask) - 1) / 32 : ends - 1;
      if (begin != word) out[word] = bits, bits = 0;
      bits |= edges[2 * i];
      word = begin;
      if (end == begin) continue;
      out[word] = bits;
      word = end, bits = edges[2 * i + 1];
    }
    if (ends > 0) out[word] = bits;
  }
};

/// The parts of long lists, each of which begins at a word, and their directories.
struct WriteLong {
  RowPiece piece;
  PackedCode code;
  LongLists longs;
  std::uint32_t* words;  // of long lists, from the first of the graph on
  constexpr void operator()(std::int64_t t) const {
    const auto list = longs.list_of(t);
    const auto number = t - longs.first_part[list];
    const auto begin = longs.begin(list), at = longs.place(list, t);
    words[begin + number] = std::uint32_t(at - begin);
    PartWriter out(words + at, 0);
    write_part(code, piece.part(longs.vertices[list], number), longs.table[t], out);
    words[at] = out.first();
    if (out.last_word() != words + at) *out.last_word() = out.last();
  }
};

/// Long lists come first.
struct AddToBases {
  std::uint64_t* bases;
  std::uint64_t words;
  constexpr void operator()(std::int64_t g) const { bases[g] += words; }
};

}  // namespace penstock

#define PENSTOCK_FOR_EACH_PACKED_STEP(X) \
  X(SizeLists) X(PlaceLists) X(SizeLong) X(WriteLists) X(WriteEdges) X(WriteLong) X(AddToBases)
