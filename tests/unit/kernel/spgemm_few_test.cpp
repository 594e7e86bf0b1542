#include "penstock/kernel/spgemm/spgemm_few.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace penstock {
namespace {

#if defined(__x86_64__)
TEST(SpgemmFew, SortsAnyNumberOfKeys) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this CPU has no AVX2";
  std::mt19937 rng(4);
  for (int n = 0; n <= kFew; ++n)
    for (int turn = 0; turn < 50; ++turn) {
      std::vector<std::uint32_t> keys(kFew, 7);
      for (int i = 0; i < n; ++i)
        keys[static_cast<std::size_t>(i)] = turn % 2
                                                ? static_cast<std::uint32_t>(rng())
                                                : (rng() % 5) << kFewBits | static_cast<std::uint32_t>(i);
      auto expected = keys;
      std::sort(expected.begin(), expected.begin() + n);
      avx2::sort_few(keys.data(), n);
      ASSERT_TRUE(std::equal(expected.begin(), expected.begin() + n, keys.begin())) << n;
    }
}
#endif

TEST(SpgemmFew, LargestKeyIsNone) {
  // What fills the rest of a register comes last, also behind the last column.
  constexpr auto most = static_cast<std::uint32_t>(kFewColumns - 1) << kFewBits | (kFew - 1);
  EXPECT_LT(most, ~std::uint32_t{0});
}

}  // namespace
}  // namespace penstock
