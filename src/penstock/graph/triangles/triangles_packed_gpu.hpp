#pragma once
#include <optional>

#include "penstock/graph/gpu/gpu_graph.hpp"
#include "penstock/graph/triangles/triangles_orient_gpu.hpp"

// Orients the edges of a graph whose packed lists a GPU has, from these: the raw lists need not fit there, and do not come over the
// link again. Rows are made in ranges, so that no more than a range of keys is sorted at once.
namespace penstock {

/// `g` has the packed lists of a simple, symmetric graph. The oriented lists stay in the GPU's memory where the budget of g has room for
/// them, unless `to_host` is set, and else come to pinned memory. Nothing is returned where the budget does not suffice, or where the
/// lists are not those of such a graph.
std::optional<OrientedOnGpu> orient_packed_gpu(GpuGraph& g, bool to_host);

namespace gpu {

/// lengths[row of v] = how many u in v's list have number[u] < number[v]; the row of v is number[v]. Without `number`, numbers are
/// the vertices.
void count_oriented(const ListView& g, const Index* number, Index* lengths, Stream stream);
/// As measure_rows(), out of such lengths with the vertices as numbers.
void measure_packed(const ListView& g, const Index* below, PatternFacts* facts, Stream stream);
/// As degree_keys().
void packed_degree_keys(const ListView& g, unsigned long long most, int bits, std::uint64_t* keys,
                        Stream stream);
/// order[i] = the vertex of the i-th key.
void write_order(const std::uint64_t* keys, std::int64_t vertices, int bits, Index* order, Stream stream);

/// Rows [first, last) of the oriented lists. Row r begins at offsets[r] - offsets[first]; the vertex of number r is order[r].
struct OrientRange {
  const Index *number = nullptr, *order = nullptr;  // both or none
  const Offset* offsets = nullptr;
  std::int64_t first = 0, last = 0;
  int bits = 0;
};
/// Writes (r - first) << bits | end for each end, in any order within a row.
void collect_keys(const ListView& g, const OrientRange& range, std::uint64_t* keys, Stream stream);
/// Writes the ends, which ascend, where numbers are the vertices.
void collect_ends(const ListView& g, const OrientRange& range, Index* ends, Stream stream);
void ends_of_keys(const std::uint64_t* keys, std::int64_t count, int bits, Index* ends, Stream stream);

}  // namespace gpu
}  // namespace penstock
