// R-MAT graphs (Chakrabarti, Zhan, Faloutsos 2004): each edge falls through `scale` levels of the adjacency
// matrix, into one of four quadrants with probabilities a, b, c, d at each.
//
// Six levels are drawn at once, from an alias table over their 4^6 cells: one random number and one look into
// the L1 cache instead of six of each. Edges are made twice, once to count and once to place them
// (format/assemble.hpp): making them again is cheaper than keeping them.
#include "penstock/io/generate_rmat.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/io/generate_check.hpp"
#include "penstock/io/random.hpp"

namespace penstock {
namespace {

constexpr int kLevels = 6;

/// A table over the cells that `levels` levels lead to; a cell's number is its row bits, then its column
/// bits.
AliasTable cell_table(const RmatOptions& o, int levels) {
  const double quadrant[] = {o.a, o.b, o.c, std::max(0.0, 1 - o.a - o.b - o.c)};
  std::vector<double> weights(std::size_t{1} << 2 * levels);
  for (std::size_t cell = 0; cell < weights.size(); ++cell) {
    weights[cell] = 1;
    for (int level = 0; level < levels; ++level)
      weights[cell] *= quadrant[(cell >> levels >> level & 1) << 1 | (cell >> level & 1)];
  }
  return AliasTable(weights);
}

struct RmatSource {
  RmatOptions options;
  std::int64_t edges;
  int full, rest;  // draws of kLevels levels, then one of `rest`
  AliasTable full_table, rest_table;
  Random random;
  Scramble scramble;

  RmatSource(const RmatOptions& o, std::int64_t edge_count)
      : options(o),
        edges(edge_count),
        full(o.scale / kLevels),
        rest(o.scale % kLevels),
        full_table(cell_table(o, full > 0 ? kLevels : 0)),
        rest_table(cell_table(o, rest)),
        random(o.seed, 1),
        scramble(o.seed, std::int64_t{1} << o.scale, o.scramble) {}

  std::int64_t units() const { return edges; }
  std::int64_t max_per_unit() const { return options.undirected ? 2 : 1; }

  template <class Emit>
  void visit(std::int64_t first, std::int64_t last, Emit&& emit) const {
    const auto draws = static_cast<std::uint64_t>(full + (rest > 0));
    for (auto e = first; e < last; ++e) {
      auto counter = static_cast<std::uint64_t>(e) * draws;
      std::int64_t row = 0, column = 0;
      const auto descend = [&](const AliasTable& table, int levels) {
        const auto cell = table(random(counter++));
        row = row << levels | cell >> levels;
        column = column << levels | (cell & ((std::int64_t{1} << levels) - 1));
      };
      for (int i = 0; i < full; ++i) descend(full_table, kLevels);
      if (rest > 0) descend(rest_table, rest);
      if (row == column && !options.self_loops) continue;
      row = scramble(row), column = scramble(column);
      emit(row, column, One{});
      if (options.undirected && row != column) emit(column, row, One{});
    }
  }
};

void check(const RmatOptions& o) {
  require_between("scale", o.scale, 1, 30, "2^30 vertices is the largest R-MAT with 32-bit columns");
  require_between("edge_factor", o.edge_factor, 0, 1 << 20, "it is the number of edges per vertex");
  for (const auto& [name, p] : {std::pair{"a", o.a}, {"b", o.b}, {"c", o.c}})
    require_between(name, p, 0, 1, "it is a probability");
  require(o.a + o.b + o.c <= 1 + 1e-12,
          "a + b + c = " + std::to_string(o.a + o.b + o.c) +
              " exceeds 1: the three and d, which is the rest, are probabilities");
}

}  // namespace

Csr<One> generate_rmat(const RmatOptions& options) {
  check(options);
  const auto vertices = std::int64_t{1} << options.scale;
  const auto edges = static_cast<std::int64_t>(options.edge_factor * static_cast<double>(vertices));
  require_memory("this R-MAT", vertices, edges * (options.undirected ? 2 : 1));
  return assemble<One>(vertices, vertices, RmatSource(options, edges));
}

}  // namespace penstock
