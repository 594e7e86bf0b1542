// Triangles counted by merging the sorted rows of the two ends of every edge: each is met six times.
#include <algorithm>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/triangles.hpp"

namespace penstock {

void triangles_verify(const CsrView<One>& a, std::int64_t total, std::span<const std::int64_t> of_vertex,
                      std::int64_t samples, std::uint64_t seed) {
  require(a.rows == a.cols, "triangles need a square matrix");
  require(of_vertex.empty() || std::ssize(of_vertex) == a.rows,
          "triangles: one count is needed for each vertex");
  std::vector<std::vector<Index>> rows(static_cast<std::size_t>(a.rows));
  std::int64_t sum = 0;
  for (std::int64_t v = 0; v < a.rows; ++v) {
    auto& row = rows[static_cast<std::size_t>(v)];
    row.assign(a.indices + (a.indptr[v] - a.first_nnz), a.indices + (a.indptr[v + 1] - a.first_nnz));
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    std::erase(row, static_cast<Index>(v));
  }
  for (const auto n : of_vertex) sum += n;
  if (!of_vertex.empty() && sum != 3 * total)
    throw Error(Errc::invalid_argument, "triangles: the vertices' counts add up to " + std::to_string(sum) +
                                            ", which is not three times the total " + std::to_string(total));
  if (samples && of_vertex.empty()) samples = 0;  // a total cannot be sampled
  const auto count = samples ? std::min(samples, a.rows) : a.rows;
  std::int64_t all = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const auto v = samples ? static_cast<std::size_t>((seed >> 33) % static_cast<std::uint64_t>(a.rows))
                           : static_cast<std::size_t>(i);
    std::int64_t twice = 0;
    for (const auto w : rows[v]) {
      const auto& other = rows[static_cast<std::size_t>(w)];
      for (auto x = rows[v].cbegin(), y = other.cbegin(); x != rows[v].cend() && y != other.cend();) {
        if (*x == *y) ++twice, ++x, ++y;
        else if (*x < *y) ++x;
        else ++y;
      }
    }
    if (!of_vertex.empty() && twice != 2 * of_vertex[v])
      throw Error(Errc::invalid_argument, "triangles: vertex " + std::to_string(v) + " is in " +
                                              std::to_string(twice / 2) + " triangles, not in " +
                                              std::to_string(of_vertex[v]));
    all += twice;
    poll_interrupt();
  }
  if (!samples && all != 6 * total)
    throw Error(Errc::invalid_argument,
                "triangles: there are " + std::to_string(all / 6) + ", not " + std::to_string(total));
}

}  // namespace penstock
