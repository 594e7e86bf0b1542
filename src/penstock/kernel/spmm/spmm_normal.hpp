#pragma once
#include "penstock/kernel/spmm/sddmm.hpp"

namespace penstock {

/// Z = B^H B X for B = factor A on the CPU in one walk over A, whose transpose is not formed: while a block of rows is in the cache it makes
/// its rows of B X, and adds what they give to Z. X and Z have a.cols rows, are row-major and do not overlap. Threads share the
/// columns; each reads all of A, in cache-sized blocks. Their number may decide the last bits, as it says how many columns are
/// added up at a time.
template <class T, class V>
void spmm_normal(const CsrView<V>& a, DenseView<const T> x, DenseView<T> z, double factor);

}  // namespace penstock
