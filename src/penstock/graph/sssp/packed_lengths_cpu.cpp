// Puts lengths behind the gaps of each chunk of packed lists. What a list takes more is known from its number of entries, so that
// places are found without looking into lists; then each chunk is copied and its lengths are written behind it, by one thread for
// each group of 64 vertices. Whoever packed the lists, the lengths are put in here.
#include "penstock/graph/sssp/packed_lengths.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/format/bits.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kGroupsOfTask = 64;  // groups that a thread takes at once

std::string said(std::int64_t n) { return std::to_string(n); }

template <class N>
class LengthWriter {
 public:
  LengthWriter(const PackedLists& lists, const CsrView<One>& graph, const N* lengths, std::uint32_t least,
               int bits)
      : old_(lists), from_(lists.view()), g_(graph), lengths_(lengths), least_(least), bits_(bits) {}

  PackedLists run() {
    PackedLists out = old_;
    out.lengths = true, out.length_bits = bits_, out.length_least = least_;
    place(out);
    write(out);
    return out;
  }

 private:
  std::int64_t groups() const { return (g_.rows + kPackedGroup - 1) / kPackedGroup; }
  static Offset pieces_of(Offset size) { return (size + kPackedPiece - 1) / kPackedPiece; }
  std::int64_t words_more(Offset entries) const { return (bits_ * entries + 31) / 32; }
  bool in_pieces(std::int64_t v) const { return from_.heads[v] >> kAtBits == kInPieces; }

  template <class F>
  void each_group(F&& f) const {
    parallel_ranges(groups(), kGroupsOfTask, [&](std::int64_t first, std::int64_t last) {
      for (auto group = first; group < last; ++group)
        f(group, group * kPackedGroup, std::min<std::int64_t>(g_.rows, (group + 1) * kPackedGroup));
      poll_interrupt();
    });
  }

  /// The words that a cut list takes: its directory, and its pieces, each with room for its lengths.
  std::int64_t words_of_long(std::int64_t number, Offset size) const {
    auto words = old_.long_ends.data[number] - (number > 0 ? old_.long_ends.data[number - 1] : 0);
    for (Offset i = 0; i < pieces_of(size); ++i)
      words += words_more(std::min<Offset>(kPackedPiece, size - i * kPackedPiece));
    return words;
  }

  void place(PackedLists& out) {
    const auto n = groups();
    const auto bases = allocate<std::uint64_t>(n + 1);
    const auto heads = allocate<std::uint32_t>(g_.rows);
    long_first_.assign(std::size_t(n) + 1, 0);
    each_group([&](std::int64_t group, std::int64_t first, std::int64_t last) {
      Offset before = 0, longs = 0;  // entries, of lists that are not cut
      for (auto v = first; v < last; ++v) {
        const auto degree = packed_degree(from_, Index(v));
        if (g_.indptr[v + 1] - g_.indptr[v] != degree)
          throw Error(Errc::invalid_argument, "with_lengths: the packed list of vertex " + said(v) + " has " +
                                                  said(degree) + " entries, and its row " +
                                                  said(g_.indptr[v + 1] - g_.indptr[v]));
        heads.data[v] = from_.heads[v] + std::uint32_t(bits_ * before);
        in_pieces(v) ? ++longs : before += degree;
      }
      bases.data[group] = from_.bases[group + 1] - from_.bases[group] + std::uint64_t(words_more(before));
      long_first_[std::size_t(group) + 1] = longs;
    });
    std::partial_sum(long_first_.begin(), long_first_.end(), long_first_.begin());
    const auto ends = allocate<std::int64_t>(long_first_.back());
    each_group([&](std::int64_t group, std::int64_t first, std::int64_t last) {
      auto number = long_first_[std::size_t(group)];
      for (auto v = first; v < last && number < long_first_[std::size_t(group) + 1]; ++v)
        if (in_pieces(v)) {
          ends.data[number] = words_of_long(number, packed_degree(from_, Index(v)));
          ++number;
        }
    });
    std::partial_sum(ends.data, ends.data + ends.size, ends.data);
    auto word = std::uint64_t(ends.size > 0 ? ends.data[ends.size - 1] : 0);
    for (std::int64_t group = 0; group <= n; ++group) {
      const auto words = group < n ? bases.data[group] : 0;
      bases.data[group] = word;
      word += words;
    }
    out.bases = bases, out.heads = heads, out.long_ends = ends;
  }

  /// A row's lengths in the order in which its list is packed.
  const N* in_order(std::int64_t v, std::vector<N>& scratch, std::vector<Index>& order) const {
    const auto begin = g_.indptr[v], end = g_.indptr[v + 1];
    const auto* columns = g_.indices + begin;
    if (old_.sorted || std::is_sorted(columns, columns + (end - begin))) return lengths_ + begin;
    order.resize(std::size_t(end - begin));
    std::iota(order.begin(), order.end(), Index(0));
    std::stable_sort(order.begin(), order.end(), [=](Index a, Index b) { return columns[a] < columns[b]; });
    scratch.clear();
    for (const auto k : order) scratch.push_back(lengths_[begin + k]);
    return scratch.data();
  }

