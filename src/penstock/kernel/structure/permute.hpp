#pragma once
#include <span>
#include <string>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Row i of the result is row rows[i] of A, any number of times; `places[j]`, where it is not empty, is the column that
/// column j of A becomes. Rows whose columns moved are sorted. Throws Error{invalid_argument} where a row is not A's.
template <class V>
Csr<V> take_rows(const Csr<V>& a, std::span<const std::int64_t> rows, std::span<const Index> places);

/// The inverse of a permutation of [0, n): where p[i] = j, the result has i at j. Throws Error{invalid_argument} that
/// names the first number that is outside or there twice; `what` names p. n is at most 2^31 - 1.
Array<Index> inverse_permutation(std::span<const std::int64_t> p, std::int64_t n, const std::string& what);

}  // namespace penstock
