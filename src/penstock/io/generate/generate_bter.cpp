// BTER, the block two-level Erdos-Renyi graph (Kolda, Pinar, Plantenga, Seshadhri 2014, "A scalable
// generative graph model with community structure", SIAM J. Sci. Comput. 36(5)).
//
// Vertices stand in ascending order of degree and are cut into affinity blocks: one that starts with degree d
// holds d + 1 vertices. Phase 1 joins each pair within a block with probability rho = cbrt(c(d)), which gives
// its vertices a clustering of about c(d). Phase 2 is Chung-Lu: what a vertex still lacks, d - rho (size -
// 1), is its weight, and both ends of an edge are drawn by weight.
//
// Phase 1 tests every pair of every block with its own random number: exact, without duplicates, and about as
// many tests as the graph has edges, since d + 1 vertices of degree d have (d + 1) d / 2 pairs. Phase 2 draws
// a class of vertices of one weight from an alias table, then a vertex of the class.
#include "penstock/io/generate/generate_bter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/io/generate/generate_check.hpp"
#include "penstock/io/random.hpp"

namespace penstock {
namespace {

/// `blocks` blocks of `size` vertices each, side by side from vertex `first`, joined with one probability.
struct Group {
  std::int64_t first, size, blocks;
  std::uint64_t join;
  std::int64_t first_pair;
  std::int64_t pairs_per_block() const { return size * (size - 1) / 2; }
};

/// Consecutive vertices that lack the same number of edges after phase 1.
struct Class {
  std::int64_t first, count;
  double lack;
};

struct Layout {
  std::vector<Group> groups;
  std::vector<Class> classes;
  std::int64_t pairs = 0;
  double lack = 0;

  void add_group(std::int64_t first, std::int64_t size, std::int64_t blocks, double rho) {
    groups.push_back({first, size, blocks, threshold(rho), pairs});
    pairs += groups.back().pairs_per_block() * blocks;
  }
  void add_class(std::int64_t first, std::int64_t count, double degree, double inner) {
    if (count == 0 || degree <= inner) return;
    classes.push_back({first, count, degree - inner});
    lack += classes.back().lack * static_cast<double>(count);
  }
};

Layout lay_out(std::span<const std::int64_t> degrees, std::span<const double> clustering) {
  Layout layout;
  std::int64_t vertex = 0, left = 0;  // left: vertices of degree >= 2 not yet laid out
  for (std::size_t d = 2; d < degrees.size(); ++d) left += degrees[d];
  std::int64_t open = 0;  // places in the last block, for vertices of higher degrees
  double inner = 0;       // the expected degree within that block
  for (std::size_t d = 2; d < degrees.size(); ++d) {
    const auto degree = static_cast<double>(d);
    auto have = degrees[d];
    const auto take = [&](std::int64_t count) {
      layout.add_class(vertex, count, degree, inner);
      vertex += count, have -= count, left -= count;
    };
    const auto filling = std::min(open, have);
    open -= filling;
    take(filling);
    if (have == 0) continue;
    const auto rho = std::cbrt(clustering[d]);
    const auto size = static_cast<std::int64_t>(d) + 1;
    const auto blocks = std::min((have + size - 1) / size, left / size);  // blocks that are full
    if (blocks > 0) {
      layout.add_group(vertex, size, blocks, rho);
      inner = rho * static_cast<double>(size - 1);
      open = std::max<std::int64_t>(0, blocks * size - have);
      take(std::min(have, blocks * size));
    }
    if (have == 0) continue;
    layout.add_group(vertex, left, 1, rho);  // the last block: fewer vertices than it should hold
    inner = rho * static_cast<double>(left - 1);
    open = left - have;
    take(have);
  }
  if (degrees.size() > 1) layout.add_class(vertex, degrees[1], 1, 0);
  return layout;
}

std::vector<double> class_weights(const Layout& layout) {
  std::vector<double> weights;
  for (const auto& c : layout.classes) weights.push_back(c.lack * static_cast<double>(c.count));
  return weights;
}

struct BterSource {
  const Layout& layout;
  AliasTable classes;
  std::int64_t drawn;  // edges of phase 2
  Random join, draw;
  Scramble scramble;

