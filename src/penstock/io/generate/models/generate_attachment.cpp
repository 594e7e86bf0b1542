// Preferential attachment (Barabasi and Albert 1999): a vertex's neighbours are drawn from the ends of all edges so far, which
// is a draw by degree (Batagelj and Brandes 2005), until m different ones are found.
//
// Each vertex sees the graph of those before it, so one thread draws. A draw is a look into a table of 4 bytes an edge; all else
// is shared out.
#include <algorithm>
#include <string>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/io/generate/generate_check.hpp"
#include "penstock/io/generate/models/generate_models.hpp"
#include "penstock/io/generate/models/mirrored.hpp"
#include "penstock/io/random.hpp"

namespace penstock {

Csr<One> generate_attachment(std::int64_t n, std::int64_t m, std::uint64_t seed) {
  require_extent("n", n);
  require(m >= 1 && m < n, "m = " + std::to_string(m) + " is not between 1 and n - 1 = " +
                               std::to_string(n - 1) + ": each new vertex joins m of those before it");
  const auto edges = m + (n - m - 1) * m;
  require_memory("this graph", n, 2 * edges + edges / 2);
  // The higher end of edge e: the first m edges are a star around vertex 0.
  const auto source = [m](std::int64_t e) { return e < m ? e + 1 : e / m + m; };
  const auto targets = allocate<Index>(edges);
  std::fill_n(targets.data, m, 0);
  std::vector<Index> taken_by(static_cast<std::size_t>(n), -1);  // the last vertex that has joined each one
  const Random random(seed, 0xba);
  std::uint64_t draws = 0;
  for (auto v = m + 1; v < n; ++v) {
    const auto first = m + (v - m - 1) * m;
    for (auto e = first; e < first + m;) {
      const auto end = below(random(draws++), 2 * first);
      const auto u = static_cast<Index>(end % 2 == 0 ? targets.data[end / 2] : source(end / 2));
      if (taken_by[at(u)] == v) continue;
      taken_by[at(u)] = static_cast<Index>(v);
      targets.data[e++] = u;
    }
    if (v % 4096 == 0) poll_interrupt();
  }
  return undirected(n, edges, [&](std::int64_t e) { return Edge{source(e), targets.data[e]}; });
}

}  // namespace penstock
