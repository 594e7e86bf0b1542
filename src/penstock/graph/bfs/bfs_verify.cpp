// Checks a breadth-first search without searching: levels that satisfy these rules are the distances. The source, and no other
// vertex, has level 0. No edge leads from a reached vertex to an unreached one, or more than one level down. And every reached
// vertex except the source has an edge from a vertex one level up.
#include <algorithm>
#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/bfs/bfs.hpp"
#include "penstock/graph/bitmap.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kBfsRowsVerified = 4 << 10;

std::string level_of(std::span<const Index> levels, std::int64_t v) {
  return "vertex " + std::to_string(v) + " has level " + std::to_string(levels[static_cast<std::size_t>(v)]);
}

/// Marks in `below` the vertices that have an edge from one level up.
void check_edges(const CsrView<One>& a, std::span<const Index> levels, std::vector<graph::Word>& below) {
  const Index* to = a.indices - a.first_nnz;
  const Index* level = levels.data();
  parallel_ranges(a.rows, kBfsRowsVerified, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) {
      if (level[u] < 0) continue;
      for (auto k = a.indptr[u]; k < a.indptr[u + 1]; ++k) {
        const auto v = to[k];
        if (level[v] == level[u] + 1) graph::claim_bit<true>(below.data(), v);
        require(level[v] >= 0 && level[v] <= level[u] + 1, [&] {
          return "bfs: the edge " + std::to_string(u) + " -> " + std::to_string(v) + " leads from level " +
                 std::to_string(level[u]) + " to level " + std::to_string(level[v]);
        });
      }
    }
    poll_interrupt();
  });
}

void check_predecessor(const CsrView<One>& a, Index v, std::span<const Index> levels, Index p) {
  const auto level = levels[static_cast<std::size_t>(v)];
  const auto what = [&](std::string_view fault) {
    return "bfs: vertex " + std::to_string(v) + " has predecessor " + std::to_string(p) + ", " +
           std::string(fault);
  };
  if (level <= 0)
    return require(p == kNoPredecessor, [&] { return what("but it has level " + std::to_string(level)); });
  require(0 <= p && p < a.rows, [&] { return what("which is not a vertex"); });
  require(levels[static_cast<std::size_t>(p)] == level - 1,
          [&] { return what("which is not one level up"); });
}

/// Every edge p -> v that the predecessors claim is looked for from p's side, so each row is read once.
void check_tree(const CsrView<One>& a, std::span<const Index> levels, std::span<const Index> predecessors) {
  std::vector<graph::Word> confirmed(static_cast<std::size_t>(graph::words_of(a.rows)));
  parallel_ranges(a.rows, kBfsRowsVerified, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) {
      check_predecessor(a, static_cast<Index>(u), levels, predecessors[static_cast<std::size_t>(u)]);
      for (auto k = a.indptr[u]; k < a.indptr[u + 1]; ++k) {
        const auto v = a.indices[k - a.first_nnz];
        if (predecessors[static_cast<std::size_t>(v)] == u) graph::claim_bit<true>(confirmed.data(), v);
      }
    }
    poll_interrupt();
  });
  for (std::int64_t v = 0; v < a.rows; ++v)
    require(
        levels[static_cast<std::size_t>(v)] <= 0 || graph::test_bit(confirmed.data(), static_cast<Index>(v)),
        [&] {
          return "bfs: vertex " + std::to_string(v) + " has predecessor " +
                 std::to_string(predecessors[static_cast<std::size_t>(v)]) + ", but there is no such edge";
        });
}

}  // namespace

void bfs_verify(const CsrView<One>& out, Index source, std::span<const Index> levels,
                std::span<const Index> predecessors) {
  require(std::ssize(levels) == out.rows && out.rows == out.cols, "bfs: " + std::to_string(levels.size()) +
                                                                      " levels for a graph of " +
                                                                      std::to_string(out.rows) + " vertices");
  require(predecessors.empty() || std::ssize(predecessors) == out.rows,
          "bfs: " + std::to_string(predecessors.size()) + " predecessors for a graph of " +
              std::to_string(out.rows) + " vertices");
  require(0 <= source && source < out.rows, "bfs: source " + std::to_string(source) + " is not a vertex");
  require(levels[static_cast<std::size_t>(source)] == 0,
          "bfs: the source, " + level_of(levels, source) + ", not 0");
  std::vector<graph::Word> below(static_cast<std::size_t>(graph::words_of(out.rows)));
  check_edges(out, levels, below);
  for (std::int64_t v = 0; v < out.rows; ++v) {
    const auto level = levels[static_cast<std::size_t>(v)];
    require(level >= kUnreached, [&] { return "bfs: " + level_of(levels, v) + ": -1 is the least"; });
    require(level != 0 || v == source,
            [&] { return "bfs: " + level_of(levels, v) + " and is not the source"; });
    require(level <= 0 || graph::test_bit(below.data(), static_cast<Index>(v)), [&] {
      return "bfs: " + level_of(levels, v) + ", but there is no edge to it from the level above";
    });
  }
  if (!predecessors.empty()) check_tree(out, levels, predecessors);
}

}  // namespace penstock