  BterSource(const Layout& l, std::int64_t vertices, const BterOptions& o)
      : layout(l),
        classes(class_weights(l)),
        drawn(std::llround(l.lack / 2)),
        join(o.seed, 4),
        draw(o.seed, 5),
        scramble(o.seed, vertices, o.scramble) {}

  std::int64_t units() const { return layout.pairs + drawn; }
  std::int64_t max_per_unit() const { return 2; }

  template <class Emit>
  void visit(std::int64_t first, std::int64_t last, Emit&& emit) const {
    const auto edge = [&](std::int64_t i, std::int64_t j) {
      if (i == j) return;
      i = scramble(i), j = scramble(j);
      emit(i, j, One{});
      emit(j, i, One{});
    };
    if (first < layout.pairs) visit_pairs(first, std::min(last, layout.pairs), edge);
    for (auto unit = std::max(first, layout.pairs); unit < last; ++unit) {
      const auto counter = static_cast<std::uint64_t>(unit - layout.pairs) * 4;
      edge(pick(counter), pick(counter + 2));
    }
  }

 private:
  std::int64_t pick(std::uint64_t counter) const {
    const auto& c = layout.classes[static_cast<std::size_t>(classes(draw(counter)))];
    return c.first + below(draw(counter + 1), c.count);
  }

  /// Visits pairs i < j of all blocks, which are numbered in one sequence: j ascends slowly, i fast.
  template <class Edge>
  void visit_pairs(std::int64_t pair, std::int64_t last, const Edge& edge) const {
    auto group = std::upper_bound(layout.groups.begin(), layout.groups.end(), pair,
                                  [](std::int64_t p, const Group& g) { return p < g.first_pair; }) -
                 1;
    for (; pair < last; ++group) {
      const auto per_block = group->pairs_per_block();
      if (per_block == 0) continue;
      auto block = (pair - group->first_pair) / per_block;
      const auto within = (pair - group->first_pair) % per_block;
      auto j = static_cast<std::int64_t>((1 + std::sqrt(1 + 8 * static_cast<double>(within))) / 2);
      while (j * (j - 1) / 2 > within) --j;
      while ((j + 1) * j / 2 <= within) ++j;
      auto i = within - j * (j - 1) / 2;
      for (; block < group->blocks && pair < last; ++block) {
        const auto base = group->first + block * group->size;
        for (; j < group->size && pair < last; ++j) {
          for (; i < j && pair < last; ++i, ++pair)
            if (join(static_cast<std::uint64_t>(pair)) < group->join) edge(base + i, base + j);
          if (i < j) return;
          i = 0;
        }
        j = 1;
      }
    }
  }
};

}  // namespace

Csr<One> generate_bter(std::span<const std::int64_t> degrees, std::span<const double> clustering,
                       const BterOptions& options) {
  std::int64_t vertices = 0;
  double ends = 0;
  for (std::size_t d = 0; d < degrees.size(); ++d) {
    require(degrees[d] >= 0, "degrees[" + std::to_string(d) + "] = " + std::to_string(degrees[d]) +
                                 " is negative: it counts the vertices of degree " + std::to_string(d));
    vertices += degrees[d];
    ends += static_cast<double>(d) * static_cast<double>(degrees[d]);
  }
  require_extent("the number of vertices", vertices);
  require(clustering.size() == degrees.size(), "clustering has " + std::to_string(clustering.size()) +
                                                   " entries and degrees " + std::to_string(degrees.size()) +
                                                   ": both are indexed by degree and must match");
  for (std::size_t d = 0; d < degrees.size(); ++d) {
    require_between("clustering[" + std::to_string(d) + "]", clustering[d], 0, 1,
                    "it is a share of closed wedges");
    require(degrees[d] == 0 || static_cast<std::int64_t>(d) < vertices,
            "degree " + std::to_string(d) + " in a graph of " + std::to_string(vertices) +
                " vertices: a vertex has at most all others as neighbours");
  }
  require_memory("this graph", vertices, static_cast<std::int64_t>(ends));
  const auto layout = lay_out(degrees, clustering);
  return assemble<One>(vertices, vertices, BterSource(layout, vertices, options));
}

}  // namespace penstock
