#pragma once
#include <cstdint>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

struct Triangles {
  std::int64_t total = 0;
  Array<std::int64_t> of_vertex;  // empty unless asked for
};

/// Triangles of an undirected graph: `a` holds every edge in both directions. Self loops and duplicates are passed over,
/// rows need not be sorted.
Triangles count_triangles(const CsrView<One>& a, bool of_vertex);

/// Throws Error{invalid_argument} where a count is wrong. Counted anew by other means, merging sorted rows edge by edge:
/// all triangles where `samples` is 0, else those of as many vertices, chosen by `seed`.
void triangles_verify(const CsrView<One>& a, std::int64_t total, std::span<const std::int64_t> of_vertex,
                      std::int64_t samples, std::uint64_t seed);

namespace graph {

/// How many of the numbers of a list have their bit set.
using Marked = std::int64_t (*)(const std::uint32_t* bits, const Index* list, std::int64_t count);
namespace avx512 {
std::int64_t marked(const std::uint32_t* bits, const Index* list, std::int64_t count);
}

}  // namespace graph
}  // namespace penstock
