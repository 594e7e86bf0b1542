// Packs neighbour lists (packed_form.hpp) in two passes over the edges: sizes of lists, whose sums say where each begins; the bits. The
// tables are chosen before, by some of the lists (packed_sample_cpu.cpp). A group of 64 vertices begins at a word, and so does a
// piece of a long list: no two threads write the same word, and the result does not depend on their number.
#include "penstock/graph/gpu/packed_lists.hpp"

#include <atomic>
#include <span>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/format/bits.hpp"
#include "penstock/graph/gpu/packed_groups.hpp"
#include "penstock/graph/gpu/packed_tables.hpp"

namespace penstock {
namespace {

class Packer {
 public:
  Packer(const CsrView<One>& graph, std::int64_t first, std::int64_t count)
      : g_(graph), lists_(graph, first, count) {
    out_.vertices = count, out_.first = first, out_.edges = lists_.entries();
  }

  PackedLists run() {
    {
      const ScopedTimer timer(&out_.seconds);
      use(sample_lists(g_, lists_.first(), lists_.rows()));
      if (!place()) {
        use(sample_lists(g_, lists_.first(), lists_.rows(), true));
        place();
      }
      write();
    }
    return std::move(out_);
  }

 private:
  void use(const PackedSample& sample) {
    code_ = sample.code;
    out_.repeats = sample.repeats;
    std::copy_n(code_.tables, kPackedTables, out_.tables);
    out_.table_bits = code_.table_bits;
    for (int t = 0; t < kPackedTables; ++t)
      for (int w = 0; w < kGapWidths; ++w) {
        which_[t][w] = std::uint8_t(which_width(code_.tables[t], w));
        cost_[t][w] = std::uint8_t(2 + stored_width(code_.tables[t], w));
      }
  }
  std::int64_t groups() const { return lists_.count(); }
  int table_of(const PieceGaps& gaps) const { return table_for(code_, gaps.level, gaps.most); }

  std::int64_t bits_of_piece(Index v, std::span<const Index> piece) const {
    if (piece.empty()) return 0;
    PieceGaps gaps;
    gaps.measure(piece, code_.step);
    const auto* const cost = cost_[table_of(gaps)];
    const int code = width_code(zigzag(std::int64_t(piece[0]) - v));
    std::int64_t bits = out_.table_bits + 5 + first_width(std::uint32_t(code));
    for (int i = 0; i < gaps.count; ++i) bits += cost[gaps.bits[i]];
    return bits;
  }
  static bool is_long(std::span<const Index> list) { return list.size() > kPackedWhole; }
  std::int64_t words_of_long(Index v, std::span<const Index> list) const {
    auto words = std::int64_t((list.size() + kPackedPiece - 1) / kPackedPiece);
    ListGroups::each_piece(
        list, [&](std::span<const Index> piece) { words += (bits_of_piece(v, piece) + 31) / 32; });
    return words;
  }

  /// Words of groups go to bases, those of long lists to a list of their own, by vertex. Returns false if a list has a column twice
  /// and the gaps are stored as if none had.
  bool place() {
    const auto n = groups();
    const auto bases = allocate<std::uint64_t>(n + 1);
    const auto heads = allocate<std::uint32_t>(lists_.rows());
    std::atomic<bool> repeats = false, unsorted = false;
    long_first_.assign(std::size_t(n) + 1, 0);
    lists_.each([&](std::int64_t group, std::vector<Index>& scratch) {
      std::int64_t bits = 0, longs = 0;
      if (repeats.load(std::memory_order_relaxed)) return;
      lists_.each_list(group, scratch, [&](Index v, std::span<const Index> list) {
        if (!list.empty() && list.data() == scratch.data()) unsorted.store(true, std::memory_order_relaxed);
        if (code_.step == 1 && std::adjacent_find(list.begin(), list.end()) != list.end())
          return repeats.store(true, std::memory_order_relaxed);
        const auto degree = is_long(list) ? kInPieces : std::uint32_t(list.size());
        heads.data[v - lists_.first()] = degree << kAtBits | std::uint32_t(bits);
        bits += is_long(list) ? kLongBits : bits_of_piece(v, list);
        longs += is_long(list);
      });
      bases.data[group] = std::uint64_t((bits + 31) / 32);
      long_first_[std::size_t(group) + 1] = longs;
    });
    if (repeats) return false;
    out_.sorted = !unsorted;
    for (std::size_t i = 1; i < long_first_.size(); ++i) long_first_[i] += long_first_[i - 1];
    const auto ends = allocate<std::int64_t>(long_first_.back());
    lists_.each([&](std::int64_t group, std::vector<Index>& scratch) {
      auto at = long_first_[std::size_t(group)];
      if (at == long_first_[std::size_t(group) + 1]) return;
      lists_.each_list(group, scratch, [&](Index v, std::span<const Index> list) {
        if (is_long(list)) ends.data[at++] = words_of_long(v, list);
      });
    });
    std::int64_t word = 0;
    for (auto& end : ends.span()) end = word += end;
    for (std::int64_t group = 0; group <= n; ++group) {
      const auto words = group < n ? bases.data[group] : 0;
      bases.data[group] = std::uint64_t(word);
      word += std::int64_t(words);
    }
    out_.bases = bases, out_.heads = heads, out_.long_ends = ends;
    return true;
  }

