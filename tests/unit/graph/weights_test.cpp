// What one pass finds out about weights, by plain loops and with vectors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"
#include "penstock/graph/sssp/weights.hpp"
#include "penstock/graph/sssp/weights_look.hpp"
#include "support.hpp"

namespace penstock {
namespace {

using graph::LookArgs;
using graph::WeightsFound;
using test::array_of;

template <class V>
WeightsFound with_vectors(const LookArgs<V>& p) {
  if constexpr (kSimdFamily == SimdFamily::x86)
    if (simd_level() == Simd::avx512) return graph::avx512::look_at_weights(p);
  return graph::look_at_weights(p);
}

enum class Kind { bytes, shorts, words, fractions, endless, negative, nan, zeros };

template <class V>
std::vector<V> weights(Kind kind, std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  const auto most = kind == Kind::shorts ? 60'000U : kind == Kind::words ? 2'000'000'000U : 250U;
  std::vector<V> out;
  for (std::int64_t k = 0; k < count; ++k) out.push_back(static_cast<V>(random() % most));
  auto& one = out[random() % out.size()];
  if (kind == Kind::fractions) one = V(0.5);
  if (kind == Kind::endless) one = std::numeric_limits<V>::infinity();
  if (kind == Kind::negative) one = V(-3);
  if (kind == Kind::nan) one = std::numeric_limits<V>::quiet_NaN();
  if (kind == Kind::zeros)
    for (auto& w : out) w = random() % 2 ? V(0) : -V(0);
  return out;
}

template <class V, class N>
void check_look(Kind kind, std::int64_t count) {
  const auto w = weights<V>(kind, count, unsigned(count));
  std::mt19937 random(unsigned(count) + 1);
  std::vector<Index> columns;
  std::vector<std::uint32_t> rows;
  for (std::int64_t k = 0; k < count; ++k)
    columns.push_back(Index(random() % 0x7fffffff)), rows.push_back(random() % 0x7fffffff);
  columns[0] = Index(rows[0]);  // on the diagonal
  std::vector<N> one(w.size() + 1, N(77)), other = one;
  LookArgs<V> p{w.data(), columns.data(), rows.data(), count, one.data(), int(sizeof(N))};
  const auto plain = graph::look_at_weights(p);
  p.narrow = other.data();
  const auto fast = with_vectors(p);
  std::uint64_t mirror = 0;
  V smallest = std::numeric_limits<V>::infinity(), largest = 0;
  bool whole = true;
  for (std::size_t k = 0; k < w.size(); ++k) {
    mirror += graph::mirror_hash(rows[k], std::uint32_t(columns[k]), graph::bits_of_weight(w[k]));
    whole = whole && w[k] >= 0 && w[k] <= graph::kLargestWhole && std::floor(w[k]) == w[k];
    if (std::isfinite(w[k])) smallest = std::min(smallest, w[k]), largest = std::max(largest, w[k]);
  }
  const bool is_nan = kind == Kind::nan, bad = is_nan || kind == Kind::negative;
  for (const auto& found : {plain, fast}) {
    EXPECT_EQ(found.good, !bad);
    EXPECT_EQ(found.finite, kind != Kind::endless && !is_nan);
    EXPECT_TRUE(is_nan || found.mirror == mirror);
    if (bad) continue;
    EXPECT_EQ(found.whole, whole);
    EXPECT_EQ(found.smallest, double(smallest));
    EXPECT_EQ(found.largest, double(largest));
    EXPECT_EQ(found.sum, plain.sum);
  }
  const bool fits = double(largest) <= double(std::numeric_limits<N>::max());
  for (std::size_t k = 0; whole && fits && k < w.size(); ++k) {
    EXPECT_EQ(double(one[k]), double(w[k]));
    EXPECT_EQ(double(other[k]), double(w[k]));
  }
  EXPECT_EQ(one.back(), N(77));
  EXPECT_EQ(other.back(), N(77));  // nothing is written behind the last one
}

TEST(Weights, LooksAgree) {
  for (const auto kind : {Kind::bytes, Kind::shorts, Kind::words, Kind::fractions, Kind::endless,
                          Kind::negative, Kind::nan, Kind::zeros})
    for (const std::int64_t count : {1, 7, 8, 15, 16, 17, 31, 1000}) {
      check_look<float, std::uint8_t>(kind, count);
      check_look<double, std::uint8_t>(kind, count);
      check_look<float, std::uint16_t>(kind, count);
      check_look<double, std::uint16_t>(kind, count);
      check_look<float, std::uint32_t>(kind, count);
      check_look<double, std::uint32_t>(kind, count);
    }
}

/// A cycle whose edges go both ways, so that there are more ranges than one, with the same weight or another.
template <class V>
Csr<V> cycle(std::int64_t rows, std::int64_t other_at, V other) {
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  std::vector<V> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (const auto j : {(i + rows - 1) % rows, (i + 1) % rows}) {
      indices.push_back(Index(j));
      values.push_back(V(8 + std::min(i, j) % 65));
    }
    indptr.push_back(std::ssize(indices));
  }
  if (other_at >= 0) values[std::size_t(other_at)] = other;
  return {rows, rows, array_of(indptr), array_of(indices), array_of(values)};
}

template <class V>
void check_cycle() {
  for (const std::int64_t rows : {5, 100'000}) {
    const auto same = cycle<V>(rows, -1, 0);
    EXPECT_TRUE(symmetric_weights(same));
    EXPECT_EQ(path_weights(same, {.symmetric = true}).symmetric, true);
    EXPECT_EQ(path_weights(same).symmetric, std::nullopt);
    EXPECT_EQ(path_weights(same).mean, path_weights(same, {.symmetric = true}).mean);
    EXPECT_EQ(path_weights(same).bytes(), same.nnz());
    EXPECT_EQ(path_weights(same, {.narrow = false}).bytes(), 0);
    for (const auto at : {std::int64_t(3), same.nnz() - 2}) {
      const auto one = cycle<V>(rows, at, V(300));  // found by no sample of the large one
      EXPECT_FALSE(symmetric_weights(one));
      const auto found = path_weights(one, {.symmetric = true});
      EXPECT_EQ(found.symmetric, false);
      EXPECT_EQ(found.bytes(), 2 * one.nnz());  // though the sample says a byte
      EXPECT_EQ(std::get<Array<std::uint16_t>>(found.whole).data[at], 300);
      EXPECT_EQ(path_weights(cycle<V>(rows, at, V(0.5))).bytes(), 0);
    }
  }
}

TEST(Weights, OnePassAnswersAll) { check_cycle<float>(), check_cycle<double>(); }

TEST(Weights, OfNoEdges) {
  const Csr<double> none{3, 3, array_of(std::vector<Offset>(4)), {}, {}};
  const auto found = path_weights(none, {.symmetric = true});
  EXPECT_EQ(found.symmetric, true);
  EXPECT_TRUE(std::holds_alternative<Array<std::uint8_t>>(found.whole));
  EXPECT_EQ(found.smallest, 0);
}

}  // namespace
}  // namespace penstock
