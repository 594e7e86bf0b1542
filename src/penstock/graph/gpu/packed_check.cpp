// Checks packed lists that come from elsewhere: after it, whoever follows heads, pieces and gaps stays within the words, and meets
// vertices of the graph alone. Every list is decoded once, and each step is looked at before it is taken.
#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/gpu/packed_lists.hpp"

namespace penstock {
namespace {

constexpr int kWidest = 31;                 // bits of a gap
constexpr std::int64_t kGroupsAtOnce = 64;  // groups that a thread takes at once
constexpr std::int64_t kSound = std::numeric_limits<std::int64_t>::max();

std::string shown(std::int64_t n) { return std::to_string(n); }

class Checker {
 public:
  explicit Checker(const PackedLists& lists) : p_(lists.view()) {}

  /// Adds up the lengths of a group's lists, and names the first vertex whose list is broken.
  void group(std::int64_t which, std::int64_t& edges, std::int64_t& bad) const {
    const auto last = std::min<std::int64_t>(p_.vertices, (which + 1) * kPackedGroup);
    const auto end = 32 * std::int64_t(p_.bases[which + 1]);
    for (auto v = which * kPackedGroup; v < last; ++v) {
      const auto size = list(Index(v), end);
      if (size < 0) return void(bad = std::min(bad, v));
      edges += size;
    }
  }

 private:
  /// The length of a list, or -1 if it is broken. Those of this group end before bit `end`.
  std::int64_t list(Index v, std::int64_t end) const {
    const std::int64_t degree = p_.heads[v] >> kAtBits;
    const auto at = packed_place(p_, v);
    if (degree != kInPieces) return degree == 0 || piece(at, end, v, int(degree)) ? degree : -1;
    if (at + kLongBits > end) return -1;
    const std::int64_t size = bits_at(p_.near, at, 32);
    const auto directory = std::uint64_t(bits_at(p_.near, at + 64, 32)) << 32 | bits_at(p_.near, at + 32, 32);
    const auto longs = p_.bases[0];  // these lists end before the first group
    const auto pieces = std::uint64_t(size + kPackedPiece - 1) / kPackedPiece;
    if (size <= kPackedWhole || directory > longs || pieces > longs - directory) return -1;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const auto from = directory + p_.near[directory + i];
      const auto count = std::min<std::int64_t>(kPackedPiece, size - std::int64_t(i) * kPackedPiece);
      if (from >= longs || !piece(32 * std::int64_t(from), 32 * std::int64_t(longs), v, int(count)))
        return -1;
    }
    return size;
  }

  bool piece(std::int64_t at, std::int64_t end, Index v, int count) const {
    const auto* const words = p_.near;
    const int head = p_.table_bits + 5;
    if (at + head > end) return false;
    const int width = first_width(bits_at(words, at, head) >> p_.table_bits);
    if (at + head + width > end) return false;
    const auto start = packed_start(p_, words, at, v);
    at = start.at;
    auto column = std::int64_t(start.first);
    if (column >= p_.vertices) return false;
    for (int done = 1, gaps = 0; done < count; done += gaps) {
      gaps = std::min(kPackedChunk - (done == 1), count - done);
      if (at + 2 * gaps > end) return false;
      const auto chunk = packed_chunk(words, at, gaps);
      at = chunk_end(chunk, start.table, CountOnes{});
      if (at > end) return false;
      for (int i = 0; i < gaps; ++i)
        column += std::int64_t(packed_gap(words, chunk, start.table, i, CountOnes{})) + p_.step;
      if (column >= p_.vertices) return false;  // gaps are not negative: the last one is the largest
    }
    return true;
  }

  PackedListsView p_;
};

void refuse_lists(const std::string& why) { throw Error(Errc::invalid_argument, "packed lists: " + why); }

}  // namespace

