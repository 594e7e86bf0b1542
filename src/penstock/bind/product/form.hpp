#pragma once
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/bind/product/gpu_timing.hpp"
#include "penstock/bind/product/product.hpp"
#include "penstock/schedule/schedule.hpp"

// Products of a matrix in a form of its own (packed, ELL-G): the types are looked up, shapes and places checked, and the form
// says how it is multiplied. `Form<V>` is the form for values V, `Bound` what Python holds.
namespace penstock::bind {

using FormVector = nb::ndarray<nb::ro, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// f.operator()<S, V>(matrix), where there is a kernel for the semiring, the matrix and x.
template <template <class> class Form, class Bound, class F>
void with_form(const Bound& m, const FormVector& x, const std::string& semiring, const char* task, F&& f) {
  const auto tried = [&]<class S, class V>() {
    const auto* a = std::get_if<Form<V>>(&m.unread());
    if (!a || semiring != semiring_name<S>() || x.dtype() != nb::dtype<typename S::value_type>())
      return false;
    m.guard().look();
    require(std::int64_t(x.shape(0)) == a->cols,
            std::string(task) + ": x must have as many entries as the matrix has columns");
    f.template operator()<S, V>(*a);
    return true;
  };
#define X(S, V) \
  if (tried.template operator()<S, V>()) return;
  PENSTOCK_FOR_EACH_SPMV(X)
#undef X
  no_kernel(semiring);
}

/// y = alpha A x + beta y on the CPU: multiply.operator()<S, V>(matrix, x, y, scale).
template <template <class> class Form, class Bound, class Multiply>
void multiply_form(const char* task, const Bound& m, const FormVector& x, const nb::object& y,
                   const std::string& semiring, const nb::object& alpha, const nb::object& beta,
                   Multiply multiply) {
  with_form<Form>(m, x, semiring, task, [&]<class S, class V>(const Form<V>& a) {
    using T = typename S::value_type;
    auto out = nb::cast<WriteArray<T>>(y, false);  // not converted: a copy would get the result
    require(std::int64_t(out.shape(0)) == a.rows,
            std::string(task) + ": y must have as many entries as the matrix has rows");
    check(InCore{}, a.bytes.place);
    const auto scale = scale_of<S>(alpha, beta);
    const nb::gil_scoped_release release;
    multiply.template operator()<S, V>(a, static_cast<const T*>(x.data()), out.data(), scale);
  });
}

/// (seconds of each kernel call, y) with x and y on a GPU. `ready(matrix, stream)` brings the matrix to where the GPU reads it, and
/// returns what multiplies: operator()<S, V>(x, y, stream).
template <template <class> class Form, class Bound, class Ready>
nb::tuple time_form(const char* task, const Bound& m, const FormVector& x, const std::string& semiring,
                    int repeats, int gpu, Ready ready) {
  nb::tuple result;
  with_form<Form>(m, x, semiring, task, [&]<class S, class V>(const Form<V>& a) {
    using T = typename S::value_type;
    require(gpu >= 0, std::string(task) + ": gpu = " + std::to_string(gpu) + "; give a number from 0");
    const auto y = allocate<T>(a.rows);
    std::vector<double> seconds;
    {
      const nb::gil_scoped_release release;
      const Place here{Memory::device, static_cast<std::int16_t>(gpu)};
      const auto device_x = allocate<T>(a.cols, here), device_y = allocate<T>(a.rows, here);
      const OwnedStream stream(Where{gpu});
      const auto multiply = ready(a, Stream(stream));
      copy_async(device_x.data, x.data(), device_x.bytes(), stream);
      seconds = time_runs(stream, repeats, [&] {
        multiply.template operator()<S, V>(device_x.data, device_y.data, Stream(stream));
      });
      copy_async(y.data, device_y.data, y.bytes(), stream);
      synchronize(stream);
    }
    result = nb::make_tuple(seconds, as_numpy<T>(y));
  });
  return result;
}

}  // namespace penstock::bind
