// Packs neighbour lists (packed_form.hpp) in three passes over the edges: counts of gaps by width, from which the tables are
// chosen; sizes of lists, whose sums say where each begins; the bits. A group of 64 vertices begins at a word, and so does a
// piece of a long list: no two threads write the same word, and the result does not depend on their number.
#include "penstock/graph/gpu/packed_lists.hpp"

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/format/bits.hpp"
#include "penstock/graph/gpu/packed_tables.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRange = 64;  // groups that a thread takes at once

int width_code(std::uint32_t first) { return std::min(31, int(std::bit_width(first))); }

class Packer {
 public:
  /// `stride`: looks at one group in so many alone, for an estimate.
  explicit Packer(const CsrView<One>& graph, std::int64_t stride = 1) : g_(graph), stride_(stride) {
    require(g_.rows == g_.cols, "pack_lists: a graph is a square matrix, not " + std::to_string(g_.rows) +
                                    " x " + std::to_string(g_.cols));
    out_.vertices = g_.rows, out_.edges = g_.count;
  }

  PackedLists run() {
    {
      const ScopedTimer timer(&out_.seconds);
      count();
      place();
      write();
    }
    return std::move(out_);
  }

  /// Bytes of all lists, by those of some groups, and of the heads.
  std::int64_t estimate() {
    count();
    std::atomic<std::int64_t> bits = 0, edges = 0;
    each_group([&](std::int64_t group, std::vector<Index>& scratch) {
      std::int64_t own = 0, entries = 0;
      each_list(group, scratch, [&](Index v, std::span<const Index> list) {
        each_piece(list, [&](std::span<const Index> piece) { own += bits_of_piece(v, piece); });
        entries += std::ssize(list);
      });
      bits += own, edges += entries;
    });
    const double each = edges > 0 ? double(bits) / 8 / double(edges) : 0;
    return std::int64_t(each * double(g_.count)) + 4 * (groups() + g_.rows) + 8 * groups();
  }

 private:
  std::int64_t groups() const { return (g_.rows + kPackedGroup - 1) / kPackedGroup; }

  /// f(group, scratch) for all groups, of threads with memory for a list of their own.
  template <class F>
  void each_group(F&& f) const {
    parallel_ranges(groups(), kRange, [&](std::int64_t first, std::int64_t last) {
      std::vector<Index> scratch;
      for (auto group = first; group < last; ++group)
        if (group % stride_ == 0) f(group, scratch);
      poll_interrupt();
    });
  }
  /// f(v, v's list in ascending order) for the vertices of a group.
  template <class F>
  void each_list(std::int64_t group, std::vector<Index>& scratch, F&& f) const {
    const auto last = std::min<std::int64_t>(g_.rows, (group + 1) * kPackedGroup);
    for (auto v = group * kPackedGroup; v < last; ++v) {
      if (g_.indptr[v] > g_.indptr[v + 1])
        refuse(v, "has offsets that descend: build the matrix with ps.csr_array");
      std::span<const Index> list(g_.indices + g_.indptr[v], std::size_t(g_.indptr[v + 1] - g_.indptr[v]));
      if (!std::is_sorted(list.begin(), list.end())) {
        scratch.assign(list.begin(), list.end());
        std::sort(scratch.begin(), scratch.end());
        list = scratch;
      }
      f(Index(v), list);
    }
  }
  template <class F>
  static void each_piece(std::span<const Index> list, F&& f) {
    for (std::size_t at = 0; at < list.size(); at += kPackedPiece)
      f(list.subspan(at, std::min<std::size_t>(kPackedPiece, list.size() - at)));
  }
  [[noreturn]] static void refuse(std::int64_t v, const std::string& why) {
    throw Error(Errc::invalid_argument, "pack_lists: row " + std::to_string(v) + " " + why);
  }
  void check_row(Index v, std::span<const Index> list) const {
    if (list.empty() || (list.front() >= 0 && list.back() < g_.cols)) return;
    refuse(v, "has a column outside the " + std::to_string(g_.cols) + " of the graph");
  }

  void count() {
    std::atomic<bool> repeats = false, unsorted = false;
    const auto look = [&](std::int64_t group, std::vector<Index>& scratch) {
      each_list(group, scratch, [&](Index v, std::span<const Index> list) {
        check_row(v, list);
        if (!list.empty() && list.data() == scratch.data()) unsorted.store(true, std::memory_order_relaxed);
        if (std::adjacent_find(list.begin(), list.end()) != list.end())
          repeats.store(true, std::memory_order_relaxed);
      });
    };
    each_group(look);
    out_.repeats = repeats, out_.sorted = !unsorted;
    step_ = out_.repeats ? 0 : 1;

    constexpr std::int64_t kShares = 64;
    std::vector<GapCounts> shares(kShares);
    parallel_for(kShares, [&](std::int64_t share) {
      std::vector<Index> scratch;
      auto& mine = shares[std::size_t(share)];
      for (auto group = groups() * share / kShares; group < groups() * (share + 1) / kShares; ++group)
        if (group % stride_ == 0)
          each_list(group, scratch, [&](Index, std::span<const Index> list) {
            each_piece(list, [&](std::span<const Index> piece) { add(piece, mine); });
          });
      poll_interrupt();
    });
    for (std::size_t i = 1; i < shares.size(); ++i) shares[0].add(shares[i]);
    tables_ = choose_tables(shares[0]);
    std::copy_n(tables_.tables, kPackedTables, out_.tables);
    out_.table_bits = tables_.table_bits;
    for (int t = 0; t < kPackedTables; ++t)
      for (int w = 0; w < kGapWidths; ++w) {
        auto which = 0u;
        while (which < 3 && table_width(out_.tables[t], which) < w) ++which;
        which_[t][w] = std::uint8_t(which);
        cost_[t][w] = std::uint8_t(2 + table_width(out_.tables[t], which));
      }
  }