void check_sizes(const PackedLists& p) {
  const auto groups = (p.vertices + kPackedGroup - 1) / kPackedGroup;
  if (p.vertices < 0 || p.vertices > std::numeric_limits<Index>::max())
    refuse_lists(shown(p.vertices) + " vertices are none, or over 2^31 - 1");
  if (p.heads.size != p.vertices || p.bases.size != groups + 1)
    refuse_lists(shown(p.heads.size) + " heads and " + shown(p.bases.size) + " bases are not of " +
                 shown(p.vertices) + " vertices");
  if (p.words.size < kPackedPad || p.bases.data[groups] != std::uint64_t(p.words.size - kPackedPad))
    refuse_lists(shown(p.words.size) + " words, and the last base says " +
                 shown(std::int64_t(p.bases.data[groups])) + " and " + shown(kPackedPad) + " more");
  if (p.table_bits < 0 || 1 << p.table_bits > kPackedTables)
    refuse_lists(shown(p.table_bits) + " bits of a table");
  for (const auto table : p.tables)
    for (unsigned i = 0; i < 4; ++i)
      if (table_width(table, i) > kWidest)
        refuse_lists("a table has the width " + shown(table_width(table, i)));
}

void check_packed(const PackedLists& p) {
  check_sizes(p);
  const auto groups = p.bases.size - 1;
  const auto bases = p.bases.span();
  if (!std::is_sorted(bases.begin(), bases.end())) refuse_lists("the bases descend");
  const auto ends = p.long_ends.span();
  if (!std::is_sorted(ends.begin(), ends.end()) || (!ends.empty() && ends.front() < 0) ||
      (ends.empty() ? 0 : std::uint64_t(ends.back())) != bases[0])
    refuse_lists("the ends of long lists do not lead to the first base");
  const Checker check(p);
  std::atomic<std::int64_t> edges = 0, bad = kSound;
  parallel_ranges(groups, kGroupsAtOnce, [&](std::int64_t first, std::int64_t last) {
    std::int64_t own = 0, broken = kSound;
    for (auto g = first; g < last && broken == kSound; ++g) check.group(g, own, broken);
    edges += own;
    auto held = bad.load();
    while (broken < held && !bad.compare_exchange_weak(held, broken)) {}
    poll_interrupt();
  });
  if (bad != kSound) refuse_lists("that of vertex " + shown(bad) + " is broken");
  if (edges != p.edges)
    refuse_lists("they have " + shown(edges) + " entries, and the graph has " + shown(p.edges) + " edges");
}

void check_lists_of(const PackedLists& p, const CsrView<One>& graph, std::int64_t stride) {
  if (p.vertices != graph.rows || graph.rows != graph.cols || p.edges != graph.nnz())
    refuse_lists("they are of " + shown(p.vertices) + " vertices and " + shown(p.edges) +
                 " edges, and the matrix is " + shown(graph.rows) + " x " + shown(graph.cols) + " with " +
                 shown(graph.nnz()));
  const auto view = p.view();
  std::atomic<std::int64_t> bad = kSound;
  parallel_ranges((graph.rows + stride - 1) / stride, 4096, [&](std::int64_t first, std::int64_t last) {
    std::vector<Index> row;
    for (auto i = first; i < last; ++i) {
      const auto v = i * stride;
      const auto from = graph.indptr[v], to = graph.indptr[v + 1];
      bool same = 0 <= from && from <= to && to <= graph.nnz() && packed_degree(view, Index(v)) == to - from;
      if (same) {
        row.assign(graph.indices + from, graph.indices + to);
        std::sort(row.begin(), row.end());
        std::size_t at = 0;
        each_packed(view, Index(v), [&](Index u) { return row[at++] != u ? (same = false, true) : false; });
      }
      if (same) continue;
      auto held = bad.load();
      while (v < held && !bad.compare_exchange_weak(held, v)) {}
      break;
    }
    poll_interrupt();
  });
  if (bad != kSound)
    refuse_lists("that of vertex " + shown(bad) + " is not row " + shown(bad) + " of the matrix");
}

}  // namespace penstock
