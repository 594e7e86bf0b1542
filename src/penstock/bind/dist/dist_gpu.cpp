// Distributed matrices on GPUs: products and solvers with vectors there.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "penstock/bind/dist/dist.hpp"
#include "penstock/bind/product/product.hpp"
#include "penstock/bind/ready.hpp"
#include "penstock/bind/solve/checkpoints.hpp"
#include "penstock/bind/solve/linear_op.hpp"
#include "penstock/bind/solve/solve_call.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/halo/halo_gpu.hpp"
#include "penstock/dist/link/library.hpp"
#include "penstock/solver/krylov/staged_solve.hpp"

namespace penstock::bind {
namespace {

using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig>;
using AnyResult = nb::ndarray<nb::ndim<1>, nb::c_contig>;

/// A rank's part on its device, with products and solves for vectors that are anywhere.
struct DistGpu {
  std::variant<std::shared_ptr<StagedProduct<One>>, std::shared_ptr<StagedProduct<float>>,
               std::shared_ptr<StagedProduct<double>>>
      any;
  Where where;
  Guard guard;
};

template <class F>
decltype(auto) visit(const DistGpu& g, F&& f) {
  g.guard.require_whole();
  return std::visit([&](const auto& product) -> decltype(auto) { return f(*product); }, g.any);
}

DistGpu on_gpu(const DistMatrix& a, int gpu, const std::string& halo, bool streamed,
               std::int64_t device_memory) {
  a.guard.require_whole();
  const nb::gil_scoped_release release;
  const DistGpuOptions options{
      .where = Where{gpu}, .halo = halo, .streamed = streamed, .device_memory = device_memory};
  return std::visit(
      [&]<class V>(const std::shared_ptr<DistProduct<V>>& p) {
        return DistGpu{std::make_shared<StagedProduct<V>>(p->matrix(), options), options.where, a.guard};
      },
      a.any);
}

template <class S, class V>
bool try_gpu_product(DistGpu& g, const AnyVector& x, const AnyResult& y, std::string_view semiring,
                     const nb::object& alpha, const nb::object& beta, int times, std::int64_t columns,
                     bool transposed) {
  using T = typename S::value_type;
  const auto* found = std::get_if<std::shared_ptr<StagedProduct<V>>>(&g.any);
  if (!found || semiring != semiring_name<S>() || x.dtype() != nb::dtype<T>()) return false;
  require(y.dtype() == nb::dtype<T>(), "distributed product: x and y differ in type");
  const auto scale = scale_of<S>(alpha, beta);
  const auto* from = static_cast<const T*>(x.data());
  auto* to = static_cast<T*>(y.data());
  const nb::gil_scoped_release release;
  place_when_ready(from), place_when_ready(to);
  (*found)->template multiply_columns<S>(from, to, columns, scale, transposed, times);
  return true;
}

void gpu_product(DistGpu& g, const AnyVector& x, const AnyResult& y, const std::string& semiring,
                 const nb::object& alpha, const nb::object& beta, int times, std::int64_t columns,
                 bool transposed) {
  visit(g, [&](const auto& p) {
    const auto cols = p.matrix().cols(), rows = p.matrix().rows();
    require(std::int64_t(x.shape(0)) == (transposed ? rows : cols) * columns &&
                std::int64_t(y.shape(0)) == (transposed ? cols : rows) * columns,
            "distributed product: this rank has " + std::to_string(cols) + " columns and " +
                std::to_string(rows) + " rows, with " + std::to_string(columns) +
                " vectors; the arrays have " + std::to_string(x.shape(0)) + " and " +
                std::to_string(y.shape(0)) + " entries");
  });
#define X(S, V) \
  if (try_gpu_product<S, V>(g, x, y, semiring, alpha, beta, times, columns, transposed)) return;
  PENSTOCK_FOR_EACH_DIST(X)
#undef X
  throw Error(Errc::not_compiled,
              "no distributed product for semiring " + semiring + " with these value types");
}

/// M as Python describes it: its diagonal, and the polynomial in it where there is a degree; or an operator with a form for
/// devices.
struct GivenM {
  std::optional<AnyVector> diagonal;
  ChebyshevOptions polynomial{.degree = 0};
  const AnyOp* op = nullptr;
};

GivenM given_m(const nb::object& m) {
  GivenM g;
  if (m.is_none()) return g;
  const auto d = nb::cast<nb::dict>(m);
  if (d.contains("op")) {
    g.op = nb::cast<const AnyOp*>(d["op"]);
    return g;
  }
  g.diagonal = nb::cast<AnyVector>(d["diagonal"]);
  g.polynomial.degree = nb::cast<int>(d["degree"]);
  std::tie(g.polynomial.smallest, g.polynomial.largest) =
      nb::cast<std::pair<double, double>>(d["eigenvalues"]);
  return g;
}

/// The operator's form for devices, in the type of the vectors.
template <class T>
const DeviceForm<T>& form_of(const AnyOp& any, std::int64_t rows) {
  const auto* op = std::get_if<LinearOp<T>>(&any.op);
  require(op && op->rows == rows && op->on_device.make,
          "M is not of the vectors' type and rows, or has no form for vectors on a GPU");
  return op->on_device;
}

std::string keep_on_gpu(DistGpu& g, const AnyOp& m, std::int64_t spare) {
  const nb::gil_scoped_release release;
  return visit(g, [&](auto& product) {
    const auto keep = [&]<class T>(const LinearOp<T>&) {
      return keep_on_device(form_of<T>(m, product.matrix().rows()), product.stage().stream(), spare);
    };
    return std::visit(keep, m.op);
  });
}

void apply_on_gpu(DistGpu& g, const AnyOp& m, const AnyVector& r, const AnyResult& z, int times) {
  std::visit(
      [&]<class T, class P>(const LinearOp<T>& op, const std::shared_ptr<P>& product) {
        const auto n = op.rows;
        require(std::int64_t(r.shape(0)) == n && std::int64_t(z.shape(0)) == n &&
                    r.dtype() == nb::dtype<T>() && z.dtype() == nb::dtype<T>(),
                "M: r and z need its " + std::to_string(n) + " rows and its type");
        const auto& form = form_of<T>(m, product->matrix().rows());
        const auto* from = static_cast<const T*>(r.data());
        auto* to = static_cast<T*>(z.data());
        const nb::gil_scoped_release release;
        place_when_ready(from), place_when_ready(to);
        staged_apply(*product, form, from, to, times);
      },
      m.op, g.any);
}

template <class T, class V>
bool try_solve(DistGpu& g, const std::string& method, const AnyVector& b, const AnyResult& x,
               const nb::object& m, const nb::dict& options, nb::dict& out) {
  const auto* found = std::get_if<std::shared_ptr<StagedProduct<V>>>(&g.any);
  if (!found || b.dtype() != nb::dtype<T>()) return false;
  const auto n = (*found)->matrix().rows();
  require(std::int64_t(b.shape(0)) == n && std::int64_t(x.shape(0)) == n && x.dtype() == b.dtype(),
          method + ": b and x need this rank's " + std::to_string(n) + " rows, and one type");
  auto o = options_of(options);
  o.checkpoints = checkpoints_of<T>(options);
  const auto given = given_m(m);
  require(!given.diagonal ||
              (std::int64_t(given.diagonal->shape(0)) == n && given.diagonal->dtype() == b.dtype()),
          method + ": M's diagonal needs this rank's rows, and b's type");
  StagedM<T> staged{.polynomial = given.polynomial};
  if (given.op) staged.form = &form_of<T>(*given.op, n);
  if (given.diagonal) staged.diagonal = static_cast<const T*>(given.diagonal->data());
  const auto* from = static_cast<const T*>(b.data());
  auto* to = static_cast<T*>(x.data());
  SolveResult result;
  {
    const nb::gil_scoped_release release;
    place_when_ready(from), place_when_ready(to);
    if (staged.diagonal) place_when_ready(staged.diagonal);
    result = staged_solve(**found, method, from, to, staged, o);
  }
  out = as_dict(result);
  return true;
}

nb::dict solve(DistGpu& g, const std::string& method, const AnyVector& b, const AnyResult& x,
               const nb::object& m, const nb::dict& options) {
  nb::dict out;
#define X(T, V) \
  if (try_solve<T, V>(g, method, b, x, m, options, out)) return out;
  PENSTOCK_FOR_EACH_STAGED_SOLVE(X)
#undef X
  throw Error(Errc::not_compiled, method + ": vectors of float32 or float64 that hold the matrix's values");
}

nb::dict gpu_times(const DistGpu& g) {
  const auto& t = visit(g, [](auto& p) -> const DistTimes& { return p.on_device().times(); });
  nb::dict d;
  d["local"] = t.local, d["halo"] = t.halo, d["exchange"] = t.exchange, d["wait"] = t.wait;
  d["seconds"] = t.seconds, d["setup"] = t.setup, d["products"] = t.products;
  d["sent_bytes"] = t.sent_bytes, d["received_bytes"] = t.received_bytes, d["messages"] = t.messages;
  d["pack"] = t.pack, d["copy"] = t.copy;
  return d;
}

}  // namespace

void dist_gpu(nb::module_& m) {
  using nb::arg;
  nb::class_<DistGpu>(m, "DistGpu", "A rank's part of a distributed matrix on its GPU.")
      .def_prop_ro("gpu", [](const DistGpu& g) { return g.where.gpu; })
      .def_prop_ro(
          "halo",
          [](const DistGpu& g) { return visit(g, [](const auto& p) { return p.on_device().halo_name(); }); })
      .def_prop_ro("device_bytes",
                   [](const DistGpu& g) {
                     return visit(g, [](const auto& p) { return p.on_device().device_bytes(); });
                   })
      .def("times", gpu_times)
      .def("clear_times", [](const DistGpu& g) { visit(g, [](auto& p) { p.on_device().clear_times(); }); });
  m.def(
      "dist_on_gpu", on_gpu, arg("a"), arg("gpu"), arg("halo"), arg("streamed"), arg("device_memory"),
      "A distributed matrix's part here copied to a GPU (or, with -1, for the CPU as a device). Collective.");
  m.def("dist_gpu_product", gpu_product, arg("g"), arg("x"), arg("y"), arg("semiring"), arg("alpha").none(),
        arg("beta").none(), arg("times") = 1, arg("columns") = 1, arg("transposed") = false,
        "`times` queues so many in a row, as a solver does: for measurements. `columns`: x and y are "
        "row-major. Collective.");
  m.def("dist_gpu_solve", solve, arg("g"), arg("method"), arg("b"), arg("x"), arg("m").none(), arg("options"),
        "m: None, or a dict of diagonal, degree (0: the diagonal itself) and eigenvalues of a Chebyshev "
        "polynomial, or of op. Collective.");
  m.def("dist_gpu_keep", keep_on_gpu, arg("g"), arg("m"), arg("spare"),
        "Copies a LinearOp's form for devices there, if it and `spare` bytes have room: '', or why not.");
  m.def("dist_gpu_apply", apply_on_gpu, arg("g"), arg("m"), arg("r"), arg("z"), arg("times") = 1,
        "z = M r by the rank's device, for a LinearOp with a form for devices; `times` in a row: for "
        "measurements. Collective.");
  m.def(
      "offer_library", [](const std::string& name, const std::string& path) { offer_library(name, path); },
      arg("name"), arg("path"), "Where \"nccl\" or \"nvshmem\" is; opened when first needed.");
}

}  // namespace penstock::bind
