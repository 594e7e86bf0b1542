#include "penstock/kernel/vectors/basis_rows.hpp"

#include <gtest/gtest.h>

#include <complex>
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

}  // namespace
}  // namespace penstock
