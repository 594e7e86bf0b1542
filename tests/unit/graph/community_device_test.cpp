// Communities as a device finds them, with the CPU as the device: over packed lists as over lists, and joined in chunks as at once.
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "penstock/graph/community/communities_gpu.hpp"
#include "penstock/graph/community/device_level_run.hpp"
#include "penstock/graph/gpu/packed_lists.hpp"
#include "penstock/io/random.hpp"
#include "support.hpp"

namespace penstock {
namespace {

constexpr Index kGroups = 30, kGroup = 40;

/// Groups with many edges within; vertex 0 is joined to all, so that its list has several pieces where there are more than 1024.
Csr<One> groups_with_a_hub() {
  const Index n = kGroups * kGroup;
  std::vector<std::vector<Index>> lists(static_cast<std::size_t>(n));
  const Random random(7, 1);
  for (Index v = 1; v < n; ++v) {
    lists[0].push_back(v), lists[std::size_t(v)].push_back(0);
    for (Index u = v + 1; u < n; ++u) {
      const auto draw = random(std::uint64_t(v) * std::uint64_t(n) + std::uint64_t(u));
      if (draw < threshold(v / kGroup == u / kGroup ? 0.4 : 0.004))
        lists[std::size_t(v)].push_back(u), lists[std::size_t(u)].push_back(v);
    }
  }
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  for (const auto& list : lists) {
    indices.insert(indices.end(), list.begin(), list.end());
    indptr.push_back(std::ssize(indices));
  }
  return {n, n, test::array_of(indptr), test::array_of(indices), {}};
}

std::vector<Index> as_vector(const Array<Index>& a) { return {a.data, a.data + a.size}; }

TEST(CommunityDevice, PackedListsLeadToTheSame) {
  const auto a = groups_with_a_hub();
  ASSERT_GT(a.indptr.data[1], kPackedPiece);
  const auto packed = pack_lists(a.view());
  community::DeviceCommunities g;
  g.vertices = a.rows, g.entries = a.nnz(), g.room.bytes = 1 << 20;
  g.lists.view = {.vertices = a.rows, .packed = packed.view()};
  const OwnedStream stream{Where{}};
  const CommunityOptions o{.seed = 3};
  const auto labels = as_vector(louvain_twin(a, o, false, 1 << 20).labels);
  EXPECT_EQ(as_vector(community::louvain_on(g, o, false, stream).labels), labels);
  const auto refined = as_vector(leiden_twin(a, o, 1 << 20).labels);
  EXPECT_EQ(as_vector(community::leiden_on(g, o, stream).labels), refined);
  EXPECT_EQ(as_vector(community::label_propagation_on(g, 100, 3, stream)),
            as_vector(label_propagation_twin(a, 100, 3, 1 << 20)));
  for (Index v = 2; v < a.rows; ++v) {
    if (v % kGroup > 1) {
      EXPECT_EQ(labels[std::size_t(v)], labels[std::size_t(v - 1)]) << v;
    }
  }
}

TEST(CommunityDevice, CoarseGraphsHaveTheWeightsBetweenCommunities) {
  const auto a = groups_with_a_hub();
  const OwnedStream stream{Where{}};
  community::DeviceLevel level;
  level.lists.view = {.vertices = a.rows, .offsets = a.indptr.data, .edges = a.indices.data};
  level.vertices = a.rows, level.entries = a.nnz();
  level.degree = allocate<std::int64_t>(a.rows);
  community::on_cpu::add_degrees(level.lists, a.rows, level.degree.data, stream);
  const auto partition = [&] {
    community::DevicePartition found{allocate<Index>(a.rows), allocate<std::int64_t>(a.rows), 1};
    for (Index v = 0; v < a.rows; ++v) found.totals.data[v] = 0;
    for (Index v = 0; v < a.rows; ++v) {
      found.labels.data[v] = v / kGroup * 2;  // some labels are of nobody
      found.totals.data[v / kGroup * 2] += level.degree.data[v];
    }
    return found;
  };
  std::map<std::pair<Index, Index>, std::int64_t> expected;
  for (Index v = 0; v < a.rows; ++v)
    for (auto e = a.indptr.data[v]; e < a.indptr.data[v + 1]; ++e)
      if (const Index u = a.indices.data[e]; u / kGroup != v / kGroup) ++expected[{v / kGroup, u / kGroup}];
  auto found = partition();
  const auto coarse = community::join_on(level, found, {1 << 24}, stream);
  ASSERT_EQ(coarse.vertices, kGroups);
  EXPECT_EQ(coarse.entries, std::ssize(expected));
  std::int64_t outward = 0;
  auto next = expected.begin();  // rows and columns ascend
  for (Index c = 0; c < kGroups; ++c)
    for (auto e = coarse.indptr.data[c]; e < coarse.indptr.data[c + 1]; ++e, ++next) {
      EXPECT_EQ(next->first, std::pair(c, coarse.indices.data[e]));
      EXPECT_EQ(next->second, coarse.weights.data[e]);
      outward += next->second;
    }
  EXPECT_EQ(coarse.outward, outward);
  for (Index v = 0; v < a.rows; ++v) EXPECT_EQ(found.labels.data[v], v / kGroup);
}

}  // namespace
}  // namespace penstock
