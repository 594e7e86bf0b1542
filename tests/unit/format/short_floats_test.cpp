// Numbers of 16 bits: every one of them, and rounding to them against neighbours that are found by counting.
#include "penstock/format/short_floats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "penstock/core/error.hpp"
#include "penstock/format/pack_values.hpp"
#include "support.hpp"

namespace penstock {
namespace {

const ShortFloat& kBfloat16 = kShortFloats[0];
const ShortFloat& kFloat16 = kShortFloats[1];

/// What the standard says of a pattern of bits: sign, exponent and fraction.
double by_definition(std::uint32_t bits, int fraction_bits, int bias) {
  const auto fraction = static_cast<double>(bits & ((1u << fraction_bits) - 1)) / (1 << fraction_bits);
  const int exponent = static_cast<int>(bits >> fraction_bits & ((1u << (15 - fraction_bits)) - 1));
  const double size =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return bits >> 15 ? -size : size;
}

template <class S>
void check_all(int fraction_bits, int bias, const ShortFloat& type) {
  double most = 0, least = 1;
  for (std::uint32_t bits = 0; bits < 1u << 16; ++bits) {
    const bool finite =
        (bits >> fraction_bits & ((1u << (15 - fraction_bits)) - 1)) != (1u << (15 - fraction_bits)) - 1;
    if (!finite) continue;
    const auto v = static_cast<float>(S::of(static_cast<std::uint16_t>(bits)));
    ASSERT_EQ(static_cast<double>(v), by_definition(bits, fraction_bits, bias)) << bits;
    ASSERT_EQ(std::signbit(v), bits >> 15 != 0);
    ASSERT_EQ(S(v).bits, bits);
    ASSERT_TRUE((holds<S, float>(v)));
    ASSERT_TRUE((holds<S, double>(v)));
    ASSERT_EQ(rounded(v, type), v);
    most = std::max(most, std::abs(static_cast<double>(v)));
    if (v > 0) least = std::min(least, static_cast<double>(v));
  }
  EXPECT_EQ(most, type.most);
  EXPECT_EQ(least, type.smallest);
}

TEST(ShortFloats, AreWhatTheirBitsSay) {
  check_all<Bfloat16>(7, 127, kBfloat16);
  check_all<Float16>(10, 15, kFloat16);
}

TEST(ShortFloats, RoundToTheNearestOfTwoToTheEvenOne) {
  // All positive numbers in order; the pattern of the next larger one is the next pattern.
  const auto check = [](const ShortFloat& type, int fraction_bits, int bias) {
    const auto value = [&](std::uint32_t bits) { return by_definition(bits, fraction_bits, bias); };
    std::mt19937_64 random(7);
    const auto last = static_cast<std::uint32_t>(((1 << (15 - fraction_bits)) - 1) << fraction_bits) - 1;
    for (int i = 0; i < 20000; ++i) {
      const auto low = static_cast<std::uint32_t>(random() % last);
      const double a = value(low), b = value(low + 1), middle = (a + b) / 2;
      const double even = low % 2 == 0 ? a : b;
      ASSERT_EQ(rounded(middle, type), even);
      ASSERT_EQ(rounded(-middle, type), -even);
      ASSERT_EQ(rounded(std::nextafter(middle, a), type), a);
      ASSERT_EQ(rounded(std::nextafter(middle, b), type), b);
    }
    const double step = value(last) - value(last - 1);
    EXPECT_EQ(rounded(value(last) + 0.49 * step, type), value(last));
    EXPECT_TRUE(std::isinf(rounded(value(last) + 0.51 * step, type)));
  };
  check(kBfloat16, 7, 127);
  check(kFloat16, 10, 15);
}

TEST(ShortFloats, HoldNothingElse) {
  for (const double v : {1.0 + 0x1p-8, 1e300, 0x1p-134, 0.1}) EXPECT_FALSE((holds<Bfloat16, double>(v))) << v;
  for (const double v : {1.0 + 0x1p-11, 65520.0, 0x1p-25, 0.1, 1e300, double(INFINITY), double(NAN)})
    EXPECT_FALSE((holds<Float16, double>(v))) << v;
}

Csr<double> row_of(std::vector<double> values) {
  std::vector<Index> columns(values.size());
  for (std::size_t k = 0; k < columns.size(); ++k) columns[k] = static_cast<Index>(k);
  const std::vector<Offset> indptr{0, 1, std::ssize(values)};
  return {2, std::ssize(values), test::array_of(indptr), test::array_of(columns), test::array_of(values)};
}

TEST(ShortFloats, ARowThatIsOutOfRangeIsNamed) {
  const auto message = [](std::vector<double> values, const ShortFloat& type) -> std::string {
    try {
      rounded(row_of(std::move(values)), type);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message({1, 65519.9, -0.0, 0.0}, kFloat16), "");
  EXPECT_NE(message({1, 2, 65520}, kFloat16).find("row 1 is 65520"), std::string::npos);
  EXPECT_NE(message({1e-9, 2, 3}, kFloat16).find("row 0 is 1e-09"), std::string::npos);
  EXPECT_NE(message({1, 1e39}, kBfloat16).find("row 1 is 1e+39"), std::string::npos);
  EXPECT_NE(message({1, NAN}, kBfloat16).find("finite"), std::string::npos);
}

template <class V>
void check_packed(const ShortFloat& type, ValueKind kind) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> values(3000);
  for (auto& v : values) v = normal(random);
  const auto wide = row_of(values);
  std::vector<V> as(values.begin(), values.end());
  const Csr<V> a{wide.rows, wide.cols, wide.indptr, wide.indices, test::array_of(as)};
  const auto r = rounded(a, type);
  EXPECT_NE(pack(a).kind, kind);
  const auto p = pack(r);
  ASSERT_EQ(p.kind, kind);
  EXPECT_EQ(value_bits(p.kind, sizeof(V)), 16);
  validate(p, true);
  const auto back = unpack(p);
  for (std::int64_t k = 0; k < r.nnz(); ++k) {
    ASSERT_EQ(bits_of(back.values.data[k]), bits_of(r.values.data[k]));
    ASSERT_LE(std::abs(r.values.data[k] - a.values.data[k]), type.unit * std::abs(a.values.data[k]));
  }
}

TEST(ShortFloats, TakeTwoBytesInThePackedForm) {
  check_packed<float>(kBfloat16, ValueKind::bfloat16);
  check_packed<double>(kBfloat16, ValueKind::bfloat16);
  check_packed<float>(kFloat16, ValueKind::float16);
  check_packed<double>(kFloat16, ValueKind::float16);
}

}  // namespace
}  // namespace penstock
