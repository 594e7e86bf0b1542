#pragma once
#include <complex>

#include "penstock/format/csr.hpp"

namespace penstock {

/// The matrix of the parts of complex vectors (see complex_op.hpp): each entry a + b i is [[a, -b], [b, a]]. It is symmetric where A is
/// Hermitian, with each eigenvalue twice.
template <class R>
Csr<R> matrix_of_parts(const Csr<std::complex<R>>& a);

/// The reverse, for a matrix that consists of such blocks.
template <class R>
Csr<std::complex<R>> complex_of_parts(const Csr<R>& a);

}  // namespace penstock
