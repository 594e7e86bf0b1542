#pragma once
#include <concepts>
#include <variant>

#include "penstock/bind/bind.hpp"
#include "penstock/solver/linear_op.hpp"
#include "penstock/solver/scalars.hpp"

namespace penstock::bind {

/// An operator as Python holds it.
struct AnyOp {
  std::variant<LinearOp<float>, LinearOp<double>> op;
  Guard guard;           // of the matrix that it reads
  bool complex = false;  // `op` is of the real and imaginary parts of complex vectors (solver/complex_op.hpp)

  std::int64_t parts() const { return complex ? 2 : 1; }
};

/// f(x, y) of spans over two arrays of Python, of parts where vectors are complex.
template <class T, class F>
void with_vectors(bool complex, const nb::object& x, const nb::object& y, F&& f) {
  if (complex) {
    const auto from = nb::cast<ReadArray<std::complex<T>>>(x);
    const auto to = nb::cast<WriteArray<std::complex<T>>>(y);
    f(std::span<const T>(parts_of(from.data()), 2 * from.shape(0)),
      std::span<T>(parts_of(to.data()), 2 * to.shape(0)));
  } else {
    const auto from = nb::cast<ReadArray<T>>(x);
    const auto to = nb::cast<WriteArray<T>>(y);
    f(std::span<const T>(from.data(), from.shape(0)), std::span<T>(to.data(), to.shape(0)));
  }
}

template <class T>
constexpr const char* dtype_of() {
  return std::same_as<T, float> ? "float32" : "float64";
}

}  // namespace penstock::bind
