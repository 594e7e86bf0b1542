#include "penstock/io/webgraph/bv_graph.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/io/webgraph/bv_reader.hpp"

namespace penstock {
namespace {

std::string gamma(std::uint64_t n) {
  const int length = std::bit_width(n + 1) - 1;
  std::string out(std::size_t(length), '0');
  for (int i = length; i >= 0; --i) out += (n + 1) >> i & 1 ? '1' : '0';
  return out;
}

/// Of exactly as many bytes as there are: a sanitizer sees a read behind them.
Array<const std::uint8_t> bytes_of(const std::string& bits) {
  auto* const bytes = new std::uint8_t[bits.size() / 8 + 1]();
  const std::shared_ptr<void> owner(bytes, [](void* p) { delete[] static_cast<std::uint8_t*>(p); });
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i] == '1') bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] | 128 >> i % 8);
  return {bytes, std::int64_t(bits.size() + 7) / 8, {}, owner};
}

TEST(BvReader, ReadsGammaOfEveryLengthAtEveryBit) {
  for (int shift = 0; shift < 64; ++shift) {
    std::string bits(std::size_t(shift), '0');
    std::vector<std::uint64_t> numbers;
    for (int i = 0; i <= 40; ++i) numbers.push_back((std::uint64_t(1) << i) - 1 + std::uint64_t(i) / 2);
    for (const auto n : numbers) bits += gamma(n);
    const auto held = bytes_of(bits);
    BvReader in(held);
    in.seek(shift);
    for (const auto n : numbers) ASSERT_EQ(in.gamma(), n) << shift;
    EXPECT_EQ(in.at(), std::int64_t(bits.size()));
    EXPECT_THROW(in.gamma(), BvFault);
  }
}

TEST(BvReader, RefusesWhatEndsOrIsTooLarge) {
  for (const std::string& bits :
       {std::string(), std::string(7, '0'), std::string(1000, '0'), gamma(1ull << 45)}) {
    const auto held = bytes_of(bits);
    EXPECT_THROW(BvReader(held).gamma(), BvFault);
    EXPECT_THROW(BvReader(held).delta(), BvFault);
    EXPECT_THROW(BvReader(held).nibble(), BvFault);
    for (int k = 1; k <= 8; ++k) EXPECT_THROW(BvReader(held).zeta(k), BvFault) << bits.size() << ' ' << k;
  }
}

TEST(BvGraph, ReadsListsThatCopyOneAnother) {
  // Vertex 0: 1 2 3 4 as an interval; vertex 1 copies it; vertex 2 has none; vertex 3 copies all but 2, and has 0.
  const auto bits =
      gamma(4) + "1" + gamma(1) + gamma(2) + gamma(0) +               // intervals from 1, of the least length
      gamma(4) + "01" + gamma(0) +                                    // no blocks: everything
      gamma(0) + gamma(4) + "001" + gamma(2) + gamma(1) + gamma(0) +  // 1, not the next one, the rest
      gamma(0) + "1110" +  // no intervals; -3 is written as 5 in zeta
      gamma(0);
  const BvParameters p{.nodes = 5, .arcs = 12};
  const auto held = bytes_of(bits);
  const auto a = open_bv_graph(p, held, nullptr);
  const auto csr = to_csr(a);
  const std::vector<Index> expected{1, 2, 3, 4, 1, 2, 3, 4, 0, 1, 3, 4};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), csr.indices.data));
  const auto packed = to_packed(a);
  validate(packed, true);
  const auto again = unpack(packed);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), again.indices.data));
}

TEST(BvGraph, DamageIsAnErrorOrAGraph) {
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bits;
    for (int i = 0; i < 24; ++i) bits += random() % 3 ? gamma(random() % 9) : std::string(random() % 4, '1');
    const auto held = bytes_of(bits);
    BvParameters p{.nodes = std::int64_t(random() % 12), .arcs = std::int64_t(random() % 12)};
    if (random() % 2) p.residuals = BvCode(random() % 5), p.blocks = BvCode(random() % 3);
    const auto offsets =
        bytes_of(std::string(random() % 9, '1') + gamma(random() % 60) + std::string(9, '1'));
    try {
      const auto csr = to_csr(open_bv_graph(p, held, random() % 2 ? &offsets : nullptr));
      for (const auto j : csr.indices.span()) ASSERT_TRUE(j >= 0 && j < p.nodes);
    } catch (const Error& e) {
      ASSERT_EQ(e.code(), Errc::invalid_argument);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 20000);
}

}  // namespace
}  // namespace penstock
