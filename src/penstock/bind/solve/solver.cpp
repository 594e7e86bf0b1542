// Operators and Krylov methods. An operator is a matrix of the library, a preconditioner, or a Python function.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

#include "penstock/bind/product/product.hpp"
#include "penstock/bind/solve/device_op.hpp"
#include "penstock/bind/solve/solve_call.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"
#include "penstock/solver/krylov/lone_solve_gpu.hpp"
#include "penstock/solver/matrix_op.hpp"

namespace penstock::bind {
namespace {

template <class T, class V>
bool try_matrix_op(const Matrix& m, const std::string& dtype, const Schedule& schedule,
                   std::int64_t prepare_after, AnyOp& out) {
  const auto* a = std::get_if<Csr<V>>(&m.unread());
  if (!a || dtype != dtype_name<T>()) return false;
  m.guard().look();
  // The plans live in a variant that the matrix owns: the pointer keeps it.
  std::shared_ptr<SpmvPlans<V>> plans(m.plans, &std::get<SpmvPlans<V>>(*m.plans));
  auto op = matrix_op<T, V>(*a, plans, schedule, {.prepare_after = prepare_after});
  if constexpr (kParts<T> == 1) out.op = std::move(op);
  else out.op = of_parts(std::move(op)), out.complex = true;
  out.guard = m.guard();
  return true;
}

AnyOp bound_matrix_op(const Matrix& m, const std::string& dtype, const AnySchedule& schedule,
                      std::int64_t prepare_after) {
  AnyOp out;
#define X(T, V) \
  if (try_matrix_op<T, V>(m, dtype, schedule.value, prepare_after, out)) return out;
  PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
  PENSTOCK_FOR_EACH_COMPLEX_OP(X)
#undef X
  throw Error(Errc::not_compiled,
              "solvers have no vectors of " + dtype + " for this matrix: convert it with astype");
}

/// function(x, y) fills y. Both are views of this library's memory, of N (T, or complex) numbers, that end with the call: the Python side
/// copies.
template <class T, class N>
LinearOp<T> function_op(std::int64_t rows, const nb::callable& function) {
  const std::shared_ptr<nb::callable> f(new nb::callable(function), [](nb::callable* p) {
    const nb::gil_scoped_acquire gil;
    delete p;
  });
  LinearOp<T> op;
  op.rows = kParts<N> * rows;
  op.apply = [f](std::span<const T> x, std::span<T> y) {
    const nb::gil_scoped_acquire gil;
    const nb::object none = nb::none();
    const auto n = x.size() / static_cast<std::size_t>(kParts<N>);
    const auto* from = reinterpret_cast<const N*>(x.data());
    auto* to = reinterpret_cast<N*>(y.data());
    call_back(*f, nb::cast(nb::ndarray<nb::numpy, const N, nb::ndim<1>>(from, {n}, none)),
              nb::cast(nb::ndarray<nb::numpy, N, nb::ndim<1>>(to, {n}, none)));
  };
  return op;
}

AnyOp bound_function_op(std::int64_t rows, const std::string& dtype, const nb::callable& function) {
  if (dtype == "float32") return {function_op<float, float>(rows, function)};
  if (dtype == "complex64") return {function_op<float, Complex64>(rows, function), {}, true};
  if (dtype == "complex128") return {function_op<double, Complex128>(rows, function), {}, true};
  require(dtype == "float64", "function_op: float or complex, of 32 or 64 bits a part");
  return {function_op<double, double>(rows, function)};
}

nb::object solve(const std::string& method, const AnyOp& a, const AnyOp* m, const nb::object& b,
                 const nb::object& x, const nb::dict& options) {
  const auto o = options_of(options);
  a.guard.require_whole();
  return std::visit(
      [&]<class T>(const LinearOp<T>& op) {
        const auto* preconditioner = preconditioner_of<T>(m, a.complex);
        SolveResult result;
        with_vectors<T>(a.complex, b, x, [&](std::span<const T> from, std::span<T> to) {
          const nb::gil_scoped_release release;
          if (a.complex) result = run_complex<T>(method, op, preconditioner, from, to, o);
          else result = run_method<T>(method, op, preconditioner, from, to, o);
        });
        return as_dict(result);
      },
      a.op);
}

/// The vectors are with the device where the method and M allow it and its memory holds them; else on the host.
nb::list solve_on_device(const std::string& method, const AnyDeviceOp& a, const AnyOp* m, const nb::object& b,
                         const nb::object& x, std::int64_t count, const nb::dict& options) {
  const auto o = options_of(options);
  a.guard.require_whole();
  std::vector<SolveResult> results;
  bool on_device = true;
  std::visit(
      [&]<class T>(const DeviceOp<T>& op) {
        const auto* preconditioner = preconditioner_of<T>(m);
        const auto from = nb::cast<ReadArray<T>>(b);
        const auto to = nb::cast<WriteArray<T>>(x);
        const std::span<const T> bs(from.data(), from.shape(0));
        const std::span<T> xs(to.data(), to.shape(0));
        const nb::gil_scoped_release release;
        require(count >= 1 && std::ssize(bs) == count * op.rows && bs.size() == xs.size(),
                "solve: b and x need the rows of A");
        const bool there = method != "fgmres" && keeps_vectors_on_device(preconditioner, op.where) &&
                           (op.where.is_gpu() || !op.apply_host);
        const bool fits = method == "cg" && there;
        if (count > 1 && (!fits || o.callback)) {  // together: the callback hears of all columns at once
          require(method == "cg", "several right-hand sides: by cg alone");
          on_device = false;
          results = cg_many<T>(with_host_vectors(op), preconditioner, bs, xs, count, o);
          return;
        }
        const auto n = static_cast<std::size_t>(op.rows);
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
          std::optional<SolveResult> result;
          if (fits) result = cg_gpu<T>(op, preconditioner, bs.subspan(i * n, n), xs.subspan(i * n, n), o);
          else if (there)
            result =
                lone_solve_gpu<T>(method, op, preconditioner, bs.subspan(i * n, n), xs.subspan(i * n, n), o);
          if (!result) {
            on_device = false;
            result = run_method<T>(method, with_host_vectors(op), preconditioner, bs.subspan(i * n, n),
                                   xs.subspan(i * n, n), o);
          }
          results.push_back(std::move(*result));
        }
      },
      a.op);
  nb::list out;
  for (const auto& r : results) {
    auto d = as_dict(r);
    d["vectors_on_device"] = on_device;
    out.append(d);
  }
  return out;
}

nb::list solve_many(const AnyOp& a, const AnyOp* m, const nb::object& b, const nb::object& x,
                    std::int64_t count, const nb::dict& options) {
  const auto o = options_of(options);
  a.guard.require_whole();
  std::vector<SolveResult> results;
  std::visit(
      [&]<class T>(const LinearOp<T>& op) {
        const auto* preconditioner = preconditioner_of<T>(m, a.complex);
        with_vectors<T>(a.complex, b, x, [&](std::span<const T> from, std::span<T> to) {
          const nb::gil_scoped_release release;
          results = cg_many<T>(op, preconditioner, from, to, count, o);
        });
      },
      a.op);
  nb::list out;
  for (const auto& r : results) out.append(as_dict(r));
  return out;
}

void apply(const AnyOp& a, const nb::object& x, const nb::object& y) {
  a.guard.require_whole();
  std::visit(
      [&]<class T>(const LinearOp<T>& op) {
        with_vectors<T>(a.complex, x, y, [&](std::span<const T> from, std::span<T> to) {
          require(std::ssize(from) == op.rows && from.size() == to.size(), "apply: shapes differ");
          const nb::gil_scoped_release release;
          op.apply(from, to);
        });
      },
      a.op);
}

std::int64_t rows_of(const AnyOp& a) {
  return std::visit([&](const auto& op) { return op.rows / a.parts(); }, a.op);
}

std::int64_t matrix_bytes_of(const AnyOp& a) {
  return std::visit([](const auto& op) { return op.matrix_bytes ? op.matrix_bytes() : 0; }, a.op);
}

std::string dtype_of_op(const AnyOp& a) {
  return std::visit(
      [&]<class T>(const LinearOp<T>&) {
        return std::string(a.complex ? dtype_name<std::complex<T>>() : dtype_of<T>());
      },
      a.op);
}

/// An operator of the parts of complex vectors as one of these vectors.
AnyOp as_complex(AnyOp a) {
  a.complex = true;
  return a;
}

/// The levels of both triangles; none where the operator has no triangles.
std::optional<std::pair<std::int64_t, std::int64_t>> levels_of(const AnyOp& a) {
  return std::visit(
      [](const auto& op) -> std::optional<std::pair<std::int64_t, std::int64_t>> {
        if (!op.on_device.levels) return {};
        const nb::gil_scoped_release release;
        return op.on_device.levels();
      },
      a.op);
}

}  // namespace

