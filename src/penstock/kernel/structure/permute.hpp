#pragma once
#include <span>
#include <string>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Row i of the result is row rows[i] of A; a row may be taken any number of times. If `places` is not empty, column j of A
/// becomes column places[j], and rows are sorted. Throws Error{invalid_argument} if A does not have a row.
template <class V>
Csr<V> take_rows(const Csr<V>& a, std::span<const std::int64_t> rows, std::span<const Index> places);

/// The inverse of a permutation of [0, n): if p[i] = j, the result has i at place j. Throws Error{invalid_argument} that names
/// the first number that is outside or comes twice; `what` is the name of p in the message. n is at most 2^31 - 1.
Array<Index> inverse_permutation(std::span<const std::int64_t> p, std::int64_t n, const std::string& what);

}  // namespace penstock