  void put_piece(Index v, std::span<const Index> piece, BitWriter& bits) const {
    if (piece.empty()) return;
    PieceGaps gaps;
    gaps.measure(piece, code_.step);
    const int t = table_of(gaps);
    bits.put(std::uint32_t(t), out_.table_bits);
    const auto first = zigzag(std::int64_t(piece[0]) - v);
    const int code = width_code(first);
    bits.put(std::uint32_t(code), 5);
    put(bits, first, first_width(std::uint32_t(code)));
    for (int from = 0; from < gaps.count;) {
      const int to = std::min(gaps.count, from + kPackedChunk - (from == 0));
      std::uint32_t low = 0, high = 0;
      for (int i = from; i < to; ++i) {
        const std::uint32_t which = which_[t][gaps.bits[i]];
        low |= (which & 1) << (i - from), high |= (which >> 1) << (i - from);
      }
      put(bits, low, to - from);
      put(bits, high, to - from);
      for (int i = from; i < to; ++i) bits.put(gaps.gap[i], cost_[t][gaps.bits[i]] - 2);
      from = to;
    }
  }
  static void put(BitWriter& bits, std::uint32_t x, int width) {
    bits.put(x & 0xffffu, std::min(16, width));
    if (width > 16) bits.put(x >> 16, width - 16);
  }

  void write() {
    const auto total = std::int64_t(out_.bases.data[groups()]);
    const auto words = allocate<std::uint32_t>(total + kPackedPad);
    std::fill_n(words.data + total, kPackedPad, 0u);
    lists_.each([&](std::int64_t group, std::vector<Index>& scratch) {
      BitWriter bits(words.data + out_.bases.data[group]);
      auto number = long_first_[std::size_t(group)];
      lists_.each_list(group, scratch, [&](Index v, std::span<const Index> list) {
        if (!is_long(list)) return put_piece(v, list, bits);
        const auto at = number > 0 ? out_.long_ends.data[number - 1] : 0;
        ++number;
        put(bits, std::uint32_t(list.size()), 32);
        put(bits, std::uint32_t(at), 32);
        put(bits, std::uint32_t(std::uint64_t(at) >> 32), 32);
        auto* directory = words.data + at;
        auto* next = directory + (list.size() + kPackedPiece - 1) / kPackedPiece;
        auto* entry = directory;
        ListGroups::each_piece(list, [&](std::span<const Index> piece) {
          *entry++ = std::uint32_t(next - directory);
          BitWriter own(next);
          put_piece(v, piece, own);
          next = own.finish();
        });
      });
      bits.finish();
    });
    out_.words = words;
  }

  CsrView<One> g_;
  ListGroups lists_;
  PackedLists out_;
  PackedCode code_;
  std::uint8_t which_[kPackedTables][kGapWidths] = {};  // of a table's widths, by a gap's bits
  std::uint8_t cost_[kPackedTables][kGapWidths] = {};   // the bits that a gap and its planes take
  std::vector<std::int64_t> long_first_;                // the long lists before each group
};

}  // namespace

PackedLists pack_lists(const CsrView<One>& graph, std::int64_t first, std::int64_t count) {
  return Packer(graph, first, count < 0 ? graph.rows - first : count).run();
}

PackedListsView PackedLists::view() const {
  PackedListsView out{.vertices = vertices,
                      .first = std::uint32_t(first),
                      .bases = bases.data,
                      .heads = heads.data,
                      .near = words.data,
                      .far = words.data,
                      .near_words = words.size - kPackedPad,
                      .table_bits = table_bits,
                      .step = repeats ? 0u : 1u,
                      .length_bits = length_bits,
                      .length_least = length_least};
  std::copy_n(tables, kPackedTables, out.tables);
  return out;
}

std::int64_t PackedLists::prefix(std::int64_t room) const {
  const auto most = room / 4 - kPackedPad;
  const auto longest = [most](const auto& ends) -> std::int64_t {
    const auto span = ends.span();
    const auto at = std::upper_bound(span.begin(), span.end(), most,
                                     [](std::int64_t a, auto b) { return a < std::int64_t(b); });
    return at == span.begin() ? 0 : std::int64_t(at[-1]);
  };
  return std::max<std::int64_t>(0, std::max(longest(long_ends), longest(bases)));
}

void unpack_lists(const PackedLists& lists, Offset* offsets, Index* columns) {
  const auto view = lists.view();
  offsets[0] = 0;
  for (std::int64_t v = 0; v < lists.vertices; ++v)
    offsets[v + 1] = offsets[v] + packed_degree(view, Index(v));
  parallel_ranges(lists.vertices, 4096, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last; ++v) {
      auto* to = columns + offsets[v];
      each_packed(view, Index(v), [&](Index u) {
        *to++ = u;
        return false;
      });
    }
    poll_interrupt();
  });
}

}  // namespace penstock
