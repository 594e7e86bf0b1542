// Products by cuSPARSE, and their timing.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/product/cusparse.hpp"
#include "penstock/bind/product/gpu_timing.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/cusparse/cusparse.hpp"
#include "penstock/schedule/multiply.hpp"

namespace penstock::bind {
namespace {

using Dense = nb::ndarray<nb::ro, nb::numpy, nb::c_contig, nb::device::cpu>;

[[noreturn]] void refuse_types(const std::string& semiring) {
  throw Error(
      Errc::invalid_argument,
      semiring != "plus_times"
          ? "cuSPARSE has no semiring " + semiring + ": leave the kernel at auto"
          : std::string(
                "cuSPARSE multiplies matrices and vectors of one type, float32, float64, complex64 or "
                "complex128, and no patterns: convert with astype, or leave the kernel at auto"));
}

template <class T>
std::shared_ptr<cusparse::Product<T>> product_on(const Matrix& m, const Csr<T>& a, Where where) {
  return std::static_pointer_cast<cusparse::Product<T>>(std::get<SpmvPlans<T>>(*m.plans).kept(where.gpu, [&] {
    return std::static_pointer_cast<void>(std::make_shared<cusparse::Product<T>>(a, where));
  }));
}

/// One product with x (or X, row-major) and y in dense host memory.
template <class T>
void run_once(const Matrix& m, const Csr<T>& a, const T* x, T* y, std::int64_t columns, bool several,
              Where where, Scale<PlusTimes<T>> scale, Trace& trace) {
  trace = {};
  trace.schedule = "in_core", trace.kernel = "cusparse", trace.tiles = 1;
  trace.kernel_bytes = least_bytes(a, std::int64_t(sizeof(T)) * columns, !(scale.beta == T(0)));
  const ScopedTimer timer(&trace.seconds);
  const auto product = product_on(m, a, where);
  const std::lock_guard turn(product->turn());
  const auto xs = product->workspace(0, a.cols * columns), ys = product->workspace(1, a.rows * columns);
  const OwnedStream stream(where);
  const auto copy = [&](T* to, const T* from, std::int64_t count) {
    copy_async(to, from, count * std::int64_t(sizeof(T)), stream);
    trace.link_bytes += count * std::int64_t(sizeof(T));
  };
  try {
    copy(xs.data, x, a.cols * columns);
    if (!(scale.beta == T(0))) copy(ys.data, y, a.rows * columns);
    if (several)
      product->spmm({xs.data, a.cols, columns, columns, 1}, {ys.data, a.rows, columns, columns, 1}, scale, 0,
                    stream);
    else product->spmv(xs.data, ys.data, scale, 0, stream);
    copy(y, ys.data, a.rows * columns);
    synchronize(stream);
  } catch (...) {
    drain(stream);
    throw;
  }
}

template <class T>
bool try_cusparse_product(const Matrix& m, const nb::object& x, const nb::object& y, Where where,
                          const nb::object& alpha, const nb::object& beta, Trace& trace) {
  const auto* a = std::get_if<Csr<T>>(&m.unread());
  const auto any = nb::cast<nb::ndarray<nb::ro, nb::numpy, nb::device::cpu>>(x);
  if (!a || any.dtype() != nb::dtype<T>()) return false;
  m.guard().look();
  // Columns of other strides are copied: what cuSPARSE takes is row-major without gaps.
  const auto numpy = nb::module_::import_("numpy");
  const auto from = nb::cast<Dense>(numpy.attr("ascontiguousarray")(x));
  const auto dense = numpy.attr("ascontiguousarray")(y);
  const auto to = nb::cast<nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu>>(dense);
  const bool several = from.ndim() == 2;
  const auto columns = several ? static_cast<std::int64_t>(from.shape(1)) : 1;
  require(from.ndim() == to.ndim() && std::int64_t(from.shape(0)) == a->cols &&
              std::int64_t(to.shape(0)) == a->rows && (!several || to.shape(1) == from.shape(1)),
          "cuSPARSE: x and y do not have the shapes that the matrix asks for");
  const auto scale = scale_of<PlusTimes<T>>(alpha, beta);
  {
    const nb::gil_scoped_release release;
    run_once<T>(m, *a, static_cast<const T*>(from.data()), to.data(), columns, several, where, scale, trace);
  }
  if (!dense.is(y)) numpy.attr("copyto")(y, dense);
  return true;
}

Where gpu_of(const Matrix& m, const std::optional<AnySchedule>& asked) {
  const auto place = std::visit([](const auto& a) { return a.indices.place; }, m.unread());
  if (!asked && place.memory == Memory::device) return Where{place.ordinal};
  const auto* in_core = asked ? std::get_if<InCore>(&asked->value) : nullptr;
  require(in_core && in_core->where.is_gpu(),
          "algorithm 'cusparse' needs the matrix in core on a GPU: move it there and use InCore(gpu=0)");
  check(asked->value, place);
  return in_core->where;
}

template <class T>
bool try_time_cusparse(const Matrix& m, const Dense& x, const std::string& algorithm, int repeats, int gpu,
                       nb::tuple& result) {
  const auto* a = std::get_if<Csr<T>>(&m.unread());
  if (!a || x.dtype() != nb::dtype<T>()) return false;
  m.guard().look();
  require((x.ndim() == 1 || x.ndim() == 2) && std::int64_t(x.shape(0)) == a->cols,
          "time_cusparse_gpu: x must have as many rows as the matrix has columns");
  const bool several = x.ndim() == 2;
  const auto k = several ? static_cast<std::int64_t>(x.shape(1)) : 1;
  const int number = cusparse::algorithm(algorithm, several);
  readable_by(gpu, *a, "time_cusparse_gpu");
  const auto y = allocate<T>(a->rows * k);
  std::vector<double> seconds;
  {
    const nb::gil_scoped_release release;
    const Place here{Memory::device, static_cast<std::int16_t>(gpu)};
    cusparse::Product<T> product(*a, Where{gpu});
    const auto xs = allocate<T>(a->cols * k, here), ys = allocate<T>(a->rows * k, here);
    const OwnedStream stream(Where{gpu});
    copy_async(xs.data, x.data(), xs.bytes(), stream);
    seconds = time_runs(stream, repeats, [&] {
      if (several) product.spmm({xs.data, a->cols, k, k, 1}, {ys.data, a->rows, k, k, 1}, {}, number, stream);
      else product.spmv(xs.data, ys.data, {}, number, stream);
    });
    copy_async(y.data, ys.data, y.bytes(), stream);
    synchronize(stream);
  }
  auto out = as_numpy<T>(y);
  result = nb::make_tuple(seconds, several ? out.attr("reshape")(a->rows, k) : out);
  return true;
}

nb::tuple time_cusparse_gpu(const Matrix& a, const Dense& x, const std::string& algorithm, int repeats,
                            int gpu) {
  open_cusparse();
  nb::tuple result;
  if (try_time_cusparse<float>(a, x, algorithm, repeats, gpu, result) ||
      try_time_cusparse<double>(a, x, algorithm, repeats, gpu, result) ||
      try_time_cusparse<Complex64>(a, x, algorithm, repeats, gpu, result) ||
      try_time_cusparse<Complex128>(a, x, algorithm, repeats, gpu, result))
    return result;
  refuse_types("plus_times");
}

}  // namespace

void open_cusparse() {
  if (cusparse::is_loaded()) return;
  std::string failure;
  try {
    return cusparse::load();
  } catch (const Error& e) {
    if (e.code() != Errc::not_accessible) throw;
    failure = e.what();
  }
  const nb::object path = nb::module_::import_("penstock._cusparse").attr("find")();
  if (path.is_none()) throw Error(Errc::not_accessible, failure);
  cusparse::load(nb::cast<std::string>(path));
}

nb::object product_cusparse(const Matrix& a, const nb::object& x, const nb::object& y,
                            const std::optional<AnySchedule>& asked, const std::string& semiring,
                            const nb::object& alpha, const nb::object& beta, bool traced) {
  if (semiring != "plus_times") refuse_types(semiring);
  const auto where = gpu_of(a, asked);
  open_cusparse();
  Trace trace;
  if (try_cusparse_product<float>(a, x, y, where, alpha, beta, trace) ||
      try_cusparse_product<double>(a, x, y, where, alpha, beta, trace) ||
      try_cusparse_product<Complex64>(a, x, y, where, alpha, beta, trace) ||
      try_cusparse_product<Complex128>(a, x, y, where, alpha, beta, trace))
    return as_event(trace, traced);
  refuse_types(semiring);
}

void cusparse_products(nb::module_& m) {
  m.def(
      "cusparse_version",
      [] {
        open_cusparse();
        return cusparse::version();
      },
      "The version of cuSPARSE (12603 for 12.6.3), which is opened when first asked for.");
  m.def("time_cusparse_gpu", time_cusparse_gpu, nb::arg("a"), nb::arg("x"), nb::arg("algorithm") = "default",
        nb::arg("repeats") = 7, nb::arg("gpu") = 0,
        "(seconds of each call, y) of cuSPARSE's SpMV, or of its SpMM for a two-dimensional x, everything on "
        "the GPU. It "
        "studies the matrix before, untimed. algorithm: default, csr_alg1, csr_alg2, and csr_alg3 for "
        "columns.");
}

}  // namespace penstock::bind
