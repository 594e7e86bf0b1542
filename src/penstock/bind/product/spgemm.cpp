// The product of two sparse matrices, and an estimate of its size.
#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/spgemm/spgemm.hpp"

namespace penstock::bind {
namespace {

CsrView<One> pattern_of(const Matrix& m, const char* factor) {
  return std::visit(
      [&](const auto& c) {
        for (const Place place : {c.indptr.place, c.indices.place, c.values.place})
          if (!can_read(Where{}, place))
            throw Error(Errc::not_accessible, std::string("spgemm reads ") + factor +
                                                  " on the CPU, but it is in " +
                                                  std::string(name(place.memory)) +
                                                  " memory: move it to the host first, with A.to(ps.host)");
        return CsrView<One>{.rows = c.rows,
                            .cols = c.cols,
                            .indptr = c.indptr.data,
                            .indices = c.indices.data,
                            .count = c.nnz()};
      },
      m.any());
}

/// A with its values as T, or as a pattern.
template <class T>
bool left_factor(const Matrix& m, CsrView<T>& out) {
  const auto p = pattern_of(m, "A");
  out = {.rows = p.rows, .cols = p.cols, .indptr = p.indptr, .indices = p.indices, .count = p.count};
  if (std::holds_alternative<Csr<One>>(m.unread())) return true;
  if constexpr (!std::same_as<T, std::uint8_t>)
    if (const auto* a = std::get_if<Csr<T>>(&m.unread())) {
      out.values = a->values.data;
      return true;
    }
  return false;
}

template <class T>
std::string_view number_name() {
  if constexpr (std::same_as<T, float>) return "float32";
  else if constexpr (std::same_as<T, double>) return "float64";
  else if constexpr (std::same_as<T, Complex64>) return "complex64";
  else if constexpr (std::same_as<T, Complex128>) return "complex128";
  else return "bool";
}

template <class S, class V>
bool try_spgemm(const Matrix& ma, const Matrix& mb, std::string_view semiring, std::string_view dtype,
                const SpgemmOptions& options, AnyCsr& out) {
  using T = typename S::value_type;
  const auto* b = std::get_if<Csr<V>>(&mb.unread());
  CsrView<T> a;
  if (!b || semiring != semiring_name<S>() || dtype != number_name<T>() || !left_factor(ma, a)) return false;
  pattern_of(mb, "B");
  const nb::gil_scoped_release release;
  out = spgemm<S, V>(a, b->view(), options);
  return true;
}

Matrix bound_spgemm(const Matrix& a, const Matrix& b, const std::string& semiring, const std::string& dtype,
                    const nb::object& mask, const std::string& accumulator_name, bool ascending,
                    std::int64_t memory) {
  SpgemmOptions options{
      .accumulator = accumulator(accumulator_name), .ascending = ascending, .memory = memory};
  CsrView<One> on;
  if (!mask.is_none()) {
    on = pattern_of(nb::cast<const Matrix&>(mask), "the mask");
    options.mask = &on;
  }
  AnyCsr c;
#define X(S, V) \
  if (try_spgemm<S, V>(a, b, semiring, dtype, options, c)) return {std::move(c)};
  PENSTOCK_FOR_EACH_SPGEMM(X)
#undef X
  throw Error(Errc::not_compiled, "no product of these value types over " + semiring + " in " + dtype);
}

nb::dict estimate(const Matrix& a, const Matrix& b, bool exact) {
  SpgemmEstimate e;
  const auto pa = pattern_of(a, "A"), pb = pattern_of(b, "B");
  {
    const nb::gil_scoped_release release;
    e = estimate_spgemm(pa, pb, exact);
  }
  nb::dict d;
  d["products"] = e.products, d["bound"] = e.bound, d["nnz"] = e.nnz, d["exact"] = e.exact;
  d["sampled_products"] = e.sampled_products;
  return d;
}

nb::object offsets(const Matrix& a, const Matrix& b) {
  const auto pa = pattern_of(a, "A"), pb = pattern_of(b, "B");
  require(pa.cols == pb.rows, "spgemm: A's columns and B's rows must be equal");
  Array<Offset> out;
  {
    const nb::gil_scoped_release release;
    out = product_offsets(pa, pb.indptr);
  }
  return as_numpy<Offset>(out);
}

}  // namespace

void spgemm(nb::module_& m) {
  m.def("spgemm", bound_spgemm, nb::arg("a"), nb::arg("b"), nb::arg("semiring"), nb::arg("dtype"),
        nb::arg("mask") = nb::none(), nb::arg("accumulator") = "auto", nb::arg("ascending") = false,
        nb::arg("memory") = -1,
        "C = A B. Values are of `dtype`, or absent; `ascending` is ascending_rows(b). MemoryError where it "
        "would take more than `memory` bytes (-1: than are available).");
  m.def("spgemm_estimate", estimate, nb::arg("a"), nb::arg("b"), nb::arg("exact") = false);
  m.def("product_offsets", offsets, nb::arg("a"), nb::arg("b"),
        "Where the products of each row of A B begin, counted from the first row's.");
  m.def(
      "ascending_rows",
      [](const Matrix& a) {
        const auto p = pattern_of(a, "B");
        const nb::gil_scoped_release release;
        return ascending_rows(p);
      },
      nb::arg("a"), "Whether the columns of every row strictly ascend.");
}

}  // namespace penstock::bind
