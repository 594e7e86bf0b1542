#pragma once
#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/kernel/dot.hpp"
#include "penstock/semiring/semirings.hpp"

namespace penstock {

/// y = alpha (A x) + beta y in the semiring. With beta = zero() y is written and never read, as in the BLAS.
template <Semiring S>
struct Scale {
  using T = typename S::value_type;
  T alpha = S::one(), beta = S::zero();

  static constexpr Scale accumulate() { return {S::one(), S::one()}; }
  constexpr bool plain() const { return alpha == S::one() && beta == S::zero(); }
  /// The new value of an entry of y, given its row's sum.
  constexpr T operator()(T sum, const T& old) const {
    if (beta == S::zero()) return S::mul(alpha, sum);
    return S::add(S::mul(beta, old), S::mul(alpha, sum));
  }
};

/// An entry of the matrix as a number of the semiring; a pattern's entries are 1.
template <Semiring S, class V>
constexpr typename S::value_type entry([[maybe_unused]] const V* values, [[maybe_unused]] Offset k) {
  using T = typename S::value_type;
  if constexpr (is_pattern<V>) return T(1);
  else if constexpr (BooleanSemiring<S>) return T(values[k] != V(0));
  else return T(values[k]);
}

/// y = alpha A x + beta y over one view. `stream.where` must be able to read every pointer. x has a.cols entries, y a.rows.
template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          Stream stream);

/// y = alpha A^T x + beta y without forming A^T (CPU). x has a.rows entries, y a.cols.
template <Semiring S, class V>
void spmv_transposed(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y,
                     Scale<S> scale);

namespace cpu {
/// The same. `dots`, which may be null, gets inner products of y while the rows are computed.
template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          ProductDots<typename S::value_type>* dots = nullptr);
}  // namespace cpu
namespace gpu {
template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          Stream stream);
}

}  // namespace penstock

// The closed list of what is compiled. Everything that instantiates kernels reads it from here.
#define PENSTOCK_FOR_EACH_SPMV(X)                          \
  X(PlusTimes<float>, One)                                 \
  X(PlusTimes<float>, float)                               \
  X(PlusTimes<double>, One)                                \
  X(PlusTimes<double>, float)                              \
  X(PlusTimes<double>, double)                             \
  X(PlusTimes<Complex64>, One)                             \
  X(PlusTimes<Complex64>, float)                           \
  X(PlusTimes<Complex64>, Complex64)                       \
  X(PlusTimes<Complex128>, One)                            \
  X(PlusTimes<Complex128>, float)                          \
  X(PlusTimes<Complex128>, double)                         \
  X(PlusTimes<Complex128>, Complex64)                      \
  X(PlusTimes<Complex128>, Complex128)                     \
  PENSTOCK_REAL_SEMIRINGS(PENSTOCK_WITH_VALUES, X, float)  \
  PENSTOCK_REAL_SEMIRINGS(PENSTOCK_WITH_VALUES, X, double) \
  PENSTOCK_BOOLEAN_SEMIRINGS(PENSTOCK_BOOLEAN_WITH_VALUES, X)
