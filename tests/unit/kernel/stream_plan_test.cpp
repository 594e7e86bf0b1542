#include "penstock/schedule/stream_plan.hpp"

#include <gtest/gtest.h>

#include "penstock/schedule/csr_blocks.hpp"
#include "support.hpp"

namespace penstock {
namespace {

template <class V>
struct Made {
  std::shared_ptr<const CsrBlocks<V>> source;
  std::unique_ptr<StreamPlan> plan;
};

template <class V>
Made<V> plan_of(const Csr<V>& a, const StreamSettings& settings) {
  Made<V> made;
  const auto cut = [&](std::int64_t slot, std::span<const std::int64_t> kept) {
    made.source = std::make_shared<const CsrBlocks<V>>(a, slot, kept);
    return list_of(made.source, "test");
  };
  made.plan = std::make_unique<StreamPlan>(cut, StreamPlan::Shape{a.rows, a.cols, a.bytes()}, settings);
  return made;
}

template <class T>
VectorAt vector_at(std::vector<T>& v) {
  return {reinterpret_cast<std::byte*>(v.data()), {}};
}

TEST(StreamPlan, EveryCutGivesTheReferenceProduct) {
  using S = PlusTimes<double>;
  for (const auto shape : test::kShapes) {
    const auto a = test::matrix_of<double>(90, test::indptr_of(shape, 150, 7));
    auto x = test::vector_of<double>(a.cols, 3);
    for (const auto& scale : {Scale<S>{}, Scale<S>{3, 0}, Scale<S>{-2, 5}})
      for (const std::int64_t slot : {640, 2000, 8 << 10, 0})
        for (const int slots : {1, 3})
          for (const std::size_t devices : {1, 3}) {
            const auto made =
                plan_of(a, {.devices = std::vector<Where>(devices), .slot_bytes = slot, .slots = slots});
            const auto y0 = test::vector_of<double>(a.rows, 4);
            auto expected = y0, y = y0;
            test::reference<S, double>(a, x, expected, scale);
            for (int again = 0; again < 2; ++again) {
              y = y0;
              made.plan->multiply(product_of<S>(made.source, scale), vector_at(x), vector_at(y));
              ASSERT_EQ(y, expected) << "slot " << slot << " slots " << slots << " devices " << devices;
            }
          }
  }
}

TEST(StreamPlan, BlocksToKeepComeFirstAndCoverAllRows) {
  const auto a = test::matrix_of<One>(90, test::indptr_of(test::Rows::powers, 3000, 7));
  const std::int64_t kept[] = {20'000, 0, 9000};
  const CsrBlocks<One> source(a, 2000, kept);
  std::int64_t row = 0;
  Offset nnz = 0;
  for (std::int64_t i = 0; i < source.count(); ++i) {
    const auto b = source.block(i);
    ASSERT_EQ(b.first_nnz, nnz);
    ASSERT_TRUE(b.first_row == row || (b.piece && b.first_row == row - 1));
    row = b.first_row + b.rows, nnz += b.nnz;
    if (i > 4) {
      ASSERT_LE(source.bytes(i), 2000 + 512);
    }
  }
  EXPECT_EQ(row, a.rows);
  EXPECT_EQ(nnz, a.nnz());
  EXPECT_GT(source.bytes(0), 15'000);
}

TEST(StreamPlan, AFailureOnOneLaneReachesTheCaller) {
  const auto a = test::matrix_of<double>(90, test::indptr_of(test::Rows::uniform, 150, 7));
  const auto made = plan_of(a, {.devices = std::vector<Where>(2), .slot_bytes = 700});
  auto x = test::vector_of<double>(a.cols, 3);
  auto y = test::vector_of<double>(a.rows, 4);
  auto product = product_of<PlusTimes<double>>(made.source, Scale<PlusTimes<double>>{});
  product.run = [](auto...) { throw Error(Errc::invalid_argument, "a kernel failed"); };
  EXPECT_THROW(made.plan->multiply(product, vector_at(x), vector_at(y)), Error);
  made.plan->multiply(product_of<PlusTimes<double>>(made.source, Scale<PlusTimes<double>>{}), vector_at(x),
                      vector_at(y));
  auto expected = y;
  test::reference<PlusTimes<double>, double>(a, x, expected, {});
  EXPECT_EQ(y, expected);
}

TEST(StreamPlan, TheCpuWritesNoVectorOnAGpu) {
  const auto a = test::matrix_of<double>(90, test::indptr_of(test::Rows::uniform, 150, 7));
  const auto made = plan_of(a, {});
  auto x = test::vector_of<double>(a.cols, 3);
  auto y = test::vector_of<double>(a.rows, 4);
  auto x_there = vector_at(x), y_there = vector_at(y);
  x_there.place = y_there.place = {Memory::device, 0};
  const auto product = product_of<PlusTimes<double>>(made.source, Scale<PlusTimes<double>>{});
  EXPECT_THROW(made.plan->multiply(product, vector_at(x), y_there), Error);
  EXPECT_THROW(made.plan->multiply(product, x_there, vector_at(y)), Error);
}

TEST(StreamPlan, LargerEntriesThanItWasMadeForAreRefused) {
  const auto a = test::matrix_of<float>(90, test::indptr_of(test::Rows::uniform, 150, 7));
  const auto made = plan_of(a, {.entry_bytes = 4});
  auto x = test::vector_of<double>(a.cols, 3);
  auto y = test::vector_of<double>(a.rows, 4);
  const auto product = product_of<PlusTimes<double>>(made.source, Scale<PlusTimes<double>>{});
  EXPECT_THROW(made.plan->multiply(product, vector_at(x), vector_at(y)), Error);
}

}  // namespace
}  // namespace penstock
