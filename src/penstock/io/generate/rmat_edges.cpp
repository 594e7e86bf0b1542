#include "penstock/io/generate/rmat_edges.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/io/generate/generate_check.hpp"

namespace penstock {
namespace {

const RmatOptions& checked(const RmatOptions& o) {
  require_between("scale", o.scale, 1, o.most_scale,
                  o.most_scale == 30
                      ? "2^30 vertices is the largest R-MAT with 32-bit columns; give a larger one to "
                        "ps.dist.csr_array as functools.partial(ps.generate.rmat, scale)"
                      : "take a smaller scale: ranks draw at most 2^60 vertices");
  require_between("edge_factor", o.edge_factor, 0, 1 << 20, "it is the number of edges per vertex");
  require(std::ldexp(o.edge_factor, o.scale) < 0x1p60, "edge_factor = " + std::to_string(o.edge_factor) +
                                                           " edges for each of 2^" + std::to_string(o.scale) +
                                                           " vertices are more than 2^60");
  for (const auto& [name, p] : {std::pair{"a", o.a}, {"b", o.b}, {"c", o.c}})
    require_between(name, p, 0, 1, "it is a probability");
  require(o.a + o.b + o.c <= 1 + 1e-12,
          "a + b + c = " + std::to_string(o.a + o.b + o.c) +
              " exceeds 1: the three and d, which is the rest, are probabilities");
  return o;
}

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

}  // namespace

RmatTables::RmatTables(const RmatOptions& o)
    : full(cell_table(checked(o), o.scale >= RmatEdges::kLevels ? RmatEdges::kLevels : 0)),
      rest(cell_table(o, o.scale % RmatEdges::kLevels)) {}

RmatEdges::RmatEdges(const RmatOptions& o, const RmatTables& tables)
    : edges_(static_cast<std::int64_t>(checked(o).edge_factor *
                                       static_cast<double>(std::int64_t{1} << o.scale))),
      full_(o.scale / kLevels),
      rest_(o.scale % kLevels),
      undirected_(o.undirected),
      self_loops_(o.self_loops),
      full_table_(tables.full.view()),
      rest_table_(tables.rest.view()),
      random_(o.seed, 1),
      scramble_(o.seed, std::int64_t{1} << o.scale, o.scramble) {}

}  // namespace penstock
