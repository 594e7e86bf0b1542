// What ranks call, and how they are told where it differs.
#include <gtest/gtest.h>

#include "penstock/comm/calls.hpp"

namespace penstock {
namespace {

TEST(Calls, SameCallsHaveTheSameHash) {
  Calls a, b;
  for (int i = 0; i < 100; ++i) {
    a.begin({Verb::barrier}), b.begin({Verb::barrier});
    ASSERT_EQ(a.last().now, b.last().now);
    ASSERT_EQ(a.last().number, i + 1);
  }
  a.begin({.verb = Verb::broadcast, .root = 0, .bytes = 8});
  b.begin({.verb = Verb::broadcast, .root = 1, .bytes = 8});
  EXPECT_EQ(a.last().before, b.last().before);
  EXPECT_NE(a.last().now, b.last().now);
  a.begin({Verb::barrier}), b.begin({Verb::barrier});
  EXPECT_NE(a.last().now, b.last().now) << "of what came before";
}

TEST(Calls, ARefusedOneKeepsItsNumber) {
  Calls a, b;
  a.begin({Verb::barrier}), b.begin({Verb::share});
  a.refuse(), b.refuse();
  EXPECT_EQ(a.find(1), nullptr);
  EXPECT_EQ(a.begin({Verb::split}).number, 2);
  EXPECT_EQ(a.last().now, b.begin({Verb::split}).now);
  for (int i = 0; i < 64; ++i) a.begin({Verb::barrier});
  EXPECT_EQ(a.find(2), nullptr) << "too long ago";
  EXPECT_NE(a.find(3), nullptr);
  EXPECT_EQ(a.find(67), nullptr) << "not yet";
}

TEST(Calls, EveryFieldCounts) {
  const Call plain{.verb = Verb::all_reduce_sum, .bytes = 16, .type = 'd'};
  auto other = [&](auto change) {
    auto c = plain;
    change(c);
    return c.hash();
  };
  EXPECT_NE(plain.hash(), other([](Call& c) { c.verb = Verb::all_reduce_max; }));
  EXPECT_NE(plain.hash(), other([](Call& c) { c.bytes = 8; }));
  EXPECT_NE(plain.hash(), other([](Call& c) { c.type = 'l'; }));
  EXPECT_NE(plain.hash(), other([](Call& c) { c.root = 0; }));
  EXPECT_NE(plain.hash(), other([](Call& c) { c.more = 1; }));
  EXPECT_NE(plain.hash(), other([](Call& c) { c.topic = std::make_shared<const Topic>("bfs"); }));
  const std::int64_t a[] = {0, 4, 8}, b[] = {0, 6, 8};
  EXPECT_NE(with_offsets(Verb::gather_v, 0, a).hash(), with_offsets(Verb::gather_v, 0, b).hash());
}

TEST(Calls, ADifferenceIsNamed) {
  const auto text = [](const Call& c) { return c.text(); };
  const auto sum = text({.verb = Verb::all_reduce_sum, .bytes = 16, .type = 'd'});
  const auto max = text({.verb = Verb::all_reduce_max, .bytes = 16, .type = 'd'});
  EXPECT_EQ(
      disagreement(2, max, 1, sum),
      "all_reduce: ranks disagree on op: rank 1 gives sum, rank 2 gives max: all ranks must give the same");
  EXPECT_EQ(
      disagreement(0, sum, 1, text({Verb::barrier})),
      "ranks disagree: rank 0 calls all_reduce (op sum, dtype float64, values 2), rank 1 calls barrier: all "
      "ranks must make the same collective calls in the same order");
  EXPECT_EQ(disagreement(0, "bfs\nsource\t1\nwithin it\tbarrier", 1, "bfs\nsource\t3\nwithin it\tbarrier"),
            "bfs: ranks disagree on source: rank 0 gives 1, rank 1 gives 3: all ranks must give the same");
  EXPECT_EQ(
      disagreement(0, text({Verb::end}), 1, text({Verb::barrier})),
      "rank 0 has ended, but rank 1 waits for it in barrier: all ranks must make the same collective calls");
  EXPECT_EQ(disagreement(0, text({Verb::barrier}), 1, text({Verb::barrier})),
            "ranks disagree: rank 0 and rank 1 both call barrier, but not the same one: all ranks must make "
            "the same "
            "collective calls in the same order");
}

}  // namespace
}  // namespace penstock
