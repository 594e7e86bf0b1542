// The product of two sparse matrices in one device's memory, in one piece or by blocks of rows, as A @ B asks for it.
#include "penstock/schedule/device/spgemm_blocks.hpp"

#include <nanobind/stl/string.h>

#include "penstock/bind/product/product.hpp"
#include "penstock/bind/product/spgemm_factors.hpp"
#include "penstock/schedule/device/spgemm_rows.hpp"

namespace penstock::bind {
namespace {

/// Some of the rows of A, and of C.
struct Range {
  std::int64_t first, last;
};

template <class S>
bool try_product(const Matrix& ma, const Matrix& mb, Range rows, const std::string& semiring,
                 const std::string& dtype, int gpu, const SpgemmBlocksOptions& options, AnyCsr& c,
                 Trace& trace) {
  CsrView<typename S::value_type> a, b;
  if (!named<S>(semiring, dtype) || !factor<S>(ma, gpu, a) || !factor<S>(mb, gpu, b)) return false;
  const nb::gil_scoped_release release;
  const OwnedStream stream(Where{gpu});
  if (rows.last - rows.first < a.rows) a = device_rows(a, rows.first, rows.last - rows.first, stream);
  c = spgemm_in_blocks<S>(a, b, stream, options, &trace);
  return true;
}

nb::tuple product(const Matrix& a, const Matrix& b, const std::string& semiring, const std::string& dtype,
                  int gpu, const nb::object& mask, bool to_host, std::int64_t memory,
                  std::int64_t block_memory, std::int64_t first, std::int64_t last, bool traced) {
  const auto all = std::visit([](const auto& m) { return m.rows; }, a.unread());
  const Range rows{first, last < 0 ? all : last};
  require(0 <= rows.first && rows.first <= rows.last && rows.last <= all,
          "spgemm_on_device: first and last are of A's rows");
  SpgemmBlocksOptions options{.to_host = to_host, .memory = memory, .block_memory = block_memory};
  Csr<One> part;  // the mask's rows, whose offsets begin in the middle
  if (!mask.is_none()) {
    const auto* const m = std::get_if<Csr<One>>(&nb::cast<const Matrix&>(mask).any());
    require(m && m->rows == all, "spgemm_on_device: the mask must be a pattern with A's rows");
    if (gpu >= 0) readable_by(gpu, *m, "spgemm_on_device");
    part = *m;
    part.rows = rows.last - rows.first, part.indptr = m->indptr.slice(rows.first, part.rows + 1);
    options.mask = &part;
  }
  AnyCsr c;
  Trace trace;
#define X(S)                                                               \
  if (try_product<S>(a, b, rows, semiring, dtype, gpu, options, c, trace)) \
    return nb::make_tuple(Matrix(std::move(c)), as_event(trace, traced));
  PENSTOCK_FOR_EACH_SPGEMM_GPU(X)
#undef X
  refuse(semiring, dtype);
}

}  // namespace

void spgemm_blocks(nb::module_& m) {
  m.def(
      "spgemm_on_device", product, nb::arg("a"), nb::arg("b"), nb::arg("semiring") = "plus_times",
      nb::arg("dtype") = "float64", nb::arg("gpu") = 0, nb::arg("mask") = nb::none(),
      nb::arg("to_host") = false, nb::arg("memory") = -1, nb::arg("block_memory") = -1, nb::arg("first") = 0,
      nb::arg("last") = -1, nb::arg("traced") = false,
      "(C = A B, what was done or None) of matrices in the memory of a GPU, or of the CPU as a device (-1); "
      "left there, or with `to_host` in host memory. Only entries on the mask are kept, a pattern there "
      "whose rows ascend. MemoryError where C takes more than `memory` bytes (-1: what is free). Blocks of "
      "rows take at most `block_memory` bytes of the device (-1: what is free). Rows `first` to `last` (-1: "
      "all).");
}

}  // namespace penstock::bind
