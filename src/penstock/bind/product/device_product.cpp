// Products with vectors on a GPU, queued on the caller's stream. Arrays come as addresses, which Python has looked up: a call
// takes microseconds, and a DLPack capsule would take as long again.
#include "penstock/schedule/device/device_product.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>

#include "penstock/bind/product/product.hpp"
#include "penstock/bind/product/stream.hpp"
#include "penstock/core/error.hpp"
#include "penstock/schedule/multiply.hpp"

namespace penstock::bind {
namespace {

/// A matrix that is multiplied on the GPU that holds it, without its type.
struct DeviceMatrix {
  std::variant<std::shared_ptr<DeviceProduct<One>>, std::shared_ptr<DeviceProduct<float>>,
               std::shared_ptr<DeviceProduct<double>>, std::shared_ptr<DeviceProduct<Complex64>>,
               std::shared_ptr<DeviceProduct<Complex128>>>
      product;
  Guard guard;
};

/// Vectors as Python gives them: addresses, and steps in entries.
struct RawColumns {
  std::uintptr_t x;
  std::int64_t x_row, x_col;
  std::uintptr_t y;
  std::int64_t y_row, y_col, columns;
};

/// The product of one matrix over one semiring with entries of one type.
struct DeviceCall {
  using Numbers = const nb::object&;
  std::function<void(std::uintptr_t, std::uintptr_t, Numbers, Numbers, Stream)> vector;
  std::function<void(const RawColumns&, Numbers, Numbers, Stream)> columns;
  Where where;
  std::int64_t bytes = 0;  // that one product with a vector reads and writes at least
};

/// The NumPy type of a vector's entries; those of boolean semirings are bytes.
template <class T>
constexpr const char* entry_name() {
  if constexpr (std::same_as<T, std::uint8_t>) return "uint8";
  else return dtype_name<T>();
}

DeviceMatrix device_matrix(const Matrix& m, int gpu) {
  const Where where{gpu};
  const nb::gil_scoped_release release;
  return std::visit(
      [&]<class V>(const Csr<V>& a) -> DeviceMatrix {
        return {std::make_shared<DeviceProduct<V>>(a, where), m.guard()};
      },
      m.any(release));
}

template <class S, class V>
bool try_call(const DeviceMatrix& m, const std::string& semiring, const std::string& dtype,
              DeviceCall& call) {
  using T = typename S::value_type;
  const auto* held = std::get_if<std::shared_ptr<DeviceProduct<V>>>(&m.product);
  if (!held || semiring != semiring_name<S>() || dtype != entry_name<T>()) return false;
  const auto product = *held;
  call.where = product->where();
  call.bytes = least_bytes(product->matrix(), sizeof(T), false);
  call.vector = [product](std::uintptr_t x, std::uintptr_t y, const nb::object& alpha, const nb::object& beta,
                          Stream stream) {
    const auto scale = scale_of<S>(alpha, beta);
    const nb::gil_scoped_release release;
    product->template multiply<S>(reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y), scale, stream);
  };
  call.columns = [product](const RawColumns& c, const nb::object& alpha, const nb::object& beta,
                           Stream stream) {
    const auto scale = scale_of<S>(alpha, beta);
    const auto& a = product->matrix();
    const nb::gil_scoped_release release;
    product->template multiply<S>(
        DenseView<const T>{reinterpret_cast<const T*>(c.x), a.cols, c.columns, c.x_row, c.x_col},
        DenseView<T>{reinterpret_cast<T*>(c.y), a.rows, c.columns, c.y_row, c.y_col}, scale, stream);
  };
  return true;
}

DeviceCall device_call(const DeviceMatrix& m, const std::string& semiring, const std::string& dtype) {
  DeviceCall call;
#define X(S, V) \
  if (try_call<S, V>(m, semiring, dtype, call)) return call;
  PENSTOCK_FOR_EACH_SPMV(X)
#undef X
  no_kernel(semiring);
}

Stream stream_of(Where where, std::uintptr_t handle) { return {reinterpret_cast<void*>(handle), where}; }

/// The type of entries by its name.
nb::dlpack::dtype entries_named(const std::string& name) {
  if (name == entry_name<float>()) return nb::dtype<float>();
  if (name == entry_name<double>()) return nb::dtype<double>();
  if (name == entry_name<Complex64>()) return nb::dtype<Complex64>();
  if (name == entry_name<Complex128>()) return nb::dtype<Complex128>();
  require(name == "uint8" || name == "bool", "entries of " + name + " are not known here");
  return nb::dtype<std::uint8_t>();
}

void queue_plan(AnyPlan& p, std::uintptr_t x, std::uintptr_t y, const std::string& dtype,
                const std::string& semiring, const nb::object& alpha, const nb::object& beta, int gpu,
                std::uintptr_t stream) {
  p.guard.require_whole();
  const Where where{gpu};
  const auto product = p.product(semiring, entries_named(dtype), alpha, beta);
  if (!product) no_kernel(semiring);
  const auto here = device_place(where);
  const nb::gil_scoped_release release;
  p.plan->queue(*product, {reinterpret_cast<std::byte*>(x), here}, {reinterpret_cast<std::byte*>(y), here},
                stream_of(where, stream));
}

nb::object device_empty(const std::vector<std::size_t>& shape, const std::string& dtype, int gpu) {
  const auto type = dtype == "bool" ? nb::dtype<bool>() : entries_named(dtype);
  std::int64_t bytes = type.bits / 8;
  for (const auto n : shape) bytes *= static_cast<std::int64_t>(n);
  const auto memory = allocate<std::byte>(bytes, device_place(Where{gpu}));
  // Whoever takes it over may have work queued when it lets go
  auto* owner = new std::shared_ptr<void>(memory.data, [keep = memory.owner, gpu](void*) mutable {
    drain(Where{gpu});
    keep.reset();
  });
  const nb::capsule keep(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); });
  return nb::make_tuple(reinterpret_cast<std::uintptr_t>(memory.data),
                        nb::ndarray<>(memory.data, shape.size(), shape.data(), keep, nullptr, type,
                                      nb::device::cuda::value, gpu));
}

}  // namespace

