#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"
#include "penstock/solver/linear_op.hpp"

namespace penstock {

/// M = D^-1. Throws Error{invalid_argument} naming the row of a zero diagonal entry, or of one that is not finite.
template <class T, class V>
LinearOp<T> jacobi(const Csr<V>& a);

/// M = the inverse of the diagonal blocks of `block` rows (the last one may be smaller), kept dense: rows * block numbers.
/// `shift` as in FactorOptions. Throws Error{invalid_argument} naming the rows of a singular block.
template <class T, class V>
LinearOp<T> block_jacobi(const Csr<V>& a, std::int64_t block, double shift = 0);

struct FactorOptions {
  /// Added to each diagonal entry, as a fraction of the largest absolute value of its row.
  double shift = 0;
  /// Rows are cut into so many ranges, and entries that join two of them are left out: block Jacobi.
  std::int64_t blocks = 1;
};

/// M = (L U)^-1, where L U agrees with A on A's entries (Meijerink & van der Vorst 1977; Saad 2003, section 10.3).
/// Throws Error{invalid_argument} naming the row of a zero pivot.
template <class T, class V>
LinearOp<T> ilu0(const Csr<V>& a, const FactorOptions& options = {});

/// The same for a symmetric positive definite A, as L D L^T; the upper triangle is not read. Throws Error{invalid_argument} naming
/// the row of a pivot that is not positive.
template <class T, class V>
LinearOp<T> ic0(const Csr<V>& a, const FactorOptions& options = {});

struct ChebyshevOptions {
  int degree = 3;                    // products with A
  double smallest = 0, largest = 0;  // the interval of eigenvalues of D^-1 A
};

/// Throws Error{invalid_argument} where no polynomial has these.
void check_chebyshev(const ChebyshevOptions& options);

/// M = p(D^-1 A) D^-1 with the Chebyshev polynomial p of the interval (Saad 2003, section 12.3). Products and passes over
/// vectors only. `inverse_diagonal` may be empty: D is then the identity.
template <class T>
LinearOp<T> chebyshev(const LinearOp<T>& a, Array<const T> inverse_diagonal, const ChebyshevOptions& options);

}  // namespace penstock
