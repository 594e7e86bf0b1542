// Passes over a basis whose vectors are the rows of a NumPy array.
#include <complex>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/basis/basis_rows.hpp"

namespace penstock::bind {
namespace {

template <class T>
using VectorArray = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::device::cpu>;
template <class T>
using SmallArray = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class R, class T>
VectorRows<R> basis_of(const VectorArray<T>& a) {
  const auto count = static_cast<std::int64_t>(a.shape(0)), n = static_cast<std::int64_t>(a.shape(1));
  require(n <= 1 || a.stride(1) == 1, "basis: the entries of a vector lie side by side");
  return {a.data(), count, count > 1 ? a.stride(0) : n, n};
}

template <class T>
void bind_basis(nb::module_& m) {
  using In = VectorArray<const T>;
  m.def(
      "basis_dots",
      [](const In& q, const In& v, const SmallArray<T>& h) {
        const auto basis = basis_of<const T>(q), vectors = basis_of<const T>(v);
        require(basis.n == vectors.n && h.shape(0) == q.shape(0) && h.shape(1) == v.shape(0),
                "basis_dots: shapes that do not belong together");
        const nb::gil_scoped_release release;
        if (basis.count && vectors.count) basis_dots(basis, vectors, h.data());
      },
      nb::arg("basis").noconvert(), nb::arg("vectors").noconvert(), nb::arg("h").noconvert(),
      "h[i, c] = <basis_i, vectors_c>");
  m.def(
      "basis_subtract",
      [](const In& q, const SmallArray<const T>& h, const VectorArray<T>& v) {
        const auto basis = basis_of<const T>(q);
        const auto vectors = basis_of<T>(v);
        require(basis.n == vectors.n && h.shape(0) == q.shape(0) && h.shape(1) == v.shape(0),
                "basis_subtract: shapes that do not belong together");
        const nb::gil_scoped_release release;
        if (basis.count && vectors.count) basis_subtract(basis, h.data(), vectors);
      },
      nb::arg("basis").noconvert(), nb::arg("h").noconvert(), nb::arg("vectors").noconvert(),
      "vectors_c -= sum over i of h[i, c] basis_i");
  m.def(
      "basis_orthogonalise",
      [](const In& q, std::int64_t near, const VectorArray<T>& v, const SmallArray<T>& h,
         const SmallArray<double>& squares) {
        const auto basis = basis_of<const T>(q);
        const auto vectors = basis_of<T>(v);
        require(basis.n == vectors.n && h.shape(0) == q.shape(0) && h.shape(1) == v.shape(0) && near >= 0 &&
                    near <= basis.count && squares.shape(0) == 2 && squares.shape(1) == v.shape(0),
                "basis_orthogonalise: shapes that do not belong together");
        const nb::gil_scoped_release release;
        if (vectors.count)
          basis_orthogonalise(basis, near, vectors, h.data(), squares.data(), squares.data() + vectors.count);
      },
      nb::arg("basis").noconvert(), nb::arg("near"), nb::arg("vectors").noconvert(), nb::arg("h").noconvert(),
      nb::arg("squares").noconvert(),
      "vectors -= their part in the basis, whose coefficients go to h; squares: their sums of squares "
      "before, "
      "and after");
}

}  // namespace

void basis_rows(nb::module_& m) {
  bind_basis<float>(m);
  bind_basis<double>(m);
  bind_basis<std::complex<float>>(m);
  bind_basis<std::complex<double>>(m);
}

}  // namespace penstock::bind
