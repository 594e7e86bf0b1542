// Operators for methods whose vectors live with a device.
#include "penstock/bind/solve/device_op.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "penstock/bind/product/stream.hpp"
#include "penstock/bind/solve/linear_op.hpp"
#include "penstock/bind/solve/solve_call.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"
#include "penstock/kernel/vectors/sweep.hpp"
#include "penstock/solver/krylov/lone_solve_gpu.hpp"

namespace penstock::bind {
namespace {

AnyDeviceOp of_matrix(const Matrix& m, const std::string& dtype) {
  m.guard().look();
#define X(T, V)                                                                      \
  if (const auto* a = std::get_if<Csr<V>>(&m.unread()); a && dtype == dtype_of<T>()) \
    return {penstock::device_op<T, V>(*a), m.guard()};
  PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X
  throw Error(Errc::not_compiled,
              "no product of this matrix and vectors of " + dtype + ": convert it with astype");
}

/// A plan's products. The vectors live with its first GPU; where the CPU takes a part, with the CPU.
template <class T>
DeviceOp<T> of_plan_as(const AnyPlan& p) {
  const auto product = p.product("plus_times", nb::dtype<T>(), nb::none(), nb::none());
  const auto& list = p.plan->list();
  if (!product)
    throw Error(Errc::not_compiled, std::string("this plan has no product with vectors of ") + dtype_of<T>());
  require(product->entry_bytes <= p.plan->settings().entry_bytes,
          "this plan was made for vectors of " + std::to_string(p.plan->settings().entry_bytes) +
              " bytes an entry, not " + std::to_string(product->entry_bytes) + ": make another");
  Where home = p.plan->home();
  for (const auto& lane : p.plan->lanes())
    if (!lane->where().is_gpu()) home = Where{};
  const auto run = [any = p, product = *product](const T* x, T* y, Place place) {
    auto* from = reinterpret_cast<std::byte*>(const_cast<T*>(x));  // read only: a VectorAt serves both
    any.plan->multiply(product, {from, place}, {reinterpret_cast<std::byte*>(y), place});
  };
  DeviceOp<T> op{.rows = list.rows, .cols = list.cols, .where = home};
  op.waits = true;
  op.apply = [run, here = device_place(home)](const T* x, T* y, Stream stream) {
    synchronize(stream);  // the plan has streams of its own; it returns when y is complete
    run(x, y, here);
  };
  op.apply_host = [run](std::span<const T> x, std::span<T> y) { run(x.data(), y.data(), Place{}); };
  op.matrix_bytes = [bytes = list.total_bytes()] { return bytes; };
  return op;
}

AnyDeviceOp of_plan(const AnyPlan& p, const std::string& dtype) {
  if (dtype == dtype_of<float>()) return {of_plan_as<float>(p), p.guard};
  require(dtype == dtype_of<double>(), "plan_op: vectors of float32 or float64, not " + dtype);
  return {of_plan_as<double>(p), p.guard};
}

/// Products by `low`, and residuals by `exact`.
AnyDeviceOp with_exact(const AnyDeviceOp& low, const AnyDeviceOp& exact, double at) {
  low.guard.require_whole();
  return std::visit(
      [&]<class T>(const DeviceOp<T>& a) -> AnyDeviceOp {
        const auto* other = std::get_if<DeviceOp<T>>(&exact.op);
        require(other && other->where == a.where && other->rows == a.rows && other->cols == a.cols,
                "with_exact: both are for vectors of one type and size, on one device");
        auto both = a;
        both.exact = other->apply, both.exact_at = at;
        both.waits = a.waits || other->waits;
        both.apply_host = {};
        return {both, exact.guard};
      },
      low.op);
}

/// b, x and the guess by their addresses, and the stream of their library by its handle.
nb::dict solve_at(const std::string& method, const AnyDeviceOp& a, const AnyOp* m, std::uintptr_t b,
                  std::uintptr_t x, std::optional<std::uintptr_t> guess, std::uintptr_t stream,
                  const nb::dict& options) {
  const auto o = options_of(options);
  a.guard.require_whole();
  auto told = std::visit(
      [&]<class T>(const DeviceOp<T>& op) {
        const auto* preconditioner = preconditioner_of<T>(m);
        const CgVectors<T> vectors{.b = reinterpret_cast<const T*>(b),
                                   .x = reinterpret_cast<T*>(x),
                                   .guess = reinterpret_cast<const T*>(guess.value_or(0)),
                                   .stream = reinterpret_cast<void*>(stream)};
        SolveResult result;
        {
          const nb::gil_scoped_release release;
          result = method == "cg" ? cg_on_device<T>(op, preconditioner, vectors, o)
                                  : lone_solve_on_device<T>(method, op, preconditioner, vectors, o);
        }
        return as_dict(result);
      },
      a.op);
  told["vectors_on_device"] = true;
  return told;
}

/// get(op) of the type that the operator has.
template <class Get>
auto property(Get get) {
  return [get](const AnyDeviceOp& a) { return std::visit(get, a.op); };
}

}  // namespace

void device_op(nb::module_& m) {
  nb::class_<AnyDeviceOp>(
      m, "DeviceOp",
      "y = A x with vectors in a device's memory: what solvers with their vectors there ask for.")
      .def_prop_ro("rows", property([](const auto& op) { return op.rows; }))
      .def_prop_ro("gpu", property([](const auto& op) { return op.where.gpu; }))
      .def_prop_ro("matrix_bytes",
                   property([](const auto& op) { return op.matrix_bytes ? op.matrix_bytes() : 0; }))
      .def_prop_ro("dtype", property([]<class T>(const DeviceOp<T>&) { return std::string(dtype_of<T>()); }));
  m.def("device_op", of_matrix, nb::arg("a"), nb::arg("dtype"),
        "Products in core where the matrix is: on the GPU that holds it, or on the CPU as a device.");
  m.def("plan_op", of_plan, nb::arg("plan"), nb::arg("dtype"), "The products of a StreamPlan.");
  m.def("with_exact", with_exact, nb::arg("low"), nb::arg("exact"), nb::arg("at"),
        "Products of a rounded matrix, for which cg computes residuals by the exact one whenever they have "
        "come down to a part `at`.");
  m.def("solve_at", solve_at, nb::arg("method"), nb::arg("a"), nb::arg("m").none(), nb::arg("b"),
        nb::arg("x"), nb::arg("guess").none(), nb::arg("stream"), nb::arg("options"),
        "A solve with b, x and the guess at addresses in the memory of the operator's device; `stream` is "
        "the one "
        "on which their library queues work.");
  m.def("cg_device_bytes", cg_gpu_bytes, nb::arg("rows"), nb::arg("entry_bytes"), nb::arg("with_m"),
        "Device memory that CG takes for its vectors.");
}

}  // namespace penstock::bind
