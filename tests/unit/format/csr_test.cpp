#include "penstock/format/csr.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support.hpp"

namespace penstock {
namespace {

using test::array_of;

std::string fault_of(const Csr<double>& a, bool every_index) {
  std::string what;
  EXPECT_EQ(test::code_of([&] { validate(a, every_index); }, &what), Errc::invalid_argument);
  return what;
}

Csr<double> good() { return test::matrix_of<double>(50, test::indptr_of(test::Rows::uniform, 100, 3)); }

TEST(Csr, AcceptsValidMatrices) {
  for (const auto shape : test::kShapes)
    for (const bool every : {false, true}) {
      EXPECT_NO_THROW(validate(test::matrix_of<double>(30, test::indptr_of(shape, 200, 5)), every));
      EXPECT_NO_THROW(validate(test::matrix_of<One>(30, test::indptr_of(shape, 200, 5)), every));
    }
  EXPECT_NO_THROW(validate(test::matrix_of<Complex128>(1, {0}), true));
}

TEST(Csr, NamesTheFault) {
  for (const bool every : {false, true}) {
    auto a = good();
    a.rows = -1;
    EXPECT_NE(fault_of(a, every).find("-1"), std::string::npos);
    a = good();
    a.cols = std::int64_t(1) << 31;
    EXPECT_NE(fault_of(a, every).find("2147483648"), std::string::npos);
    a = good();
    ++a.rows;
    EXPECT_NE(fault_of(a, every).find("101"), std::string::npos);
    a = good();
    a.values.size -= 2;
    EXPECT_NE(fault_of(a, every).find("values"), std::string::npos);
    a = good();
    a.indices.size -= 1;
    EXPECT_NE(fault_of(a, every).find("ends at"), std::string::npos);
    a = good();
    auto indptr = test::indptr_of(test::Rows::uniform, 100, 3);
    indptr[0] = 1;
    a.indptr = array_of(indptr);
    EXPECT_NE(fault_of(a, every).find("starts at 1"), std::string::npos);
    indptr[0] = 0, indptr[41] = std::numeric_limits<Offset>::max();
    a.indptr = array_of(indptr);
    EXPECT_NE(fault_of(a, every).find("row 41"), std::string::npos);
  }
}

TEST(Csr, FindsOneBadIndexAnywhere) {
  std::vector<Offset> indptr;
  for (Offset r = 0; r <= 40'000; ++r) indptr.push_back(10 * r);
  const auto a = test::matrix_of<double>(1000, indptr);
  std::vector<Index> indices(a.indices.data, a.indices.data + a.nnz());
  for (const std::size_t at : {std::size_t(0), std::size_t(270'001), indices.size() - 1})
    for (const Index bad : {Index(-1), Index(1000), std::numeric_limits<Index>::min()}) {
      auto broken = indices;
      broken[at] = bad;
      Csr<double> b = a;
      b.indices = array_of(broken);
      const auto what = fault_of(b, true);
      EXPECT_NE(what.find("position " + std::to_string(at) + " "), std::string::npos) << what;
      EXPECT_EQ(what.find("one-based") != std::string::npos, bad == 1000) << what;
    }
}

TEST(Csr, PiecesFindWhatIsInThem) {
  constexpr auto kMost = std::numeric_limits<Offset>::max(), kLeast = std::numeric_limits<Offset>::min();
  std::vector<Offset> indptr;
  for (Offset r = 0; r <= 600'000; ++r) indptr.push_back(r);  // several pieces of work
  const auto a = test::matrix_of<float>(1000, indptr);
  EXPECT_NO_THROW(validate_offsets(a, 0, a.rows));
  EXPECT_NO_THROW(validate_indices(a, 0, a.nnz()));
  for (const Offset bad : {kMost, kLeast, Offset(-1), kMost - 7, Offset(1) << 40, Offset(0)})
    for (const std::int64_t at : {1, 262'143, 262'144, 262'145, 599'999}) {
      auto broken = indptr;
      broken[static_cast<std::size_t>(at)] = bad;
      auto b = a;
      b.indptr = array_of(broken);
      if (bad == 0 && at == 1) continue;  // rows may be empty
      EXPECT_EQ(test::code_of([&] { validate_offsets(b, 0, b.rows); }), Errc::invalid_argument)
          << bad << " " << at;
      EXPECT_NO_THROW(validate_offsets(b, at + 1, b.rows));
      EXPECT_NO_THROW(validate_offsets(b, 0, at - 1));
      if (bad != 0) {
        EXPECT_EQ(test::code_of([&] { validate_offsets(b, at, b.rows); }), Errc::invalid_argument) << bad;
      }
    }
  auto b = a;
  std::vector<Index> indices(a.indices.data, a.indices.data + a.nnz());
  indices[300'000] = 1000;
  b.indices = array_of(indices);
  EXPECT_NO_THROW(validate_indices(b, 0, 300'000));
  EXPECT_NO_THROW(validate_indices(b, 300'001, b.nnz()));
  EXPECT_EQ(test::code_of([&] { validate_indices(b, 299'999, 300'001); }), Errc::invalid_argument);
  b.cols = 0;  // then every column is outside
  EXPECT_EQ(test::code_of([&] { validate_indices(b, 7, 8); }), Errc::invalid_argument);
  EXPECT_NO_THROW(validate_indices(b, 8, 8));
  b.cols = std::numeric_limits<Index>::max();
  EXPECT_NO_THROW(validate_indices(b, 0, b.nnz()));
}

TEST(Csr, CountsItsBytes) {
  const std::vector<Offset> indptr{0, 2, 5};
  EXPECT_EQ(test::matrix_of<One>(9, indptr).bytes(), 3 * 8 + 5 * 4);
  EXPECT_EQ(test::matrix_of<float>(9, indptr).bytes(), 3 * 8 + 5 * 8);
  EXPECT_EQ(test::matrix_of<Complex128>(9, indptr).bytes(), 3 * 8 + 5 * 20);
}

}  // namespace
}  // namespace penstock
