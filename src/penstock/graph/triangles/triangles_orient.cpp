// Orients the edges of a graph for the count of triangles. Every edge is kept at its end of larger number. Numbers are the
// vertices, or if degrees differ much, ranks from the highest degree down, so that no list of ends is longer than sqrt(2 m)
// (Chiba, Nishizeki 1985; Latapy 2008). Beamer, Asanovic, Patterson (2015) decide by a sample of the degrees. Here one pass
// counts the look-ups that the given numbers would take, and this count decides.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/triangles/triangles.hpp"
#include "penstock/kernel/structure/row_offsets.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kOrientedAtOnce = 16 << 10;
constexpr double kSkewed = 1.5;  // degrees differ much from so many times the look-ups of a regular graph on
// Look-ups for each edge; with fewer, renumbering costs more than it saves.
constexpr double kCheapLookups = 2;

const Index* row_of(const Csr<One>& a, std::int64_t v) { return a.indices.data + a.indptr.data[v]; }
Offset degree_of(const Csr<One>& a, std::int64_t v) { return a.indptr.data[v + 1] - a.indptr.data[v]; }

/// Look-ups that a count over the rows' parts below the diagonal would take, and vertices that have edges.
struct Measured {
  double lookups = 0;
  std::int64_t connected = 0;
};

/// Writes the lengths of these parts.
Measured measure(const Csr<One>& a, Index* length) {
  std::atomic<std::int64_t> connected = 0;
  std::vector<double> lookups(static_cast<std::size_t>((a.rows + kOrientedAtOnce - 1) / kOrientedAtOnce));
  parallel_ranges(a.rows, kOrientedAtOnce, [&](std::int64_t first, std::int64_t last) {
    // Rows up to this are compared without a branch, which could not be predicted.
    constexpr Offset kShort = 4;
    const auto last_whole = a.indptr.data[a.rows] - kShort;
    double sum = 0;
    std::int64_t some = 0;
    for (auto v = first; v < last; ++v) {
      const Index* row = row_of(a, v);
      const auto degree = degree_of(a, v);
      some += degree > 0;
      Offset below = 0;
      if (degree <= kShort && a.indptr.data[v] <= last_whole)
        for (Offset k = 0; k < kShort; ++k) below += (row[k] < v) & (k < degree);
      else below = std::lower_bound(row, row + degree, static_cast<Index>(v)) - row;
      length[v] = static_cast<Index>(below);
      sum += static_cast<double>(below) * static_cast<double>(degree - below);
    }
    lookups[static_cast<std::size_t>(first / kOrientedAtOnce)] = sum;
    connected += some;
  });
  return {std::accumulate(lookups.begin(), lookups.end(), 0.0), connected};
}

/// The vertices from the highest degree down, and by number if degrees are equal. It is a counting sort; the few vertices of
/// high degree are sorted by comparing.
Array<Index> by_degree(const Csr<One>& a) {
  constexpr Offset kKeys = 1 << 10;  // degrees of at least kKeys - 1 share key 0
  const auto key = [&](std::int64_t v) {
    return static_cast<std::size_t>(kKeys - 1 - std::min<Offset>(degree_of(a, v), kKeys - 1));
  };
  const auto block = std::max<std::int64_t>(kOrientedAtOnce, (a.rows + 63) / 64);
  const auto blocks = static_cast<std::size_t>((a.rows + block - 1) / block);
  std::vector<std::vector<Index>> at(blocks, std::vector<Index>(kKeys));
  parallel_ranges(a.rows, block, [&](std::int64_t first, std::int64_t last) {
    auto& mine = at[static_cast<std::size_t>(first / block)];
    for (auto v = first; v < last; ++v) ++mine[key(v)];
  });
  Index sum = 0, high = 0;
  for (std::size_t k = 0; k < kKeys; ++k) {
    for (auto& mine : at) sum += std::exchange(mine[k], sum);
    if (k == 0) high = sum;
  }
  const auto order = allocate<Index>(a.rows);
  parallel_ranges(a.rows, block, [&](std::int64_t first, std::int64_t last) {
    auto& mine = at[static_cast<std::size_t>(first / block)];
    for (auto v = first; v < last; ++v) order.data[mine[key(v)]++] = static_cast<Index>(v);
  });
  std::sort(order.data, order.data + high, [&](Index u, Index v) {
    const auto du = degree_of(a, u), dv = degree_of(a, v);
    return du != dv ? du > dv : u < v;
  });
  return order;
}

/// Orients the edges by the new numbers. Threads take ranges of rows with about equal work, and write each range to the next
/// free place, because the place of a list does not matter.
OrientedEdges renumbered(const Csr<One>& a) {
  const auto vertex = by_degree(a);
  const auto number = allocate<Index>(a.rows);
  parallel_ranges(a.rows, kOrientedAtOnce, [&](std::int64_t from, std::int64_t to) {
    for (auto u = from; u < to; ++u) number.data[vertex.data[u]] = static_cast<Index>(u);
  });
  const auto work = allocate<Offset>(a.rows + 1);
  parallel_ranges(a.rows, kOrientedAtOnce, [&](std::int64_t from, std::int64_t to) {
    for (auto u = from; u < to; ++u) work.data[u + 1] = degree_of(a, vertex.data[u]) + 1;
  });
  lengths_to_offsets(work);
  const auto first = allocate<Offset>(a.rows);
  const auto length = allocate<Index>(a.rows), ends = allocate<Index>(a.nnz() / 2);
  std::atomic<Offset> taken = 0;
  for_row_ranges(
      a.rows, [&](std::int64_t u) { return work.data[u]; },
      [&](std::int64_t from, std::int64_t to) {
        std::vector<Index> met(static_cast<std::size_t>(work.data[to] - work.data[from]));
        Offset count = 0;
        for (auto u = from; u < to; ++u) {
          const auto v = vertex.data[u];
          const Index* row = row_of(a, v);
          const auto degree = degree_of(a, v);
          if (u + 4 < to) __builtin_prefetch(row_of(a, vertex.data[u + 4]));
          first.data[u] = count;
          for (Offset k = 0; k < degree; ++k) {
            const auto end = number.data[row[k]];
            met[static_cast<std::size_t>(count)] = end;
            count += end < u;
          }
          length.data[u] = static_cast<Index>(count - first.data[u]);
        }
        const auto place = taken.fetch_add(count, std::memory_order_relaxed);
        std::copy_n(met.data(), count, ends.data + place);
        for (auto u = from; u < to; ++u) first.data[u] += place;
      });
  return {first, length, ends, vertex};
}

}  // namespace

void require_adjacency(const Csr<One>& a) {
  require(a.rows == a.cols, "triangles need a square adjacency matrix, this one is " +
                                std::to_string(a.rows) + " x " + std::to_string(a.cols));
}

bool worth_renumbering(Offset entries, double lookups, std::int64_t connected) {
  if (connected == 0 || lookups < kCheapLookups * static_cast<double>(entries)) return false;
  const auto half = static_cast<double>(entries) / 2;
  return lookups > kSkewed * half * half / static_cast<double>(connected);
}

OrientedEdges orient_edges(const Csr<One>& a) {
  require_adjacency(a);
  const auto length = allocate<Index>(a.rows);
  const auto [lookups, connected] = measure(a, length.data);
  if (worth_renumbering(a.nnz(), lookups, connected)) return renumbered(a);
  return {a.indptr, length, a.indices, {}};
}

}  // namespace penstock
