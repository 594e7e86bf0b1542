// Multigrid in a device's memory, with the CPU as the device and 1, 2 and 4 threads: levels and cycles are those of the CPU's own set-up.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/solver/multigrid/gpu/cycle_gpu.hpp"
#include "penstock/solver/multigrid/gpu/hierarchy_gpu.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// The Laplacian of a path of n vertices, closed to a ring, plus 0.01: every vertex joins its two neighbours and those `step` away.
Csr<double> ring(std::int64_t n, std::int64_t step) {
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  std::vector<double> values;
  for (std::int64_t r = 0; r < n; ++r) {
    std::vector<std::int64_t> to{(r + 1) % n, (r + n - 1) % n, (r + step) % n, (r + n - step) % n, r};
    std::sort(to.begin(), to.end());
    for (const auto c : to) indices.push_back(static_cast<Index>(c)), values.push_back(c == r ? 4.01 : -1);
    indptr.push_back(std::ssize(indices));
  }
  return {n, n, test::array_of(indptr), test::array_of(indices), test::array_of(values)};
}

TEST(MultigridOnDevice, HasTheCpusLevelsForAnyThreads) {
  const auto a = ring(4000, 63);
  const std::vector<double> ones(std::size_t(a.rows), 1.0);
  AmgOptions o;
  o.max_coarse = 30, o.cycle = AmgCycle::w;
  const auto host = build_hierarchy<double>(a, ones, 1, o);
  ASSERT_GE(host->levels.size(), 3u);
  std::vector<double> z(ones.size()), expected(ones.size());
  const auto b = test::vector_of<double>(a.rows, 3);
  multigrid<double, double>(host, 1).apply(b, expected);
  const auto before = num_threads();
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    const auto there = build_hierarchy_on<double>(a, {}, 1, o, Where{});
    ASSERT_EQ(there->levels.size(), host->levels.size());
    for (std::size_t l = 0; l < host->levels.size(); ++l) {
      EXPECT_EQ(there->levels[l].a.nnz(), host->levels[l].a.nnz());
      const auto &x = there->levels[l].aggregates.of, &y = host->levels[l].aggregates.of;
      ASSERT_EQ(x.size, y.size);
      for (std::int64_t v = 0; v < x.size; ++v) ASSERT_EQ(x.data[v], y.data[v]);
    }
    multigrid_on<double, double>(there, 1).apply(b, z);
    for (std::size_t i = 0; i < z.size(); ++i) ASSERT_NEAR(z[i], expected[i], 1e-9);
  }
  set_num_threads(before);
}

TEST(MultigridOnDevice, AppliesTheCpusLevelsOfAMatrixThatIsNotSymmetric) {
  auto a = ring(3000, 51);
  std::vector<double> values(a.values.data, a.values.data + a.nnz());
  for (std::int64_t r = 0; r < a.rows; ++r)  // wind along the ring
    for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k) {
      if (a.indices.data[k] == (r + a.rows - 1) % a.rows) values[std::size_t(k)] -= 3;
      if (a.indices.data[k] == r) values[std::size_t(k)] += 3;
    }
  a.values = test::array_of(values);
  AmgOptions o;
  o.symmetric = false, o.l1_jacobi = true, o.max_coarse = 30;
  const auto host = build_hierarchy<double>(a, std::vector<double>(3000, 1.0), 1, o);
  const auto there = build_hierarchy_on<double>(a, {}, 1, o, Where{});
  const auto again = build_hierarchy_on<double>(a, {}, 1, o, Where{}, there.get());
  ASSERT_GE(host->levels.size(), 3u);
  const auto b = test::vector_of<double>(a.rows, 4);
  std::vector<double> expected(b.size()), z(b.size());
  multigrid<double, double>(host, 1).apply(b, expected);
  for (const auto& h : {there, again}) {
    multigrid_on<double, double>(h, 1).apply(b, z);
    for (std::size_t i = 0; i < z.size(); ++i) ASSERT_NEAR(z[i], expected[i], 1e-9);
  }
  EXPECT_TRUE(same_pattern_on(a, there->levels[0].a, Stream{}));
  EXPECT_FALSE(same_pattern_on(a, ring(3000, 50), Stream{}));
}

