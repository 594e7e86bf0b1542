#pragma once
#include <string>
#include <utility>

#include "penstock/bind/bind.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"

namespace penstock::bind {

inline void check_on_host(const Place place) {
  if (!can_read(Where{}, place))
    throw Error(Errc::not_accessible, "this graph algorithm runs on the CPU, but the edges are in " +
                                          std::string(name(place.memory)) +
                                          " memory: move them to the host first");
}

/// The edges alone: what an algorithm reads of a matrix of any value type.
inline CsrView<One> edges_in(const AnyCsr& any) {
  return std::visit(
      [](const auto& a) {
        for (const Place place : {a.indptr.place, a.indices.place}) check_on_host(place);
        return CsrView<One>{.rows = a.rows,
                            .cols = a.cols,
                            .indptr = a.indptr.data,
                            .indices = a.indices.data,
                            .count = a.nnz()};
      },
      any);
}
/// `released` is given where the interpreter's lock has been let go.
template <class... Released>
CsrView<One> edges_of(const Matrix& m, const Released&... released) {
  return edges_in(m.any(released...));
}

[[noreturn]] inline void refuse_complex() {
  throw Error(Errc::invalid_argument,
              "the weights are complex, and this graph algorithm needs real ones: give A.real, or abs(A)");
}

/// Calls f with the matrix as Csr<V>; complex values have no order, and device memory no CPU that reads it.
template <class F>
auto with_real(const AnyCsr& any, F&& f) {
  return std::visit(
      [&]<class V>(const Csr<V>& a) {
        for (const Place place : {a.indptr.place, a.indices.place, a.values.place}) check_on_host(place);
        if constexpr (std::is_same_v<V, Complex64> || std::is_same_v<V, Complex128>) {
          refuse_complex();
          return f(Csr<One>{});
        } else {
          return f(a);
        }
      },
      any);
}
template <class F>
auto with_real(const Matrix& m, F&& f) {
  return with_real(m.any(), std::forward<F>(f));
}

/// A result as a NumPy array, which belongs to the caller and may be written.
template <class T>
nb::object as_result(const Array<T>& a) {
  auto* owner = new std::shared_ptr<void>(a.owner);
  const nb::capsule keep(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(a.data, {static_cast<std::size_t>(a.size)}, keep));
}

template <class T>
std::span<const T> span_of(const ReadArray<T>& a) {
  return {a.data(), a.shape(0)};
}

}  // namespace penstock::bind
