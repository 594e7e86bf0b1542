#pragma once
#include <type_traits>

#include "penstock/kernel/spmv/spmv.hpp"

// Complex numbers in device code. libstdc++'s std::complex uses GCC's built-in complex numbers, which nvcc does not compile
// for a GPU. This type has the same layout (the standard fixes it: real part, then imaginary part) and plain arithmetic. On
// the CPU, products of infinities are corrected; here they are not.
namespace penstock::gpu {

template <class R>
struct Complex {
  R re, im;

  Complex() = default;  // trivial, because variables in shared memory need that
  constexpr explicit Complex(R real, R imag = 0) : re(real), im(imag) {}
  template <class Q>
  constexpr explicit Complex(Complex<Q> z) : re(z.re), im(z.im) {}

  friend constexpr Complex operator+(Complex a, Complex b) { return Complex(a.re + b.re, a.im + b.im); }
  friend constexpr Complex operator*(Complex a, Complex b) {
    return Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
  }
  friend constexpr bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
};
static_assert(sizeof(Complex<double>) == sizeof(Complex128) && std::is_trivial_v<Complex<double>>);
static_assert(Semiring<PlusTimes<Complex<float>>>);

template <class T>
struct OnDevice {
  using type = T;
};
template <class R>
struct OnDevice<std::complex<R>> {
  using type = Complex<R>;
};
template <class R>
struct OnDevice<PlusTimes<std::complex<R>>> {
  using type = PlusTimes<Complex<R>>;
};
/// The type or the semiring that kernels use for T: T itself, except for complex numbers.
template <class T>
using on_device = typename OnDevice<T>::type;

/// The same bytes, read as the kernels' type.
template <class T>
on_device<std::remove_const_t<T>>* for_kernel(T* p) requires(!std::is_const_v<T>) {
  return reinterpret_cast<on_device<T>*>(p);
}
template <class T>
const on_device<T>* for_kernel(const T* p) {
  return reinterpret_cast<const on_device<T>*>(p);
}
template <class T>
on_device<T> for_kernel_value(const T& v) {
  return *for_kernel(&v);
}

}  // namespace penstock::gpu
