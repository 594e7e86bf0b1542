#pragma once
#include <algorithm>
#include <complex>
#include <span>
#include <utility>

#include "penstock/solver/linear_op.hpp"
#include "penstock/solver/scalars.hpp"

// Operators of complex vectors and the same operators of their real and imaginary parts. A method whose scalars are real where A and M are
// Hermitian (conjugate gradients, Chebyshev's iteration, a multigrid cycle) does the same with the parts as with the complex
// numbers: the real part of an inner product is the inner product of the parts.
namespace penstock {

template <class R>
LinearOp<R> of_parts(LinearOp<std::complex<R>> op) {
  using C = std::complex<R>;
  const auto in = [](std::span<const R> v) {
    return std::span<const C>(reinterpret_cast<const C*>(v.data()), v.size() / 2);
  };
  const auto out = [](std::span<R> v) { return std::span<C>(reinterpret_cast<C*>(v.data()), v.size() / 2); };
  LinearOp<R> of;
  of.rows = 2 * op.rows;
  of.apply = [=, apply = std::move(op.apply)](std::span<const R> x, std::span<R> y) { apply(in(x), out(y)); };
  if (op.apply_dots)
    of.apply_dots = [=, apply = std::move(op.apply_dots)](std::span<const R> x, std::span<R> y, const R* w) {
      return apply(in(x), out(y), reinterpret_cast<const C*>(w));
    };
  if (op.apply_many)
    of.apply_many = [=, apply = std::move(op.apply_many)](std::span<const R> x, std::span<R> y,
                                                          std::int64_t columns) {
      apply(in(x), out(y), columns);
    };
  of.matrix_bytes = std::move(op.matrix_bytes);
  const auto* diagonal = op.diagonal.data;
  const auto real = [](const C& v) { return v.imag() == 0; };
  if (op.diagonal.size > 0 && std::all_of(diagonal, diagonal + op.diagonal.size, real)) {
    const auto twice = allocate<R>(of.rows);
    for (std::int64_t i = 0; i < of.rows; ++i) twice.data[i] = diagonal[i / 2].real();
    of.diagonal = twice;
  }
  return of;
}

/// The reverse. `op` must be linear over the complex numbers.
template <class R>
LinearOp<std::complex<R>> of_complex(const LinearOp<R>& op) {
  using C = std::complex<R>;
  LinearOp<C> of;
  of.rows = op.rows / 2;
  of.apply = [apply = op.apply](std::span<const C> x, std::span<C> y) {
    apply({parts_of(x.data()), 2 * x.size()}, {parts_of(y.data()), 2 * y.size()});
  };
  of.matrix_bytes = op.matrix_bytes;
  return of;
}

}  // namespace penstock
