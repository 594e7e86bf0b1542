#pragma once
#include <vector>

#include "penstock/solver/multigrid/aggregate.hpp"

namespace penstock {

/// The tentative prolongator T and the coarse vectors: T coarse = B on all rows that have an aggregate, T^T T = 1.
template <class T>
struct Tentative {
  Csr<T> t;
  std::vector<double> coarse;  // of shape (aggregates * vectors, vectors), row-major
};

/// By QR of B on each aggregate. `b` is row-major, of shape (rows, vectors). A vertex stands for `block` rows. Where an aggregate has
/// fewer independent vectors, columns of T are zero.
template <class T>
Tentative<T> tentative(const Aggregates& aggregates, std::int64_t block, const std::vector<double>& b,
                       std::int64_t vectors);

/// P = (1 - omega D^-1 A) T (Vanek, Mandel and Brezina 1996). With `strong`, weak entries of A are added to its diagonal first.
/// `inverse`: of the diagonal, zero for rows that stay as in T. Columns of A ascend.
template <class T>
Csr<T> smoothed(const Csr<T>& a, const Csr<T>& t, Array<const T> inverse, double omega,
                const Strength<T>* strong);

}  // namespace penstock