void device_product(nb::module_& m) {
  nb::class_<DeviceCall>(m, "DeviceCall", "y = alpha A x + beta y over one semiring, queued on a stream.")
      .def(
          "vector",
          [](const DeviceCall& call, std::uintptr_t x, std::uintptr_t y, const nb::object& alpha,
             const nb::object& beta,
             std::uintptr_t stream) { call.vector(x, y, alpha, beta, stream_of(call.where, stream)); },
          nb::arg("x"), nb::arg("y"), nb::arg("alpha").none(), nb::arg("beta").none(), nb::arg("stream"),
          "x and y are addresses of contiguous vectors on the GPU, which do not overlap.")
      .def(
          "columns",
          [](const DeviceCall& call, std::uintptr_t x, std::int64_t x_row, std::int64_t x_col,
             std::uintptr_t y, std::int64_t y_row, std::int64_t y_col, std::int64_t columns,
             const nb::object& alpha, const nb::object& beta, std::uintptr_t stream) {
            call.columns({x, x_row, x_col, y, y_row, y_col, columns}, alpha, beta,
                         stream_of(call.where, stream));
          },
          nb::arg("x"), nb::arg("x_row"), nb::arg("x_col"), nb::arg("y"), nb::arg("y_row"), nb::arg("y_col"),
          nb::arg("columns"), nb::arg("alpha").none(), nb::arg("beta").none(), nb::arg("stream"),
          "Steps count entries.")
      .def_ro("bytes", &DeviceCall::bytes);
  nb::class_<DeviceMatrix>(m, "DeviceMatrix", "A matrix that is multiplied on the device that holds it.")
      .def("call", device_call, nb::arg("semiring"), nb::arg("dtype"));
  m.def("device_matrix", device_matrix, nb::arg("a"), nb::arg("gpu"));
  m.def(
      "can_queue", [](const AnyPlan& p, int gpu) { return p.plan->can_queue(Where{gpu}); }, nb::arg("plan"),
      nb::arg("gpu"), "Whether products with vectors on this GPU can be queued.");
  m.def("queue_plan", queue_plan, nb::arg("plan"), nb::arg("x"), nb::arg("y"), nb::arg("dtype"),
        nb::arg("semiring"), nb::arg("alpha").none(), nb::arg("beta").none(), nb::arg("gpu"),
        nb::arg("stream"));
  m.def(
      "order_streams",
      [](int gpu, std::uintptr_t first, std::uintptr_t later) {
        order(stream_of(Where{gpu}, first), stream_of(Where{gpu}, later));
      },
      nb::arg("gpu"), nb::arg("first"), nb::arg("later"),
      "What is queued on `later` from now on waits for what is queued on `first`; handles of streams.");
  m.def(
      "synchronize_stream",
      [](int gpu, std::uintptr_t stream) {
        const nb::gil_scoped_release release;
        const UseDevice use(Where{gpu});
        synchronize(stream_of(Where{gpu}, stream));
      },
      nb::arg("gpu"), nb::arg("stream"), "Waits for what is queued on a stream.");
  m.def("device_empty", device_empty, nb::arg("shape"), nb::arg("dtype"), nb::arg("gpu"),
        "An uninitialised array on a GPU: its address, and DLPack's capsule.");
  m.def(
      "gpu_of",
      [](std::uintptr_t address) { return int(place_of(reinterpret_cast<const void*>(address)).ordinal); },
      nb::arg("address"), "The GPU that holds the memory at an address.");
  m.def(
      "device_array",
      [](const nb::ndarray<nb::ro>& x) {
        const auto type = x.dtype();
        const char kinds[] = {'i', 'u', 'f', 'O', 'f', 'c', 'b'};  // by DLPack's codes
        require(type.lanes == 1 && type.code < std::size(kinds) && type.bits % 8 == 0,
                "the array's entries are of a type that is not known here");
        std::vector<std::int64_t> shape, steps;
        for (std::size_t i = 0; i < x.ndim(); ++i) shape.push_back(x.shape(i)), steps.push_back(x.stride(i));
        const auto all = [](const std::vector<std::int64_t>& v) { return nb::tuple(nb::cast(v)); };
        return nb::make_tuple(reinterpret_cast<std::uintptr_t>(x.data()), all(shape), all(steps),
                              std::string(1, kinds[type.code]) + std::to_string(type.bits / 8),
                              int(x.device_id()), true);
      },
      nb::arg("x"), "(address, shape, steps, type, GPU, whether it may be written) of an array with DLPack.");
}

}  // namespace penstock::bind
