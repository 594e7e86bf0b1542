// What of graphs on GPUs is decided by numbers alone.
#include "penstock/graph/gpu/gpu_graph.hpp"

#include <gtest/gtest.h>

#include <random>

#include "penstock/graph/bfs/bfs_gpu_rule.hpp"
#include "penstock/graph/bfs/bfs_gpu_state.hpp"

namespace penstock {
namespace {

TEST(GpuGraphPlan, EdgesGoToTheDeviceWhereAllFits) {
  constexpr std::int64_t n = 1 << 20, edges = 32 * n;
  const auto needed = 8 * (n + 1) + 4 * edges + (16 + kVertexBytes) * n + cut_list_bytes(edges);
  EXPECT_EQ(choose_placement(n, edges, needed), EdgePlacement::device);
  EXPECT_EQ(choose_placement(n, edges, needed - 1), EdgePlacement::pinned);
  EXPECT_EQ(choose_placement(1, 0, 0), EdgePlacement::pinned);
  // 2^31 - 1 vertices and 2^36 edges do not overflow.
  EXPECT_EQ(choose_placement(0x7fffffff, std::int64_t(1) << 36, std::int64_t(80) << 30),
            EdgePlacement::pinned);
}

TEST(GpuGraphPlan, ListsArePackedWhereTheyFitOnlySo) {
  constexpr std::int64_t n = 1 << 20, edges = 32 * n;
  const auto raw = 8 * (n + 1) + 4 * edges + (16 + kVertexBytes) * n + cut_list_bytes(edges);
  constexpr std::int64_t packed = edges * 3 / 2;
  const auto needed = packed + kVertexBytes * n + kPackedRoom + cut_list_bytes(edges);
  EXPECT_LT(needed, raw);
  const auto far = [&](std::int64_t budget, std::int64_t all_vertices = -1) {
    return graph_room({.vertices = n,
                       .edges = edges,
                       .budget = budget,
                       .placement = EdgePlacement::packed,
                       .all_vertices = all_vertices,
                       .packed_bytes = packed,
                       .head_bytes = 5 * n})
        .far_bytes;
  };
  EXPECT_EQ(far(needed), 0);
  EXPECT_EQ(far(needed - 1), 1);
  // A part keeps bitmaps and predecessors of all vertices besides.
  EXPECT_EQ(far(needed + kSharedVertexBytes * 4 * n, 4 * n), 0);
  EXPECT_EQ(far(needed + kSharedVertexBytes * 4 * n - 1, 4 * n), 1);
}

/// Whatever bottom-up steps find, and whenever they are given up, lists are read once and an eighth.
TEST(GpuGraphPlan, ALedgerBoundsWhatASearchReads) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(0, 1);
  for (int search = 0; search < 2000; ++search) {
    const double pass = 1e6 + 1e10 * any(random) * any(random);
    LinkLedger ledger(std::int64_t(pass + 0.5));
    double left = pass, read = 0;  // lists that are still to be expanded
    for (int level = 0; level < 60 && left > 0; ++level) {
      const double frontier = level == 59 ? left : left * any(random) * any(random), edges = frontier / 4;
      left -= frontier;
      const double most = left * any(random);
      const double limit = up_limit(ledger.spare(), frontier, most);
      const bool tries = limit > 0 && any(random) < 0.7,
                 given_up = tries && limit < most && any(random) < 0.5;
      const double up = !tries ? 0 : given_up ? limit : std::min(limit, most) * any(random);
      read += up + (tries && !given_up ? 0 : frontier);
      if (up > 0) ledger.add(up, up_cost(edges, edges, pass, 16), frontier, given_up);
      EXPECT_GE(ledger.factor(), 0.125);
      EXPECT_LE(ledger.factor(), 4);
    }
    EXPECT_LE(read, pass * (1 + kSpareShare) + double(kSpareBytes) + 1);
  }
  const LinkLedger free(0);  // all lists are on the GPU
  EXPECT_FALSE(free.bounds());
  EXPECT_EQ(free.factor(), 1);
}

/// Thousands of levels, each of which leaves its bottom-up step when all is claimed: nothing is read beyond what there is to spare.
TEST(GpuGraphPlan, ASpentLedgerTriesNoMore) {
  const double pass = 1e9;
  LinkLedger ledger{std::int64_t(pass)};
  double read = 0;
  int tried = 0;
  for (int level = 0; level < 40'000; ++level) {
    const double frontier = pass / 40'000, limit = up_limit(ledger.spare(), frontier, pass);
    if (limit > 0) ++tried, read += limit, ledger.add(limit, 1, frontier, true);
    read += frontier;
  }
  EXPECT_GT(tried, 0);
  EXPECT_LT(tried, 40'000);
  EXPECT_LE(read, pass * (1 + kSpareShare) + double(kSpareBytes) + 1);
  EXPECT_LE(ledger.spare(), kSectorBytes);
  EXPECT_GE(ledger.spare(), 0);
}

TEST(GpuGraphPlan, GroupsClaimAQuarterAtMost) {
  constexpr double groups = 33'792;
  EXPECT_EQ(claim_bytes(1e300, groups, 32), 512);
  EXPECT_EQ(claim_bytes(4 * 100 * groups, groups, 32), 100);
  EXPECT_EQ(claim_bytes(1e3, groups, 32), 32);  // its next read
  EXPECT_EQ(claim_bytes(1e9, 1e300, 2080), 2080);
}

TEST(GpuGraphPlan, SamplesShrinkToWhatIsLeft) {
  constexpr std::int64_t n = 1000;
  static_assert(cut_list_bytes(1 << 20) >= 16 * gpu::most_segments(1 << 20));
  for (const std::int64_t edges : {0, 31'000'000}) {
    const auto pieces = cut_list_bytes(edges);
    EXPECT_EQ(choose_sample(n, edges, n * (64 + kVertexBytes) + pieces, 16), 16);
    EXPECT_EQ(choose_sample(n, edges, n * (64 + kVertexBytes) + pieces - 1, 16), 8);
    EXPECT_EQ(choose_sample(n, edges, n * (16 + kVertexBytes) + pieces, 16), 4);
    EXPECT_EQ(choose_sample(n, edges, n * (16 + kVertexBytes) + pieces - 1, 16), 0);
    EXPECT_EQ(choose_sample(n, edges, n * (16 + kLeanVertexBytes) + pieces, 16, kLeanVertexBytes), 4);
    EXPECT_EQ(choose_sample(n, edges, n * (16 + kLeanVertexBytes) + pieces - 1, 16, kLeanVertexBytes), 0);
  }
}

TEST(GpuGraphPlan, ARoomAddsUpToTheBudget) {
  constexpr std::int64_t n = 1 << 20, edges = 30 << 20, packed = 50 << 20, heads = 4 * n + n / 8;
  const GraphRoomRequest all{
      .vertices = n, .edges = edges, .budget = std::int64_t(1) << 30, .sample = 4, .cache = true};
  const auto there = graph_room(all);
  EXPECT_EQ(there.placement, EdgePlacement::device);
  EXPECT_EQ(there.list_bytes, 4 * edges);
  EXPECT_EQ(there.offset_bytes, 8 * (n + 1));
  EXPECT_EQ(there.far_bytes + there.cache_bytes, 0);
  EXPECT_EQ(there.sample_bytes, 16 * n);
  EXPECT_LE(there.used(), all.budget);

  auto less = all;
  less.budget = 90 << 20;
  const auto far = graph_room(less);
  EXPECT_EQ(far.placement, EdgePlacement::pinned);
  EXPECT_EQ(far.far_bytes, 4 * edges);
  EXPECT_EQ(far.list_bytes, 0);
  EXPECT_GT(far.cache_bytes, 0);
  EXPECT_LE(far.cache_bytes, 8 * n + 4 * edges / kKeptShare - far.sample_bytes);
  EXPECT_LE(far.used(), less.budget);

  less.budget = 80 << 20;
  less.placement = EdgePlacement::packed, less.packed_bytes = packed + heads, less.head_bytes = heads;
  const auto in_part = graph_room(less);
  EXPECT_EQ(in_part.offset_bytes, heads);
  EXPECT_EQ(in_part.list_bytes, packed_list_room(n, edges, less.budget - heads));
  EXPECT_EQ(in_part.list_bytes + in_part.far_bytes, packed);
  EXPECT_GT(in_part.far_bytes, 0);
  less.budget = 1 << 28;
  EXPECT_EQ(graph_room(less).far_bytes, 0);
  EXPECT_EQ(graph_room(less).list_bytes, packed);
  less.each_vertex = kVertexBytes + 7;  // an algorithm that takes more leaves less for lists
  less.budget = 80 << 20;
  EXPECT_EQ(graph_room(less).list_bytes, in_part.list_bytes - 7 * n);
  EXPECT_EQ(graph_room(less).vertex_bytes, (kVertexBytes + 7) * n);
  less.each_vertex = kLeanVertexBytes;  // searches without predecessors, and a sample that they ask for
  EXPECT_EQ(graph_room(less).list_bytes, in_part.list_bytes + (kVertexBytes - kLeanVertexBytes) * n);
  less.packed_bytes = 80 * n + heads, less.sample = 4;
  EXPECT_EQ(graph_room(less).sample, 4);
  EXPECT_EQ(graph_room(less).list_bytes + kSampleBytes * n,
            packed_list_room(n, edges, less.budget - heads, kLeanVertexBytes));
  EXPECT_LE(graph_room(less).used(), less.budget);
  less.packed_bytes = packed + heads, less.each_vertex = kVertexBytes;
  less.budget = heads;  // no room for a list
  EXPECT_EQ(graph_room(less).far_bytes, packed);

  // A part leaves room for what all vertices take, and lengths go where the edges go.
  auto part = all;
  part.budget = there.used(), part.all_vertices = 8 * n;
  EXPECT_EQ(graph_room(part).placement, EdgePlacement::pinned);
  part.budget += kSharedVertexBytes * 8 * n + cut_list_bytes(edges);
  EXPECT_EQ(graph_room(part).placement, EdgePlacement::device);
  EXPECT_EQ(graph_room(part).vertex_bytes, kVertexBytes * n + kSharedVertexBytes * 8 * n);
  part.each_vertex = 5, part.shared_vertex = 20;  // of another algorithm
  EXPECT_EQ(graph_room(part).placement, EdgePlacement::pinned);
  EXPECT_EQ(graph_room(part).vertex_bytes, 5 * n + 20 * 8 * n);
  auto lengths = all;
  lengths.along_bytes = 7;
  EXPECT_EQ(graph_room(lengths).list_bytes, there.list_bytes + 7);
}

TEST(GpuGraphPlan, SegmentsHaveRoomForAllLongLists) {
  // The worst case: every list just long enough to be cut.
  for (const std::int64_t lists : {0, 1, 7, 1000}) {
    const auto edges = lists * (gpu::kLongProbe + 1);
    EXPECT_GE(gpu::most_segments(edges), lists);
  }
  const Offset hub = 10 * gpu::kSegment + 1;
  EXPECT_GE(gpu::most_segments(hub), 11);
}

TEST(GpuGraphPlan, RequestsAddUpToBytes) {
  const LinkCounts counts{.requests = {1, 10, 100, 1000}};
  EXPECT_EQ(counts.bytes(), 32 + 640 + 9600 + 128000);
}

TEST(BfsRule, SmallFrontiersStayInOneKernel) {
  EXPECT_TRUE(is_small(1, 0));
  EXPECT_TRUE(is_small(kSmallVertices, kSmallEdges));
  EXPECT_FALSE(is_small(kSmallVertices + 1, 0));
  EXPECT_FALSE(is_small(1, kSmallEdges + 1));
  EXPECT_TRUE(is_small(1, kSmallEdges + 1, true));
  EXPECT_FALSE(is_small(1, kSmallNearEdges + 1, true));
  EXPECT_FALSE(is_small(kSmallVertices + 1, 0, true));
  EXPECT_TRUE(is_small(1, kSmallNearEdges, true, kSmallList));
  EXPECT_FALSE(is_small(1, kSmallEdges + 1, true, kSmallList + 1));
  EXPECT_FALSE(is_small(1, kSmallEdges, true, 2 * kSmallList + 1));
  EXPECT_TRUE(is_small(1, kSmallEdges, false, kSmallEdges));
}

TEST(BfsRule, ListsOnTheGpuAreAskedWhereFewWouldStayOpen) {
  constexpr NearCosts raw = near_costs(false, true), packed = near_costs(true, false);
  // A web: a fifth and a quarter of 285 M edges, but most neighbours of a vertex are in one place. Asking took 0.12 ms, probing what it left
  // open 0.83, walking 56 M edges 0.36.
  EXPECT_FALSE(asks_near(0.7e6, 56e6, 0, 285e6, 16e6, 17, raw, 1));
  EXPECT_FALSE(asks_near(2.8e6, 73e6, 0, 285e6, 13e6, 17, raw, 1));
  EXPECT_GT(near_up_cost(4.5e6, 0, 73e6, 285e6, 17, raw), near_down_cost(2.8e6, 73e6));
  EXPECT_FALSE(asks_near(2.8e6, 73e6, 0, 285e6, 13e6, 17, packed, 1));
  // A social network: two thirds of the edges leave the frontier, and then a tenth.
  EXPECT_TRUE(asks_near(9e6, 190e6, 0, 272e6, 12.5e6, 12, raw, 1));
  EXPECT_TRUE(asks_near(9e6, 190e6, 0, 272e6, 12.5e6, 12, packed, 1));
  EXPECT_TRUE(asks_near(11e6, 29e6, 0, 272e6, 1.5e6, 12, raw, 1));
  // R-MAT 23: hubs with a fifth of the edges, which nearly all samples have.
  EXPECT_TRUE(asks_near(5e3, 54e6, 0, 268e6, 4.2e6, 64, raw, 1));
  // A level that asked in vain makes the next ones doubtful.
  EXPECT_FALSE(asks_near(5e3, 54e6, 0, 268e6, 4.2e6, 64, raw, 4));
  EXPECT_FALSE(asks_near(1, 1, 0, 100, 100, 1, raw, 1));
  // Lists over the link: a sector of each costs more than the frontier's lists, unless these are there, too.
  constexpr NearCosts far = near_costs(true, false, 0.2);
  EXPECT_TRUE(asks_near(1e6, 50e6, 0, 270e6, 1.5e6, 20, packed, 1));
  EXPECT_GT(near_up_cost(4e5, 4e5, 50e6, 270e6, 20, far), near_down_cost(1e6, 50e6));
  EXPECT_LT(near_up_cost(4e5, 4e5, 50e6, 270e6, 20, far), near_down_cost(1e6, 50e6, 40e6));
  // A frontier that all edges leave leaves nothing open.
  EXPECT_EQ(near_up_cost(0, 0, 100, 100, 1, raw), 0);
  EXPECT_TRUE(asks_near(10, 100, 0, 100, 10, 10, raw, 1));
}

TEST(BfsRule, SamplesAreAskedWhereListsWouldCostMore) {
  // R-MAT 27: 63 million vertices to find, 4.3 G edges.
  EXPECT_FALSE(asks_samples(1000, 1e6, 63e6));
  EXPECT_TRUE(asks_samples(1e6, 200e6, 63e6));
  // Uniform 26: the samples of 1 M vertices' neighbours' neighbours tell little, those of a large frontier nearly all.
  EXPECT_FALSE(asks_samples(1e6, 33e6, 67e6));
  EXPECT_TRUE(asks_samples(28e6, 900e6, 38e6));
  // The last levels: few edges leave, nobody is left.
  EXPECT_FALSE(asks_samples(100, 5000, 1e6));
}

TEST(BfsRule, OpenListsAreReadWhereThatIsLessThanTheFrontiers) {
  // A frontier of 40 % of all edges: a probe or two of what the samples left open.
  EXPECT_LT(up_cost(4e6, 900e6, 2.1e9, 32), down_cost(28e6, 900e6));
  // 1.5 %: nearly all lists would be read to their ends.
  EXPECT_GT(up_cost(60e6, 33e6, 2.1e9, 32), down_cost(1e6, 33e6));
  EXPECT_EQ(up_cost(0, 1, 1, 1), 0);
  EXPECT_EQ(down_cost(5, 0), 0);
}

}  // namespace
}  // namespace penstock
