#pragma once
#include "penstock/graph/gpu/packed_encode.hpp"
#include "penstock/kernel/structure/entry_steps.hpp"

// The steps in which a device packs lists (pack_gpu.cpp), for a piece of the matrix: the lists of some whole groups of 64 vertices.
// Some lanes of a warp take a list of at most kPackedWhole entries, or a part of a longer one (each_part); a thread takes what 64
// vertices need. The words are 0 before bits are put into them.
namespace penstock {

namespace gpu {
template <class Step>
void each_part(std::int64_t n, const Step& step, Stream stream);
}  // namespace gpu

/// Calls step(i, lanes) for each i in [0, n), with all lanes of a list's.
template <class Step>
void each_part(std::int64_t n, const Step& step, Stream stream) {
  if (n == 0) return;
  if (!stream.where.is_gpu()) {
    static_assert(kStepsAtOnce % kPackedGroup == 0);  // threads share no word
    parallel_ranges(n, kStepsAtOnce, [&](std::int64_t i, std::int64_t last) {
      for (; i < last; ++i) step(i, OneLane{});
    });
  } else if constexpr (have_cuda) {
    gpu::each_part<Step>(n, step, stream);
  }
}

/// Added to a number of words if a list among them has a fault.
inline constexpr Offset kFault = Offset(1) << 40;
inline constexpr std::uint32_t kAtMask = (1u << kAtBits) - 1;

/// Lists of a range of vertices: their offsets as in the matrix, and the columns from entry `base` on.
struct ListRange {
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
  constexpr std::int64_t list_of(Offset part) const { return row_of_entry(first_part, count, part); }
  constexpr std::int64_t number_of(Index vertex) const { return row_of_entry(vertices, count, vertex); }
  constexpr std::int64_t begin(std::int64_t list) const {
    return before + first_part[list] + words[first_part[list]];
  }
  constexpr std::int64_t place(std::int64_t list, Offset part) const {
    return before + first_part[list + 1] + words[part];
  }
};

/// Lengths of lists, whose sums are their offsets; there is one of 0 behind the last.
struct WidenDegrees {
  const std::uint16_t* degrees;
  Offset* offsets;
  std::int64_t vertices;
  constexpr void operator()(std::int64_t i) const { offsets[i] = i < vertices ? degrees[i] : 0; }
};

/// Each list's head, with its own bits in place of those before it.
struct SizeLists {
  ListRange piece;
  PackedCode code;
  std::uint32_t* heads;
  std::uint8_t* info;  // table and fault
  template <class Lanes>
  constexpr void operator()(std::int64_t i, const Lanes& lanes) const {
    const bool apart = piece.is_long(i);
    const auto size =
        apart ? PartSize{.bits = kLongBits} : size_of_part(code, piece.whole(i), piece.cols, lanes);
    if (lanes.number() != 0) return;
    heads[i] =
        (apart ? kInPieces : std::uint32_t(piece.size(i))) << kAtBits | (std::uint32_t(size.bits) & kAtMask);
    info[i] = std::uint8_t(unsigned(size.table) | unsigned(size.fault) << 3);
  }
};

/// Words that lengths take in a group, or in a part of a long list: they are rounded by themselves.
constexpr Offset words_of_lengths(int bits, Offset entries) { return (bits * entries + 31) / 32; }

/// The bits before each list of a group, and the words of the group.
struct PlaceLists {
  std::int64_t vertices, groups;
  int length_bits;  // of each entry
  std::uint32_t* heads;
  const std::uint8_t* info;
  Offset* words;  // groups + 1
  constexpr void operator()(std::int64_t g) const {
    std::uint32_t at = 0, entries = 0;
    unsigned faults = 0;
    const auto last = std::min(vertices, (g + 1) * kPackedGroup);
    for (auto i = g * kPackedGroup; i < last; ++i) {
      const auto bits = heads[i] & kAtMask, degree = heads[i] >> kAtBits;
      heads[i] = (heads[i] & ~kAtMask) | (at + std::uint32_t(length_bits) * entries);
      at += bits;
      entries += degree == kInPieces ? 0 : degree;
      faults |= info[i] >> 3;
    }
    const auto both = (at + 31) / 32 + words_of_lengths(length_bits, entries);
    words[g] = g == groups ? 0 : both + (faults ? kFault : 0);
  }
};

/// The same for parts of long lists.
struct SizeLong {
  ListRange piece;
  PackedCode code;
  LongLists longs;
  int length_bits;
  template <class Lanes>
  constexpr void operator()(std::int64_t t, const Lanes& lanes) const {
    PartSize size;
    int entries = 0;
    if (t < longs.parts) {
      const auto list = longs.list_of(t);
      const auto part = piece.part(longs.vertices[list], t - longs.first_part[list]);
      size = size_of_part(code, part, piece.cols, lanes);
      entries = part.count;
    }
    if (lanes.number() != 0) return;
    longs.words[t] =
        (size.bits + 31) / 32 + words_of_lengths(length_bits, entries) + (size.fault ? kFault : 0);
    if (t < longs.parts) longs.table[t] = std::uint8_t(size.table);
  }
};

/// The lists of a piece; `words` begins with the first group's. `lengths` stand beside the columns of the piece.
template <class Lengths>
struct WriteLists {
  ListRange piece;
  PackedCode code;
  Lengths lengths;
  LongLists longs;
  const std::uint32_t* heads;
  const std::uint8_t* info;
  const Offset* before;  // words of the groups before each
  std::uint32_t* words;
  template <class Lanes>
  constexpr void operator()(std::int64_t i, const Lanes& lanes) const {
    const auto size = piece.size(i);
    if (size == 0) return;
    auto* const group = words + before[i / kPackedGroup];
    const auto bit = std::int64_t(heads[i] & kAtMask);
    if (!piece.is_long(i))
      return write_part(code, piece.whole(i), lengths.from(piece.offsets[i] - piece.base),
                        info[i] & (kPackedTables - 1), group, bit, lanes);
    if (lanes.number() != 0) return;
    const auto at = std::uint64_t(longs.begin(longs.number_of(Index(i))));
    BitsInto out(lanes, group, bit);
    out.put(std::uint32_t(size), 32);
    out.put(std::uint32_t(at), 32);
    out.put(std::uint32_t(at >> 32), 32);
    out.finish();
  }
};

/// The bases of groups; the words of earlier pieces come before.
struct PlaceGroups {
  const Offset* before;
  std::uint64_t* bases;
  std::int64_t words_before;
  constexpr void operator()(std::int64_t g) const { bases[g] = std::uint64_t(words_before + before[g]); }
};

/// The parts of long lists, each of which begins at a word, and their directories.
template <class Lengths>
struct WriteLong {
  ListRange piece;
  PackedCode code;
  Lengths lengths;
  LongLists longs;
  std::uint32_t* words;  // of long lists, from the first of the graph on
  template <class Lanes>
  constexpr void operator()(std::int64_t t, const Lanes& lanes) const {
    const auto list = longs.list_of(t);
    const auto number = t - longs.first_part[list];
    const auto begin = longs.begin(list), at = longs.place(list, t);
    if (lanes.number() == 0) words[begin + number] = std::uint32_t(at - begin);
    const auto vertex = longs.vertices[list];
    const auto entry = piece.offsets[vertex] - piece.base + number * kPackedPiece;
    write_part(code, piece.part(vertex, number), lengths.from(entry), longs.table[t], words + at, 0, lanes);
  }
};

/// Long lists come first.
struct AddToBases {
  std::uint64_t* bases;
  std::uint64_t words;
  constexpr void operator()(std::int64_t g) const { bases[g] += words; }
};

}  // namespace penstock

#define PENSTOCK_FOR_EACH_PACKED_STEP(X) X(WidenDegrees) X(PlaceLists) X(PlaceGroups) X(AddToBases)
#define PENSTOCK_FOR_EACH_PACKED_WRITE(X, L) X(WriteLists<L>) X(WriteLong<L>)
#define PENSTOCK_FOR_EACH_PACKED_PART(X)                        \
  X(SizeLists)                                                  \
  X(SizeLong)                                                   \
  PENSTOCK_FOR_EACH_PACKED_WRITE(X, NoLengths)                  \
  PENSTOCK_FOR_EACH_PACKED_WRITE(X, EdgeLengths<std::uint8_t>)  \
  PENSTOCK_FOR_EACH_PACKED_WRITE(X, EdgeLengths<std::uint16_t>) \
  PENSTOCK_FOR_EACH_PACKED_WRITE(X, EdgeLengths<std::uint32_t>)
