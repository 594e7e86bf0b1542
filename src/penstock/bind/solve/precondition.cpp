// Preconditioners, made from a matrix or an operator.
#include <nanobind/stl/string.h>

#include "penstock/bind/solve/linear_op.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"
#include "penstock/schedule/schedule.hpp"
#include "penstock/solver/complex_op.hpp"
#include "penstock/solver/matrix_op.hpp"
#include "penstock/solver/precondition/preconditioners.hpp"

namespace penstock::bind {
namespace {

/// make.operator()<T, V>(csr) for the matrix's own V and the T that `dtype` names.
template <class F>
AnyOp from_matrix(const Matrix& m, const std::string& dtype, F&& make) {
  m.guard().look();
#define X(T, V)                                                                                    \
  if (const auto* a = std::get_if<Csr<V>>(&m.unread()); a && dtype == dtype_of<T>()) {             \
    for (const Place p : {a->indptr.place, a->indices.place, a->values.place}) check(InCore{}, p); \
    const nb::gil_scoped_release release;                                                          \
    return {make.template operator()<T, V>(*a), m.guard()};                                        \
  }
  PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X
  throw Error(Errc::not_compiled,
              "preconditioners work on real matrices, in float32 or float64: convert with astype");
}

AnyOp bound_jacobi(const Matrix& m, const std::string& dtype) {
#define X(C, V)                                                                                    \
  if (const auto* a = std::get_if<Csr<V>>(&m.unread()); a && dtype == dtype_name<C>()) {           \
    m.guard().look();                                                                              \
    for (const Place p : {a->indptr.place, a->indices.place, a->values.place}) check(InCore{}, p); \
    const nb::gil_scoped_release release;                                                          \
    return {of_parts(jacobi<C, V>(*a)), m.guard(), true};                                          \
  }
  PENSTOCK_FOR_EACH_COMPLEX_OP(X)
#undef X
  return from_matrix(m, dtype, []<class T, class V>(const Csr<V>& a) { return jacobi<T, V>(a); });
}

AnyOp bound_block_jacobi(const Matrix& m, const std::string& dtype, std::int64_t block, double shift) {
  return from_matrix(m, dtype,
                     [&]<class T, class V>(const Csr<V>& a) { return block_jacobi<T, V>(a, block, shift); });
}

AnyOp bound_ilu0(const Matrix& m, const std::string& dtype, double shift, std::int64_t blocks) {
  return from_matrix(m, dtype, [&]<class T, class V>(const Csr<V>& a) {
    return ilu0<T, V>(a, {.shift = shift, .blocks = blocks});
  });
}

AnyOp bound_ic0(const Matrix& m, const std::string& dtype, double shift, std::int64_t blocks) {
  return from_matrix(m, dtype, [&]<class T, class V>(const Csr<V>& a) {
    return ic0<T, V>(a, {.shift = shift, .blocks = blocks});
  });
}

AnyOp bound_chebyshev(const AnyOp& a, const AnyOp* jacobi, int degree, double smallest, double largest) {
  return std::visit(
      [&]<class T>(const LinearOp<T>& op) -> AnyOp {
        Array<const T> inverse;
        if (jacobi) inverse = std::get<LinearOp<T>>(jacobi->op).diagonal;
        return {chebyshev<T>(op, inverse, {.degree = degree, .smallest = smallest, .largest = largest}),
                {},
                a.complex};
      },
      a.op);
}

}  // namespace

void precondition(nb::module_& m) {
  m.def("jacobi", bound_jacobi, nb::arg("a"), nb::arg("dtype"));
  m.def("block_jacobi", bound_block_jacobi, nb::arg("a"), nb::arg("dtype"), nb::arg("block"),
        nb::arg("shift"));
  m.def("ilu0", bound_ilu0, nb::arg("a"), nb::arg("dtype"), nb::arg("shift"), nb::arg("blocks"));
  m.def("ic0", bound_ic0, nb::arg("a"), nb::arg("dtype"), nb::arg("shift"), nb::arg("blocks"));
  m.def("chebyshev", bound_chebyshev, nb::arg("a"), nb::arg("jacobi").none(), nb::arg("degree"),
        nb::arg("smallest"), nb::arg("largest"));
}

}  // namespace penstock::bind
