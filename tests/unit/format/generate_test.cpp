#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/io/generate/direct.hpp"
#include "penstock/io/generate/generate_bter.hpp"
#include "penstock/io/generate/generate_rmat.hpp"
#include "penstock/io/generate/generate_road.hpp"
#include "penstock/io/generate/generate_stencil.hpp"
#include "penstock/io/generate/generate_uniform.hpp"
#include "penstock/io/random.hpp"

namespace penstock {
namespace {

template <class V>
bool same(const Csr<V>& a, const Csr<V>& b) {
  const auto equal = []<class T>(const Array<const T>& x, const Array<const T>& y) {
    return x.size == y.size &&
           (x.size == 0 || std::memcmp(x.data, y.data, static_cast<std::size_t>(x.bytes())) == 0);
  };
  return a.rows == b.rows && a.cols == b.cols && equal(a.indptr, b.indptr) && equal(a.indices, b.indices) &&
         (is_pattern<V> || equal(a.values, b.values));
}

template <class Make>
void expect_same_for_any_threads(Make&& make) {
  const int before = num_threads();
  set_num_threads(1);
  const auto one = make();
  validate(one, true);
  for (const int threads : {2, 3}) {
    set_num_threads(threads);
    EXPECT_TRUE(same(one, make())) << threads << " threads";
  }
  set_num_threads(before);
}

TEST(Random, DrawsAreUniformAndStreamsDiffer) {
  const Random random(1, 1), other(1, 2), later(2, 1);
  std::vector<int> counts(16);
  int equal = 0;
  for (std::uint64_t i = 0; i < 160'000; ++i) {
    ++counts[static_cast<std::size_t>(below(random(i), 16))];
    equal += random(i) == other(i) || random(i) == later(i) || random(i) == random(i + 1);
  }
  EXPECT_EQ(equal, 0);
  for (const int c : counts) EXPECT_NEAR(c, 10'000, 500);
  EXPECT_EQ(unit<double>(~0ull), 1.0);
  EXPECT_EQ(unit<float>(~0ull), 1.0f);
  EXPECT_GT(unit<float>(0), 0.0f);
}

TEST(Random, ScrambleIsABijection) {
  for (const std::int64_t n : {1, 2, 3, 7, 64, 1000, 4097}) {
    const Scramble scramble(5, n, true);
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < n; ++i) seen.insert(scramble(i));
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), n);
    EXPECT_GE(*seen.begin(), 0);
    EXPECT_LT(*seen.rbegin(), n);
    EXPECT_EQ(Scramble(5, n, false)(n - 1), n - 1);
  }
}

TEST(Random, AliasTableFollowsTheWeights) {
  const std::vector<double> weights{0, 5, 1, 0.25, 3, 0, 0.75};
  const AliasTable table(weights);
  const Random random(3, 3);
  std::vector<double> share(weights.size());
  constexpr int kDraws = 400'000;
  for (int i = 0; i < kDraws; ++i)
    share[static_cast<std::size_t>(table(random(static_cast<std::uint64_t>(i))))] += 10.0 / kDraws;
  for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(share[i], weights[i], 0.05) << i;
  EXPECT_EQ(share[0] + share[5], 0);
}

TEST(Generate, SameForAnyNumberOfThreads) {
  expect_same_for_any_threads([] { return generate_rmat({.scale = 13, .seed = 4}); });
  expect_same_for_any_threads([] {
    return with_uniform_values<float>(generate_rmat({.scale = 12, .undirected = false, .self_loops = true}),
                                      4, false);
  });
  expect_same_for_any_threads(
      [] { return generate_uniform({.rows = 90'000, .cols = 1000, .nnz_per_row = 3.5}); });
  expect_same_for_any_threads([] { return generate_banded(90'000, {-5, 0, 70'000}); });
  expect_same_for_any_threads([] { return generate_advection_diffusion<double>(40); });
  expect_same_for_any_threads([] { return generate_laplacian<float>({100, 200, 3}); });
  expect_same_for_any_threads([] { return generate_road<double>({.nx = 300, .ny = 200, .seed = 1}); });
  expect_same_for_any_threads([] {
    const auto degrees = ideal_degrees(1 << 13, 16, 400);
    return generate_bter(degrees, ideal_clustering(degrees, 0.5, 0.2), {.seed = 3});
  });
}

TEST(Generate, EveryPairOfABlockOnce) {
  // Clustering 1 joins every pair: whole cliques, whatever the cut of the pair sequence into chunks.
  std::vector<std::int64_t> degrees(401);
  degrees[400] = 401 * 5, degrees[2] = 3 * 7000;
  const auto a = generate_bter(degrees, std::vector<double>(401, 1.0), {.scramble = false});
  ASSERT_EQ(a.nnz(), 400 * degrees[400] + 2 * degrees[2]);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const std::int64_t size = r < degrees[2] ? 3 : 401, start = r < degrees[2] ? 0 : degrees[2];
    const auto block = start + (r - start) / size * size;
    ASSERT_EQ(a.indptr.data[r + 1] - a.indptr.data[r], size - 1);
    EXPECT_EQ(a.indices.data[a.indptr.data[r]], block == r ? block + 1 : block);
  }
}

TEST(Generate, RefusesBeforeItAllocates) {
  EXPECT_THROW(generate_rmat({.scale = 0}), Error);
  EXPECT_THROW(generate_rmat({.scale = 31}), Error);
  EXPECT_THROW(generate_rmat({.scale = 4, .a = 0.9, .b = 0.2, .c = 0}), Error);
  EXPECT_THROW(generate_uniform({.rows = 1, .cols = std::int64_t{1} << 31}), Error);
  EXPECT_THROW(generate_laplacian<double>({}), Error);
  try {
    generate_rmat({.scale = 30, .edge_factor = 10'000});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::out_of_memory);
  }
}

}  // namespace
}  // namespace penstock
