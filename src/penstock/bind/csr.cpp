// The matrix: made from NumPy arrays, which it shares, and read back as NumPy arrays.
#include <nanobind/stl/complex.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/on_gpu.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/structure/entries_gpu.hpp"

namespace penstock::bind {
namespace {

using AnyValues = nb::ndarray<nb::ro, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Parts {
  std::int64_t rows, cols;
  Array<const Offset> indptr;
  Array<const Index> indices;
  bool every_index;
};

template <class V>
AnyCsr checked(const Parts& p, Array<const V> values) {
  Csr<V> a{p.rows, p.cols, p.indptr, p.indices, std::move(values)};
  const nb::gil_scoped_release release;
  validate(a, p.every_index);
  return a;
}

template <class V>
bool try_values(const Parts& p, const AnyValues& values, Place place, AnyCsr& out) {
  if (values.dtype() != nb::dtype<V>()) return false;
  out = checked<V>(p, share<V>(nb::cast<ReadArray<V>>(nb::cast(values)), place));
  return true;
}

/// `check`: "all" of the indices now, "first_use" for all of them before any is followed, or "cheap": the ends and samples.
/// `source` is what errors of a first use name.
Matrix from_arrays(std::int64_t rows, std::int64_t cols, const ReadArray<Offset>& indptr,
                   const ReadArray<Index>& indices, const nb::object& values, bool mapped,
                   const std::string& check, const std::string& source) {
  require(check == "all" || check == "first_use" || check == "cheap",
          "check=\"" + check + "\" is not all, first_use or cheap");
  const Place place{mapped ? Memory::mapped : Memory::host};
  const Parts parts{rows, cols, share<Offset>(indptr, place), share<Index>(indices, place), check == "all"};
  AnyCsr out;
  if (values.is_none()) {
    out = checked<One>(parts, {});
  } else {
    const auto any = nb::cast<AnyValues>(values);
    require(try_values<float>(parts, any, place, out) || try_values<double>(parts, any, place, out) ||
                try_values<Complex64>(parts, any, place, out) ||
                try_values<Complex128>(parts, any, place, out),
            "values must be float32, float64, complex64 or complex128");
  }
  return check == "first_use" ? Matrix::unchecked(std::move(out), source) : Matrix(std::move(out));
}

/// The k-th diagonal, duplicates added up; of a pattern as bool.
template <class V>
nb::object diagonal(const Csr<V>& a, std::int64_t k) {
  using T = std::conditional_t<is_pattern<V>, bool, V>;
  const auto skip_rows = std::max<std::int64_t>(-k, 0), skip_cols = std::max<std::int64_t>(k, 0);
  const auto out = allocate<T>(std::min(a.rows - skip_rows, a.cols - skip_cols));
  {
    const nb::gil_scoped_release release;
    parallel_ranges(out.size, 4096, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        T sum{};
        for (auto e = a.indptr.data[i + skip_rows]; e < a.indptr.data[i + skip_rows + 1]; ++e) {
          if (a.indices.data[e] != i + skip_cols) continue;
          if constexpr (is_pattern<V>) sum = true;
          else sum += a.values.data[e];
        }
        out.data[i] = sum;
      }
    });
  }
  return as_numpy<T>(out);
}

/// A property that needs no entries: get(csr) of the type that the matrix has.
template <class Get>
auto property(Get get) {
  return [get](const Matrix& a) { return std::visit(get, a.unread()); };
}

/// A copy in host memory, wherever the matrix is.
nb::object offsets_on_host(const Matrix& a) {
  return std::visit(
      [](const auto& c) {
        const auto gpu = c.indptr.place.memory == Memory::device ? c.indptr.place.ordinal : -1;
        Array<Offset> out;
        {
          const nb::gil_scoped_release release;
          out = allocate<Offset>(c.indptr.size);
          const OwnedStream stream(Where{gpu});
          copy_async(out.data, c.indptr.data, out.bytes(), stream);
          synchronize(stream);
        }
        return as_numpy<Offset>(out);
      },
      a.any());
}

