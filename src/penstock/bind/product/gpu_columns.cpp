// Timing of products with several vectors on a GPU, by its own clock: for benchmarks.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/product/gpu_timing.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"

namespace penstock::bind {
namespace {

using ContiguousColumns = nb::ndarray<nb::ro, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class S, class V>
bool try_time_columns(const Matrix& m, const ContiguousColumns& x, std::string_view semiring, int repeats,
                      int gpu, int panel, nb::tuple& result) {
  using T = typename S::value_type;
  const auto* a = std::get_if<Csr<V>>(&m.unread());
  if (!a || semiring != semiring_name<S>() || x.dtype() != nb::dtype<T>()) return false;
  m.guard().look();
  require(std::int64_t(x.shape(0)) == a->cols,
          "time_spmm_gpu: X must have as many rows as the matrix has columns");
  require(panel >= 0, "time_spmm_gpu: panel = " + std::to_string(panel) + "; give 0 or a number of columns");
  readable_by(gpu, *a, "time_spmm_gpu");
  const auto k = static_cast<std::int64_t>(x.shape(1));
  const auto y = allocate<T>(a->rows * k);
  std::vector<double> seconds;
  {
    const nb::gil_scoped_release release;
    const Place here{Memory::device, static_cast<std::int16_t>(gpu)};
    const auto device_x = allocate<T>(a->cols * k, here), device_y = allocate<T>(a->rows * k, here);
    const OwnedStream stream(Where{gpu});
    copy_async(device_x.data, x.data(), device_x.bytes(), stream);
    const auto plan = spmm_plan(a->view(), SpmmPlanFor::many, stream);
    const DenseView<const T> xs{device_x.data, a->cols, k, k, 1};
    const DenseView<T> ys{device_y.data, a->rows, k, k, 1};
    seconds = time_runs(stream, repeats, [&] {
      spmm_on<S, V>(a->view(), xs, ys, {}, stream, {.plan = &plan, .panel = panel});
    });
    copy_async(y.data, device_y.data, y.bytes(), stream);
    synchronize(stream);
  }
  result = nb::make_tuple(seconds, as_numpy<T>(y).attr("reshape")(a->rows, k));
  return true;
}

nb::tuple time_spmm_gpu(const Matrix& a, const ContiguousColumns& x, const std::string& semiring, int repeats,
                        int gpu, int panel) {
  nb::tuple result;
#define X(S, V) \
  if (try_time_columns<S, V>(a, x, semiring, repeats, gpu, panel, result)) return result;
  PENSTOCK_FOR_EACH_SPMV(X)
#undef X
  throw Error(Errc::not_compiled, "no kernel for semiring " + semiring + " with these value types");
}

}  // namespace

void gpu_columns(nb::module_& m) {
  m.def("time_spmm_gpu", time_spmm_gpu, nb::arg("a"), nb::arg("x"), nb::arg("semiring") = "plus_times",
        nb::arg("repeats") = 7, nb::arg("gpu") = 0, nb::arg("panel") = 0,
        "(seconds of each kernel call, Y) for Y = A X with X and Y, row-major, on the GPU and A where the "
        "GPU can read it. "
        "`panel`: columns of one pass over A, 0 leaves the choice to the library.");
}

}  // namespace penstock::bind
