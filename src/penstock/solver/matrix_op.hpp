#pragma once
#include <memory>

#include "penstock/schedule/multiply.hpp"
#include "penstock/solver/linear_op.hpp"

namespace penstock {

/// Entries from which on a plan is worth making: with fewer a product takes microseconds.
inline constexpr std::int64_t kWorthAPlan = 1 << 16;

struct MatrixOpOptions {
  /// The products until a plan is built: it costs about ten of them and saves a quarter to three quarters of each
  /// later one (A.prepare("auto")). Negative: never. No plan is built where the caller has built one, or where A is streamed.
  std::int64_t prepare_after = 12;
};

/// A matrix of the library as an operator; it shares the arrays and the plans. T is the type of the vectors.
template <class T, class V>
LinearOp<T> matrix_op(const Csr<V>& a, std::shared_ptr<SpmvPlans<V>> plans, const Schedule& schedule,
                      const MatrixOpOptions& options = {});

}  // namespace penstock

// The complex vectors and values for which matrix_op is compiled, beside PENSTOCK_FOR_EACH_ROWS_KERNEL.
#define PENSTOCK_FOR_EACH_COMPLEX_OP(X) \
  X(Complex64, One)                     \
  X(Complex64, float)                   \
  X(Complex64, Complex64)               \
  X(Complex128, One)                    \
  X(Complex128, float)                  \
  X(Complex128, double)                 \
  X(Complex128, Complex64)              \
  X(Complex128, Complex128)