void solver(nb::module_& m) {
  nb::class_<AnyOp>(m, "LinearOp", "y = A x: what solvers ask of a matrix or a preconditioner.")
      .def_prop_ro("rows", rows_of)
      .def_prop_ro("matrix_bytes", matrix_bytes_of)
      .def_prop_ro("dtype", dtype_of_op)
      .def_prop_ro("levels", levels_of)
      .def("apply", apply, nb::arg("x"), nb::arg("y"));
  m.def("as_complex", as_complex, nb::arg("op"),
        "An operator of real and imaginary parts as one of complex vectors.");
  m.def("matrix_op", bound_matrix_op, nb::arg("a"), nb::arg("dtype"), nb::arg("schedule"),
        nb::arg("prepare_after"));
  m.def("function_op", bound_function_op, nb::arg("rows"), nb::arg("dtype"), nb::arg("function"));
  m.def("solve", solve, nb::arg("method"), nb::arg("a"), nb::arg("m").none(), nb::arg("b"), nb::arg("x"),
        nb::arg("options"));
  m.def("solve_on_device", solve_on_device, nb::arg("method"), nb::arg("a"), nb::arg("m").none(),
        nb::arg("b"), nb::arg("x"), nb::arg("count"), nb::arg("options"),
        "A result for each of `count` right-hand sides.");
  m.def("solve_many", solve_many, nb::arg("a"), nb::arg("m").none(), nb::arg("b"), nb::arg("x"),
        nb::arg("count"), nb::arg("options"));
}

}  // namespace penstock::bind
