// Checks counts of triangles: no vertex has more triangles than pairs of neighbours; the sum of all counts is a multiple of
// three; and every vertex v that is looked at has half as many triangles as there are pairs (w, x) where w is a neighbour of v
// and x one of both. For every w, the entries of the shorter one of the two rows are searched for in the longer one.
#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/triangles/triangles.hpp"

namespace penstock {
namespace {

std::span<const Index> row_of(const CsrView<One>& a, std::int64_t v) {
  return {a.indices + (a.indptr[v] - a.first_nnz), static_cast<std::size_t>(a.indptr[v + 1] - a.indptr[v])};
}

/// About how many steps it takes to count the triangles of v.
std::int64_t price(const CsrView<One>& a, std::int64_t v) {
  const auto row = row_of(a, v);
  std::size_t steps = 1;
  for (const auto w : row) {
    const auto other = row_of(a, w).size();
    steps += std::min(other, row.size()) * std::bit_width(std::max(other, row.size())) + 1;
  }
  return static_cast<std::int64_t>(steps);
}

std::int64_t count_at(const CsrView<One>& a, std::int64_t v) {
  const auto row = row_of(a, v);
  std::int64_t twice = 0;
  for (const auto w : row) {
    auto few = row, many = row_of(a, w);
    if (few.size() > many.size()) std::swap(few, many);
    for (const auto x : few) twice += std::binary_search(many.begin(), many.end(), x);
    poll_interrupt();
  }
  return twice / 2;
}

void check_bounds(const CsrView<One>& a, std::span<const std::int64_t> counts) {
  std::uint64_t sum = 0;
  for (std::int64_t v = 0; v < a.rows; ++v) {
    const auto count = counts[static_cast<std::size_t>(v)], degree = a.indptr[v + 1] - a.indptr[v];
    if (count < 0 || count > degree * (degree - 1) / 2)
      throw Error(Errc::invalid_argument, "triangles: vertex " + std::to_string(v) + " cannot be in " +
                                              std::to_string(count) + " of them, it has " +
                                              std::to_string(degree) + " neighbours");
    sum += static_cast<std::uint64_t>(count);
  }
  require(sum % 3 == 0, "triangles: the vertices' counts add up to " + std::to_string(sum) +
                            ", which is not a multiple of three");
}

/// All vertices if the budget allows it, otherwise as many drawn vertices as it allows, at least one.
std::vector<std::int64_t> choose(const CsrView<One>& a, std::int64_t budget, std::uint64_t seed) {
  std::vector<std::int64_t> some;
  std::atomic<std::int64_t> all = 0;
  parallel_ranges(a.rows, 1 << 10, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last && all.load(std::memory_order_relaxed) <= budget; ++v)
      all.fetch_add(price(a, v), std::memory_order_relaxed);
  });
  if (all <= budget) {
    for (std::int64_t v = 0; v < a.rows; ++v) some.push_back(v);
    return some;
  }
  for (std::int64_t spent = 0; spent < budget && std::ssize(some) < a.rows;) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const auto v = static_cast<std::int64_t>((seed >> 33) % static_cast<std::uint64_t>(a.rows));
    some.push_back(v);
    spent += price(a, v);
  }
  return some;
}

}  // namespace

std::int64_t triangles_recount(const CsrView<One>& a) {
  std::atomic<std::int64_t> corners = 0;
  parallel_ranges(a.rows, 64, [&](std::int64_t first, std::int64_t last) {
    std::int64_t some = 0;
    for (auto v = first; v < last; ++v) some += count_at(a, v);
    corners += some;
  });
  return corners / 3;
}

std::int64_t triangles_verify(const CsrView<One>& a, std::span<const std::int64_t> of_vertex,
                              std::int64_t budget, std::uint64_t seed) {
  require(std::ssize(of_vertex) == a.rows, "triangles: " + std::to_string(of_vertex.size()) +
                                               " counts for a graph of " + std::to_string(a.rows) +
                                               " vertices");
  check_bounds(a, of_vertex);
  const auto some = choose(a, budget, seed);
  std::atomic<std::int64_t> wrong = std::numeric_limits<std::int64_t>::max();
  parallel_for((std::ssize(some) + 63) / 64, [&](std::int64_t chunk) {
    for (auto i = 64 * chunk; i < std::min<std::int64_t>(std::ssize(some), 64 * (chunk + 1)); ++i) {
      const auto v = some[static_cast<std::size_t>(i)];
      if (v >= wrong.load(std::memory_order_relaxed) ||
          count_at(a, v) == of_vertex[static_cast<std::size_t>(v)])
        continue;
      for (auto least = wrong.load(); v < least && !wrong.compare_exchange_weak(least, v);) {}
    }
  });
  if (const auto v = wrong.load(); v < a.rows)
    throw Error(Errc::invalid_argument, "triangles: vertex " + std::to_string(v) + " is in " +
                                            std::to_string(count_at(a, v)) + " of them, not in " +
                                            std::to_string(of_vertex[static_cast<std::size_t>(v)]));
  return std::ssize(some);
}

}  // namespace penstock
