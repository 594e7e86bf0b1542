// Communities with 1, 2 and 4 threads: cliques joined in a ring, against what a plain loop says of them.
#include "penstock/graph/community/community.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "penstock/core/parallel.hpp"
#include "support.hpp"

namespace penstock {
namespace {

constexpr Index kCliques = 400, kSize = 6;

/// Clique c has the vertices [c kSize, (c + 1) kSize); its last one is joined with the first one of the next.
Csr<One> ring_of_cliques() {
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  const Index n = kCliques * kSize;
  for (Index v = 0; v < n; ++v) {
    const Index first = v / kSize * kSize;
    for (Index u = first; u < first + kSize; ++u)
      if (u != v) indices.push_back(u);
    if (v % kSize == 0) indices.push_back((v + n - 1) % n);
    if (v % kSize == kSize - 1) indices.push_back((v + 1) % n);
    indptr.push_back(std::ssize(indices));
  }
  return {n, n, test::array_of(indptr), test::array_of(indices), {}};
}

std::vector<Index> copied(const Array<Index>& a) { return {a.data, a.data + a.size}; }

/// Newman's and Girvan's definition, with resolution 1.
double plain_modularity(const Csr<One>& a, const std::vector<Index>& labels) {
  std::vector<double> degrees(labels.size());
  double inside = 0, sum = 0;
  for (std::size_t v = 0; v < labels.size(); ++v)
    for (auto k = a.indptr.data[v]; k < a.indptr.data[v + 1]; ++k) {
      inside += labels[std::size_t(a.indices.data[k])] == labels[v];
      degrees[std::size_t(labels[v])] += 1;
    }
  const auto all = static_cast<double>(a.nnz());
  for (const auto d : degrees) sum += d / all * (d / all);
  return inside / all - sum;
}

TEST(Community, TheSameForAnyThreadsAndNoWorseThanTheCliques) {
  const auto a = ring_of_cliques();
  std::vector<Index> cliques;
  for (Index v = 0; v < kCliques * kSize; ++v) cliques.push_back(v / kSize);
  const auto least = plain_modularity(a, cliques);
  const auto before = num_threads();
  std::vector<std::vector<Index>> first;
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    const CommunityOptions o{.seed = 7};
    const std::vector<std::vector<Index>> found{copied(louvain(a, o, false).labels),
                                                copied(leiden(a, o).labels),
                                                copied(label_propagation(a, 50, 7))};
    if (first.empty()) first = found;
    EXPECT_EQ(found, first) << threads << " threads";
    for (const auto& labels : found)
      EXPECT_NEAR(modularity<One>(a, labels, 1), plain_modularity(a, labels), 1e-12);
    EXPECT_GE(plain_modularity(a, found[0]), least);
    EXPECT_GE(plain_modularity(a, found[1]), least);
    EXPECT_GE(plain_modularity(a, found[2]), 0.8 * least);
    EXPECT_EQ(copied(connected_parts<One>(a.view(), found[1])), found[1]) << "communities are connected";
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace penstock
