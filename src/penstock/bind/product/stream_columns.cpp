// Products of a streamed matrix with several columns that are on a GPU.
#include "penstock/schedule/device/stream_columns.hpp"

#include <nanobind/stl/string.h>

#include "penstock/bind/product/product.hpp"
#include "penstock/core/config.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/spmm/sddmm.hpp"

namespace penstock::bind {
namespace {

struct Streaming {
  std::uintptr_t x, y;
  std::int64_t x_step, y_step, width;
  const Streamed& settings;
  Stream stream;
};

template <class T, class V>
bool try_stream(const Matrix& m, const Streaming& s, const std::string& dtype, const nb::object& alpha,
                const nb::object& beta, Trace& trace) {
  const auto* a = std::get_if<Csr<V>>(&m.unread());
  if (!a || dtype != dtype_name<T>()) return false;
  m.guard().look();
  const auto scale = scale_of<PlusTimes<T>>(alpha, beta);
  const DenseView<const T> x{reinterpret_cast<const T*>(s.x), a->cols, s.width, s.x_step, 1};
  const DenseView<T> y{reinterpret_cast<T*>(s.y), a->rows, s.width, s.y_step, 1};
  const nb::gil_scoped_release release;
  stream_columns<T, V>(*a, x, y, s.settings, scale, s.stream, trace);
  return true;
}

nb::object streamed(const Matrix& a, std::uintptr_t x, std::int64_t x_step, std::uintptr_t y,
                    std::int64_t y_step, std::int64_t width, const std::string& dtype,
                    const AnySchedule& schedule, const nb::object& alpha, const nb::object& beta,
                    std::uintptr_t stream, bool traced) {
  const auto* settings = std::get_if<Streamed>(&schedule.value);
  require(settings && settings->devices.size() == 1 && width >= 0,
          "stream_columns: give a streamed schedule of one device, and a width from 0");
  const auto where = settings->devices[0];
  if (where.is_gpu() && !have_cuda) no_cuda("streaming through a GPU");
  const Streaming all{x, y, x_step, y_step, width, *settings, {reinterpret_cast<void*>(stream), where}};
  Trace trace;
#define X(T, V) \
  if (try_stream<T, V>(a, all, dtype, alpha, beta, trace)) return as_event(trace, traced);
  PENSTOCK_FOR_EACH_SDDMM(X)
#undef X
  throw Error(Errc::not_compiled,
              "stream_columns: no kernel for X of " + dtype + " and the values of this matrix");
}

}  // namespace

void stream_columns_gpu(nb::module_& m) {
  m.def(
      "stream_columns_gpu", streamed, nb::arg("a"), nb::arg("x"), nb::arg("x_step"), nb::arg("y"),
      nb::arg("y_step"), nb::arg("width"), nb::arg("dtype"), nb::arg("schedule"),
      nb::arg("alpha") = nb::none(), nb::arg("beta") = nb::none(), nb::arg("stream") = 0,
      nb::arg("traced") = true,
      "Y = alpha A X + beta Y, A streamed through the schedule's one device, X and Y at addresses there; "
      "their rows are contiguous and begin `step` entries apart. It begins after what is on the stream, and "
      "is done when the call returns.");
}

}  // namespace penstock::bind
