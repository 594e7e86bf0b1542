// Operators for methods whose vectors live with a device.
#include "penstock/bind/device_op.hpp"

#include <nanobind/stl/string.h>

#include "penstock/bind/linear_op.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/spmv_rows.hpp"
#include "penstock/solver/cg_gpu.hpp"

namespace penstock::bind {
namespace {

AnyDeviceOp of_matrix(const Matrix& m, const std::string& dtype) {
#define X(T, V) \
  if (const auto* a = std::get_if<Csr<V>>(&m.any); a && dtype == dtype_of<T>()) return {penstock::device_op<T, V>(*a)};
  PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X
  throw Error(Errc::not_compiled, "no product of this matrix and vectors of " + dtype + ": convert it with astype");
}

}  // namespace

void device_op(nb::module_& m) {
  nb::class_<AnyDeviceOp>(m, "DeviceOp", "y = A x with vectors in a device's memory: what solvers with their vectors there ask for.")
      .def_prop_ro("rows", [](const AnyDeviceOp& a) { return std::visit([](const auto& op) { return op.rows; }, a.op); })
      .def_prop_ro("gpu", [](const AnyDeviceOp& a) { return std::visit([](const auto& op) { return op.where.gpu; }, a.op); })
      .def_prop_ro("matrix_bytes", [](const AnyDeviceOp& a) {
        return std::visit([](const auto& op) { return op.matrix_bytes ? op.matrix_bytes() : std::int64_t(0); }, a.op);
      })
      .def_prop_ro("dtype", [](const AnyDeviceOp& a) {
        return std::visit([]<class T>(const DeviceOp<T>&) { return std::string(dtype_of<T>()); }, a.op);
      });
  m.def("device_op", of_matrix, nb::arg("a"), nb::arg("dtype"),
        "Products in core where the matrix is: on the GPU that holds it, or on the CPU as a device.");
  m.def("cg_device_bytes", cg_gpu_bytes, nb::arg("rows"), nb::arg("entry_bytes"), nb::arg("diagonal"),
        "Device memory that CG takes for its vectors.");
}

}  // namespace penstock::bind
