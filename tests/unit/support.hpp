#pragma once
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

// Small seeded matrices with integer entries: every sum below 2^24 is exact, so that tests compare with ==.
namespace penstock::test {

template <class T>
Array<const T> array_of(const std::vector<T>& v) {
  auto a = allocate<T>(std::ssize(v));
  if (!v.empty()) std::memcpy(a.data, v.data(), v.size() * sizeof(T));
  return a;
}

template <class V>
V small_number(std::mt19937& random) {
  const auto draw = [&] { return static_cast<int>(random() % 9) - 4; };
  if constexpr (is_pattern<V>) return {};
  else if constexpr (std::is_arithmetic_v<V>) return static_cast<V>(draw());
  else return V(static_cast<typename V::value_type>(draw()), static_cast<typename V::value_type>(draw()));
}

template <class V>
Csr<V> matrix_of(std::int64_t cols, const std::vector<Offset>& indptr, unsigned seed = 1) {
  std::mt19937 random(seed);
  const auto nnz = static_cast<std::size_t>(indptr.back());
  std::vector<Index> indices(nnz);
  for (auto& c : indices) c = static_cast<Index>(random() % static_cast<std::uint64_t>(cols));
  Csr<V> a{std::ssize(indptr) - 1, cols, array_of(indptr), array_of(indices), {}};
  if constexpr (!is_pattern<V>) {
    std::vector<V> values(nnz);
    for (auto& v : values) v = small_number<V>(random);
    a.values = array_of(values);
  }
  return a;
}

enum class Rows { uniform, empty_runs, one_long, powers, all_empty };
inline constexpr Rows kShapes[] = {Rows::uniform, Rows::empty_runs, Rows::one_long, Rows::powers,
                                   Rows::all_empty};

/// Row lengths that break a careless cut: runs of empty rows, one row as long as all the others, powers of two.
inline std::vector<Offset> indptr_of(Rows shape, std::int64_t rows, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Offset> indptr{0};
  for (std::int64_t r = 0; r < rows; ++r) {
    Offset length = 0;
    switch (shape) {
      case Rows::uniform: length = random() % 8; break;
      case Rows::empty_runs: length = r / 16 % 3 == 1 ? random() % 5 : 0; break;
      case Rows::one_long: length = r == rows / 3 ? 4 * rows : random() % 3; break;
      case Rows::powers: length = random() % 4 ? random() % 2 : Offset(1) << (random() % 9); break;
      case Rows::all_empty: break;
    }
    indptr.push_back(indptr.back() + length);
  }
  return indptr;
}

template <class T>
std::vector<T> vector_of(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> x(static_cast<std::size_t>(n));
  for (auto& v : x) v = small_number<T>(random);
  return x;
}

/// y = alpha A x + beta y, entry by entry, in the order of the arrays.
template <Semiring S, class V>
void reference(const Csr<V>& a, const std::vector<typename S::value_type>& x,
               std::vector<typename S::value_type>& y, Scale<S> scale) {
  for (std::int64_t r = 0; r < a.rows; ++r) {
    auto sum = S::zero();
    for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
      sum = S::add(sum, S::mul(entry<S>(a.values.data, k), x[static_cast<std::size_t>(a.indices.data[k])]));
    auto& out = y[static_cast<std::size_t>(r)];
    out = scale.beta == S::zero() ? S::mul(scale.alpha, sum)
                                  : S::add(S::mul(scale.beta, out), S::mul(scale.alpha, sum));
  }
}

/// The code of the Error that f throws, and its message in `*what`; fails the test where it throws none.
template <class F>
Errc code_of(F&& f, std::string* what = nullptr) {
  try {
    f();
  } catch (const Error& e) {
    if (what) *what = e.what();
    return e.code();
  }
  throw std::logic_error("no penstock::Error was thrown");
}

}  // namespace penstock::test