nb::object indptr_of(const Matrix& a) {
  return std::visit(
      [](const auto& c) {
        require_host(c, "indptr");
        return as_numpy(c.indptr);
      },
      a.any());
}

nb::object indices_array(const Matrix& a) {
  return std::visit(
      [](const auto& c) {
        require_host(c, "indices");
        return as_numpy(c.indices);
      },
      a.any());
}

/// Values need no check, because none of them is followed as an index is.
nb::object values_of(const Matrix& a) {
  a.guard().require_whole();
  return std::visit(
      []<class V>(const Csr<V>& c) -> nb::object {
        require_host(c, "values");
        if constexpr (is_pattern<V>) return nb::none();
        else return as_numpy(c.values);
      },
      a.unread());
}

Matrix row_range(const Matrix& a, std::int64_t first, std::int64_t last) {
  const auto gpu = gpu_that_holds(a);
  std::visit(
      [&](const auto& c) {
        require(0 <= first && first <= last && last <= c.rows, "row_range: outside the matrix");
        if (!gpu) require_host(c, "row_range");
      },
      a.unread());
  if (gpu)
    return made_on(*gpu, a, "row_range",
                   [&](const auto& c, Stream stream) { return row_range_on(c, first, last, stream); });
  return a.row_range(first, last);
}

template <class V>
nb::object diagonal_on_gpu(const Csr<V>& a, std::int64_t k, Where gpu) {
  require_on(gpu, a, "diagonal");
  using T = std::conditional_t<is_pattern<V>, bool, V>;
  Array<T> found;
  {
    const nb::gil_scoped_release release;
    found = diagonal_on(a, k, OwnedStream(gpu));
  }
  return as_numpy<T>(found);
}

nb::object diagonal_of(const Matrix& a, std::int64_t k) {
  return std::visit(
      [&](const auto& c) {
        require(-c.rows < k && k < c.cols, "diagonal: outside the matrix");
        if (const auto gpu = gpu_that_holds(a)) return diagonal_on_gpu(c, k, *gpu);
        require_host(c, "diagonal");
        return diagonal(c, k);
      },
      a.any());
}

void bound_validate(const Matrix& a, bool every_index) {
  a.guard().require_whole();
  const nb::gil_scoped_release release;
  std::visit(
      [&](const auto& c) {
        require_host(c, "validate");
        validate(c, every_index);
      },
      a.unread());
}

}  // namespace

void csr(nb::module_& m) {
  using nb::arg;
  nb::class_<Matrix>(m, "Matrix", "Compressed sparse rows; the arrays are shared and read-only.")
      .def_static("from_arrays", from_arrays, arg("rows"), arg("cols"), arg("indptr"), arg("indices"),
                  arg("values").none(), arg("mapped") = false, arg("check") = "all",
                  arg("source") = "the matrix")
      .def_prop_ro("shape", property([](const auto& c) { return std::pair(c.rows, c.cols); }))
      .def_prop_ro("nnz", property([](const auto& c) { return c.nnz(); }))
      .def_prop_ro("nbytes", property([](const auto& c) { return c.bytes(); }))
      .def_prop_ro("dtype", property([]<class V>(const Csr<V>&) { return dtype_name<V>(); }))
      .def_prop_ro("place", property([](const auto& c) { return std::string(name(c.indices.place.memory)); }))
      .def_prop_ro("indptr", indptr_of)
      .def_prop_ro("indices", indices_array)
      .def_prop_ro("values", values_of)
      .def("offsets_on_host", offsets_on_host, "A copy of indptr in host memory, wherever the matrix is.")
      .def("row_range", row_range, arg("first"), arg("last"))
      .def("check_part", &Matrix::check_part, arg("i"), arg("n"),
           "Checks part i of n of a matrix whose entries nobody has looked at; when all parts are good, "
           "`settle`.")
      .def("settle", [](const Matrix& a) { a.guard().settle(); })
      .def("diagonal", diagonal_of, arg("k") = 0)
      .def("validate", bound_validate, arg("every_index") = true);
}

}  // namespace penstock::bind
