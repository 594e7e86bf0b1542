#include "penstock/kernel/basis/basis_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

template <class T>
class BasisRows : public testing::Test {
 protected:
  static constexpr std::int64_t kCount = 7, kColumns = 3, kStride = 20'011, kLength = 20'003;

  static T draw(std::mt19937& rng) {
    std::uniform_real_distribution<double> one(-1, 1);
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(one(rng));
    else
      return T(static_cast<typename T::value_type>(one(rng)), static_cast<typename T::value_type>(one(rng)));
  }
  static std::complex<double> wide(T x) { return x; }
  static std::complex<double> conjugate(T x) { return std::conj(wide(x)); }
  static double allowed() {
    return std::is_same_v<T, float> || std::is_same_v<T, std::complex<float>> ? 2e-2 : 1e-9;
  }

  BasisRows() : q(kCount * kStride), v(kColumns * kStride), h(kCount * kColumns) {
    std::mt19937 rng(5);
    for (auto* all : {&q, &v, &h})
      for (auto& x : *all) x = draw(rng);
  }
  ~BasisRows() override { set_num_threads(1); }
  VectorRows<const T> basis() const { return {q.data(), kCount, kStride, kLength}; }
  VectorRows<const T> vectors() const { return {v.data(), kColumns, kStride, kLength}; }

  std::vector<T> q, v, h;
};

using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(BasisRows, Types);

TYPED_TEST(BasisRows, DotsAreInnerProductsWithTheSameBitsForAnyThreads) {
  std::vector<TypeParam> one(this->h.size()), three(this->h.size());
  set_num_threads(1);
  basis_dots(this->basis(), this->vectors(), one.data());
  set_num_threads(3);
  basis_dots(this->basis(), this->vectors(), three.data());
  EXPECT_EQ(one, three);
  for (std::int64_t i = 0; i < this->kCount; ++i)
    for (std::int64_t c = 0; c < this->kColumns; ++c) {
      std::complex<double> sum = 0;
      for (std::int64_t j = 0; j < this->kLength; ++j)
        sum += this->conjugate(this->q[i * this->kStride + j]) * this->wide(this->v[c * this->kStride + j]);
      EXPECT_LT(std::abs(sum - this->wide(one[i * this->kColumns + c])), this->allowed()) << i << ' ' << c;
    }
}

TYPED_TEST(BasisRows, SubtractsAndLeavesWhatLiesBetweenTheRows) {
  set_num_threads(3);
  auto left = this->v;
  basis_subtract(this->basis(), this->h.data(), {left.data(), this->kColumns, this->kStride, this->kLength});
  for (std::int64_t c = 0; c < this->kColumns; ++c)
    for (std::int64_t j = 0; j < this->kStride; ++j) {
      auto expected = this->wide(this->v[c * this->kStride + j]);
      if (j < this->kLength)
        for (std::int64_t i = 0; i < this->kCount; ++i)
          expected -=
              this->wide(this->h[i * this->kColumns + c]) * this->wide(this->q[i * this->kStride + j]);
      ASSERT_LT(std::abs(expected - this->wide(left[c * this->kStride + j])), 1e-5) << c << ' ' << j;
    }
}

TYPED_TEST(BasisRows, OrthogonalisesInPassesAndKeepsTheSum) {
  using Real = decltype(std::real(TypeParam{}));
  const double eps = std::numeric_limits<Real>::epsilon();
  constexpr std::int64_t kOnes = 6;
  std::vector<TypeParam> q(this->q.begin(), this->q.begin() + kOnes * this->kStride),
      h(kOnes * this->kColumns);
  for (std::int64_t i = 0; i < kOnes; ++i) {  // orthonormal, by the function itself, row by row
    std::vector<TypeParam> ignored(static_cast<std::size_t>(i));
    double before = 0, after = 0;
    TypeParam* row = q.data() + i * this->kStride;
    basis_orthogonalise<TypeParam>({q.data(), i, this->kStride, this->kLength}, i,
                                   {row, 1, this->kStride, this->kLength}, ignored.data(), &before, &after);
    for (std::int64_t j = 0; j < this->kLength; ++j) row[j] /= static_cast<Real>(std::sqrt(after));
  }
  const VectorRows<const TypeParam> basis{q.data(), kOnes, this->kStride, this->kLength};
  // The last vector is nearly in the span: its third pass is needed.
  for (std::int64_t j = 0; j < this->kLength; ++j) {
    auto& x = this->v[2 * this->kStride + j];
    x = q[j] + q[3 * this->kStride + j] + x * static_cast<Real>(std::sqrt(eps));
  }
  auto left = this->v;
  std::vector<double> sizes(2 * this->kColumns);
  std::vector<std::vector<TypeParam>> made;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    left = this->v;
    basis_orthogonalise(basis, 4, {left.data(), this->kColumns, this->kStride, this->kLength}, h.data(),
                        sizes.data(), sizes.data() + this->kColumns);
    made.push_back(left);
  }
  EXPECT_EQ(made[0], made[1]);
  std::vector<TypeParam> dots(h.size());
  basis_dots<TypeParam>(basis, {left.data(), this->kColumns, this->kStride, this->kLength}, dots.data());
  auto again = left;
  for (auto& x : h) x = -x;
  basis_subtract(basis, h.data(), {again.data(), this->kColumns, this->kStride, this->kLength});
  for (std::int64_t c = 0; c < this->kColumns; ++c) {
    double was = 0, is = 0;
    for (std::int64_t j = 0; j < this->kLength; ++j) {
      const auto at = c * this->kStride + j;
      was += std::norm(this->wide(this->v[at])), is += std::norm(this->wide(left[at]));
      ASSERT_LT(std::abs(this->wide(again[at]) - this->wide(this->v[at])), 20 * eps) << c << ' ' << j;
    }
    EXPECT_NEAR(sizes[c] / was, 1, 1e3 * eps);
    EXPECT_NEAR(sizes[this->kColumns + c] / is, 1, 1e3 * eps);
    for (std::int64_t i = 0; i < kOnes; ++i)
      EXPECT_LT(std::abs(this->wide(dots[i * this->kColumns + c])) / std::sqrt(is), 100 * eps)
          << i << ' ' << c;
  }
}

TYPED_TEST(BasisRows, LeavesWhatIsNotFinite) {
  this->v[5] = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sizes(2 * this->kColumns);
  basis_orthogonalise(this->basis(), 3, {this->v.data(), this->kColumns, this->kStride, this->kLength},
                      this->h.data(), sizes.data(), sizes.data() + this->kColumns);
  EXPECT_TRUE(std::isnan(sizes[0]));
  EXPECT_TRUE(std::isfinite(sizes[1]));
}

}  // namespace
}  // namespace penstock