TEST(MultigridOnDevice, HasTheCpusCycleOfConjugateGradients) {
  const auto a = ring(4000, 63);
  const std::vector<double> ones(std::size_t(a.rows), 1.0);
  std::vector<double> z(ones.size()), expected(ones.size());
  AmgOptions o;
  o.max_coarse = 12, o.cycle = AmgCycle::k;
  for (const int degree : {1, 3}) {  // two steps of each visit, and often one
    o.degree = degree;
    const auto host = build_hierarchy<double>(a, ones, 1, o);
    const auto there = build_hierarchy_on<double>(a, {}, 1, o, Where{});
    ASSERT_GE(host->levels.size(), 4u);
    const auto b = test::vector_of<double>(a.rows, 3);
    multigrid<double, double>(host, 1).apply(b, expected);
    multigrid_on<double, double>(there, 1).apply(b, z);
    for (std::size_t i = 0; i < z.size(); ++i) ASSERT_NEAR(z[i], expected[i], 1e-9);
    multigrid_on<double, double>(there, 1).apply(std::vector<double>(b.size(), 0.0), z);
    for (const auto v : z) ASSERT_EQ(v, 0);
  }
}

/// A as it is where it does not fit the device: its products counted.
template <class T>
StreamedFinest<T> streamed(const Csr<T>& a, int& products, Offset block_nnz) {
  StreamedFinest<T> finest{device_op<T, T>(a), 0, block_nnz};
  finest.product.apply = [&products, inner = finest.product.apply](const T* x, T* y, Stream stream) {
    ++products;
    inner(x, y, stream);
  };
  return finest;
}

TEST(MultigridOnDevice, SetsUpAFinestLevelInBlocksOfRows) {
  const auto a = ring(4000, 63);
  AmgOptions o;
  o.max_coarse = 30, o.degree = 3;
  const auto whole = build_hierarchy_on<double>(a, {}, 1, o, Where{});
  const auto b = test::vector_of<double>(a.rows, 3);
  std::vector<double> z(b.size()), expected(b.size());
  multigrid_on<double, double>(whole, 1).apply(b, expected);
  for (const Offset block : {60, 777, 5 * 4000, 0}) {
    int products = 0;
    const auto finest = streamed(a, products, block);
    const auto h = build_hierarchy_on<double>(a, {}, 1, o, Where{}, nullptr, &finest);
    ASSERT_EQ(h->levels.size(), whole->levels.size());
    EXPECT_TRUE(h->streamed());
    for (std::size_t l = 0; l < h->levels.size(); ++l) {
      const auto &x = h->levels[l].a, &y = whole->levels[l].a;
      ASSERT_TRUE(same_pattern_on(x, y, Stream{}));
      for (std::int64_t k = 0; k < x.nnz(); ++k) ASSERT_NEAR(x.values.data[k], y.values.data[k], 1e-12);
    }
    EXPECT_EQ(h->device_bytes(), whole->device_bytes() - a.bytes());
    products = 0;
    multigrid_on<double, double>(h, 1).apply(b, z);
    EXPECT_EQ(products, 2 * o.degree);
    for (std::size_t i = 0; i < z.size(); ++i) ASSERT_NEAR(z[i], expected[i], 1e-9);
    const auto again = build_hierarchy_on<double>(a, {}, 1, o, Where{}, h.get(), &finest);
    EXPECT_EQ(again->levels.back().a.nnz(), h->levels.back().a.nnz());
  }
}

TEST(MultigridOnDevice, KeepsToTheMemoryOfAStreamedLevel) {
  const auto a = ring(4000, 63);
  AmgOptions o;
  o.max_coarse = 30;
  int products = 0;
  auto finest = streamed(a, products, 1000);
  finest.memory = build_hierarchy_on<double>(a, {}, 1, o, Where{}, nullptr, &finest)->device_bytes();
  EXPECT_NO_THROW(build_hierarchy_on<double>(a, {}, 1, o, Where{}, nullptr, &finest));
  for (const auto less : {finest.memory - 1, std::int64_t{1000}}) {
    finest.memory = less;
    try {
      build_hierarchy_on<double>(a, {}, 1, o, Where{}, nullptr, &finest);
      FAIL() << "it fits no longer";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::out_of_memory);
      EXPECT_NE(std::string(e.what()).find(std::to_string(less)), std::string::npos);
    }
  }
  o.symmetric = false, o.l1_jacobi = true;
  EXPECT_THROW(build_hierarchy_on<double>(a, {}, 1, o, Where{}, nullptr, &finest), Error);
}

TEST(MultigridOnDevice, RefusesWhatTheCpuRefuses) {
  auto a = ring(200, 7);
  std::vector<double> values(a.values.data, a.values.data + a.nnz());
  values[0] = -5;  // not symmetric
  a.values = test::array_of(values);
  AmgOptions o;
  EXPECT_THROW(build_hierarchy_on<double>(a, {}, 1, o, Where{}), Error);
}

}  // namespace
}  // namespace penstock