  /// Copies bits [at, end) of the lists.
  void copy(std::int64_t at, std::int64_t end, BitWriter& to) const {
    for (; at < end; at += 32) {
      const int width = int(std::min<std::int64_t>(32, end - at));
      to.put(bits_at(from_.near, at, width), width);
    }
  }
  /// Copies a list, or a piece of one, of `count` entries, with lengths behind each chunk.
  void put_piece(std::int64_t at, Index v, int count, const N* lengths, BitWriter& to) const {
    if (count == 0) return;
    const auto start = packed_start(from_, from_.near, at, v);
    copy(at, start.at, to);
    at = start.at;
    for (int done = 0; done < count; done += kPackedChunk) {
      const int entries = std::min(kPackedChunk, count - done);
      const auto chunk = packed_chunk(from_.near, at, entries - (done == 0));
      const auto end = chunk_end(chunk, start.table, CountOnes{});
      copy(at, end, to);
      for (int i = 0; i < entries; ++i) to.put(std::uint32_t(lengths[done + i]) - least_, bits_);
      at = end;
    }
  }

  void write(PackedLists& out) const {
    const auto total = std::int64_t(out.bases.data[groups()]);
    const auto words = allocate<std::uint32_t>(total + kPackedPad);
    std::fill_n(words.data + total, kPackedPad, 0u);
    each_group([&](std::int64_t group, std::int64_t first, std::int64_t last) {
      std::vector<N> scratch;
      std::vector<Index> order;
      BitWriter bits(words.data + out.bases.data[group]);
      auto number = long_first_[std::size_t(group)];
      for (auto v = first; v < last; ++v) {
        const auto list = packed_list(from_, Index(v));
        const N* lengths = in_order(v, scratch, order);
        if (!list.in_pieces) {
          put_piece(list.at, list.vertex, int(list.size()), lengths, bits);
          continue;
        }
        const auto at = number > 0 ? out.long_ends.data[number - 1] : 0;
        bits.put(std::uint32_t(list.size()), 32);
        bits.put(std::uint32_t(at), 32);
        bits.put(std::uint32_t(std::uint64_t(at) >> 32), 32);
        auto *const directory = words.data + at, *next = directory + pieces_of(list.size());
        for (Offset i = 0; i < pieces_of(list.size()); ++i) {
          directory[i] = std::uint32_t(next - directory);
          const auto count = int(std::min<Offset>(kPackedPiece, list.size() - i * kPackedPiece));
          BitWriter own(next);
          put_piece(piece_place(list, i), list.vertex, count, lengths + i * kPackedPiece, own);
          auto* const behind = next + words_of_piece(list, number, i) + words_more(count);
          std::fill(own.finish(), behind, 0u);
          next = behind;
        }
        ++number;
      }
      std::fill(bits.finish(), words.data + out.bases.data[group + 1], 0u);
    });
    out.words = words;
  }
  /// What a piece took before.
  std::int64_t words_of_piece(const PackedList& list, std::int64_t number, Offset i) const {
    const auto begin = piece_place(list, i) / 32;
    const bool last = i + 1 == pieces_of(list.size());
    return (last ? old_.long_ends.data[number] : piece_place(list, i + 1) / 32) - begin;
  }

  const PackedLists& old_;
  PackedListsView from_;
  CsrView<One> g_;
  const N* lengths_;
  std::uint32_t least_;
  int bits_;
  std::vector<std::int64_t> long_first_;  // the cut lists before each group
};

}  // namespace

int length_bits(std::uint32_t least, std::uint32_t largest) { return int(std::bit_width(largest - least)); }

template <class N>
PackedLists with_lengths(const PackedLists& lists, const CsrView<One>& graph, const N* lengths,
                         std::uint32_t least, std::uint32_t largest) {
  require(lists.vertices == graph.rows && graph.rows == graph.cols && lists.edges == graph.nnz(),
          "with_lengths: the packed lists are of " + said(lists.vertices) + " vertices and " +
              said(lists.edges) + " edges, and the matrix is " + said(graph.rows) + " x " + said(graph.cols) +
              " with " + said(graph.nnz()));
  require(!lists.lengths, "with_lengths: the lists have lengths already");
  require(least <= largest && length_bits(least, largest) <= kLengthBits,
          "with_lengths: lengths of " + said(least) + " to " + said(largest) + " take " +
              said(length_bits(least, largest)) + " bits each, and packed lists have room for " +
              said(kLengthBits));
  const int bits = length_bits(least, largest);
  if (bits == 0) {
    PackedLists out = lists;
    out.lengths = true, out.length_least = least, out.seconds = 0;
    return out;
  }
  double seconds = 0;
  PackedLists out;
  {
    const ScopedTimer timer(&seconds);
    out = LengthWriter<N>(lists, graph, lengths, least, bits).run();
  }
  out.seconds = seconds;
  return out;
}

#define X(N)                                                                                          \
  template PackedLists with_lengths(const PackedLists&, const CsrView<One>&, const N*, std::uint32_t, \
                                    std::uint32_t);
X(std::uint8_t)
X(std::uint16_t)
X(std::uint32_t)
#undef X

}  // namespace penstock