  /// The gaps of a piece, and what they take.
  struct Gaps {
    int count = 0, level = 0;
    std::uint32_t gap[kPackedPiece];
    std::uint8_t bits[kPackedPiece];
  };
  void measure(std::span<const Index> piece, Gaps& out) const {
    out.count = std::max(0, int(piece.size()) - 1);
    for (int i = 0; i < out.count; ++i)
      out.gap[i] = std::uint32_t(piece[std::size_t(i) + 1]) - std::uint32_t(piece[std::size_t(i)]) - step_;
    std::int64_t sum = 0;
    for (int i = 0; i < out.count; ++i) {
      out.bits[i] = std::uint8_t(std::bit_width(out.gap[i]));
      sum += out.bits[i];
    }
    out.level = out.count == 0 ? 0 : int((2 * sum + out.count) / (2 * out.count));
  }
  void add(std::span<const Index> piece, GapCounts& counts) const {
    Gaps gaps;
    measure(piece, gaps);
    ++counts.lists[std::size_t(gaps.level)];
    auto* const row = counts.gaps.data() + gaps.level * kGapWidths;
    for (int i = 0; i < gaps.count; ++i) ++row[gaps.bits[i]];
  }

  std::int64_t bits_of_piece(Index v, std::span<const Index> piece) const {
    if (piece.empty()) return 0;
    Gaps gaps;
    measure(piece, gaps);
    const auto* const cost = cost_[tables_.table_of[gaps.level]];
    const int code = width_code(zigzag(std::int64_t(piece[0]) - v));
    std::int64_t bits = out_.table_bits + 5 + first_width(std::uint32_t(code));
    for (int i = 0; i < gaps.count; ++i) bits += cost[gaps.bits[i]];
    return bits;
  }
  static bool is_long(std::span<const Index> list) { return list.size() > kPackedWhole; }
  std::int64_t words_of_long(Index v, std::span<const Index> list) const {
    auto words = std::int64_t((list.size() + kPackedPiece - 1) / kPackedPiece);
    each_piece(list, [&](std::span<const Index> piece) { words += (bits_of_piece(v, piece) + 31) / 32; });
    return words;
  }

  /// Words of groups go to bases, those of long lists to a list of their own, by vertex.
  void place() {
    const auto n = groups();
    const auto bases = allocate<std::uint64_t>(n + 1);
    const auto heads = allocate<std::uint32_t>(g_.rows);
    long_first_.assign(std::size_t(n) + 1, 0);
    each_group([&](std::int64_t group, std::vector<Index>& scratch) {
      std::int64_t bits = 0, longs = 0;
      each_list(group, scratch, [&](Index v, std::span<const Index> list) {
        const auto degree = is_long(list) ? kInPieces : std::uint32_t(list.size());
        heads.data[v] = degree << kAtBits | std::uint32_t(bits);
        bits += is_long(list) ? kLongBits : bits_of_piece(v, list);
        longs += is_long(list);
      });
      bases.data[group] = std::uint64_t((bits + 31) / 32);
      long_first_[std::size_t(group) + 1] = longs;
    });
    for (std::size_t i = 1; i < long_first_.size(); ++i) long_first_[i] += long_first_[i - 1];
    const auto ends = allocate<std::int64_t>(long_first_.back());
    each_group([&](std::int64_t group, std::vector<Index>& scratch) {
      auto at = long_first_[std::size_t(group)];
      if (at == long_first_[std::size_t(group) + 1]) return;
      each_list(group, scratch, [&](Index v, std::span<const Index> list) {
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
  }

  void put_piece(Index v, std::span<const Index> piece, BitWriter& bits) const {
    if (piece.empty()) return;
    Gaps gaps;
    measure(piece, gaps);
    const int t = tables_.table_of[gaps.level];
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
    each_group([&](std::int64_t group, std::vector<Index>& scratch) {
      BitWriter bits(words.data + out_.bases.data[group]);
      auto number = long_first_[std::size_t(group)];
      each_list(group, scratch, [&](Index v, std::span<const Index> list) {
        if (!is_long(list)) return put_piece(v, list, bits);
        const auto at = number > 0 ? out_.long_ends.data[number - 1] : 0;
        ++number;
        put(bits, std::uint32_t(list.size()), 32);
        put(bits, std::uint32_t(at), 32);
        put(bits, std::uint32_t(std::uint64_t(at) >> 32), 32);
        auto* directory = words.data + at;
        auto* next = directory + (list.size() + kPackedPiece - 1) / kPackedPiece;
        auto* entry = directory;
        each_piece(list, [&](std::span<const Index> piece) {
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
  std::int64_t stride_ = 1;
  PackedLists out_;
  std::uint32_t step_ = 1;
  GapTables tables_;
  std::uint8_t which_[kPackedTables][kGapWidths] = {};  // of a table's widths, by a gap's bits
  std::uint8_t cost_[kPackedTables][kGapWidths] = {};   // the bits that a gap and its planes take
  std::vector<std::int64_t> long_first_;                // the long lists before each group
};

}  // namespace

PackedLists pack_lists(const CsrView<One>& graph) { return Packer(graph).run(); }

std::int64_t estimate_packed(const CsrView<One>& graph) {
  constexpr std::int64_t kSome = 4096;  // groups of 64 vertices
  return Packer(graph, std::max<std::int64_t>(1, graph.rows / kPackedGroup / kSome)).estimate();
}

PackedListsView PackedLists::view() const {
  PackedListsView out{.vertices = vertices,
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
