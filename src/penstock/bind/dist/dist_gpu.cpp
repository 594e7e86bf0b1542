// Distributed matrices on GPUs: products and solvers with vectors there.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "penstock/bind/dist/dist.hpp"
#include "penstock/bind/product/product.hpp"
#include "penstock/bind/solve/checkpoints.hpp"
#include "penstock/bind/solve/linear_op.hpp"
#include "penstock/bind/solve/solve_call.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/link/library.hpp"
#include "penstock/dist/product/dist_product_gpu.hpp"
#include "penstock/kernel/vectors/sweep.hpp"
#include "penstock/solver/krylov/dist_solve_gpu.hpp"
#include "penstock/solver/precondition/device_preconditioners.hpp"

namespace penstock::bind {
namespace {

using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig>;
using AnyResult = nb::ndarray<nb::ndim<1>, nb::c_contig>;

/// Vectors that are elsewhere are staged in memory that is taken once.
struct DistGpu {
  std::variant<std::shared_ptr<DistProductGpu<One>>, std::shared_ptr<DistProductGpu<float>>,
               std::shared_ptr<DistProductGpu<double>>>
      any;
  Where where;
  std::shared_ptr<OwnedStream> stream;
  std::shared_ptr<OwnedEvent> done;
  Array<std::byte> x, y;
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
  DistGpu g{.any = {},
            .where = Where{gpu},
            .stream = std::make_shared<OwnedStream>(Where{gpu}),
            .done = std::make_shared<OwnedEvent>(Where{gpu}),
            .x = {},
            .y = {},
            .guard = a.guard};
  std::visit(
      [&]<class V>(const std::shared_ptr<DistProduct<V>>& p) {
        g.any = std::make_shared<DistProductGpu<V>>(
            p->matrix(),
            DistGpuOptions{
                .where = g.where, .halo = halo, .streamed = streamed, .device_memory = device_memory});
      },
      a.any);
  return g;
}

/// Whether an array is where this rank computes. What its library has queued on the default stream is waited for.
bool is_here(const DistGpu& g, const void* data) {
  const auto place = place_of(data);
  if (place.memory == Memory::device || place.memory == Memory::managed) {
    const Where gpu{place.ordinal};
    const UseDevice use(gpu);
    synchronize(Stream{nullptr, gpu});
  }
  if (!g.where.is_gpu()) return can_read(g.where, place);
  return place == device_place(g.where);
}

std::byte* staged(const DistGpu& g, Array<std::byte>& area, std::int64_t bytes) {
  if (area.size < bytes || !area.data) area = allocate<std::byte>(bytes, device_place(g.where));
  return area.data;
}

template <class S, class V>
bool try_product(DistGpu& g, const AnyVector& x, const AnyResult& y, std::string_view semiring,
                 const nb::object& alpha, const nb::object& beta, int times, std::int64_t columns,
                 bool transposed) {
  using T = typename S::value_type;
  const auto* found = std::get_if<std::shared_ptr<DistProductGpu<V>>>(&g.any);
  if (!found || semiring != semiring_name<S>() || x.dtype() != nb::dtype<T>()) return false;
  require(y.dtype() == nb::dtype<T>(), "distributed product: x and y differ in type");
  const auto scale = scale_of<S>(alpha, beta);
  const void* from = x.data();
  void* to = y.data();
  const nb::gil_scoped_release release;
  auto& product = **found;
  const auto row_bytes = columns * std::int64_t(sizeof(T));
  const auto forward = product.matrix().cols() * row_bytes, back = product.matrix().rows() * row_bytes;
  const auto x_bytes = transposed ? back : forward, y_bytes = transposed ? forward : back;
  const Stream stream = *g.stream;
  const bool x_here = is_here(g, from), y_here = is_here(g, to);
  auto* xs = x_here ? const_cast<std::byte*>(static_cast<const std::byte*>(from)) : staged(g, g.x, x_bytes);
  auto* ys = y_here ? static_cast<std::byte*>(to) : staged(g, g.y, y_bytes);
  try {
    if (!x_here) copy_async(xs, from, x_bytes, stream);
    if (!y_here && !(scale.beta == S::zero())) copy_async(ys, to, y_bytes, stream);
    const auto* in = reinterpret_cast<const T*>(xs);
    auto* result = reinterpret_cast<T*>(ys);
    for (int i = 0; i < times; ++i)
      if (transposed) product.template multiply_columns_transposed<S>(in, result, columns, scale, stream);
      else product.template multiply_columns<S>(in, result, columns, scale, stream);
    record(*g.done, stream);
    synchronize_with(*product.matrix().comm, *g.done,
                     "a distributed product");  // other ranks may have failed
    if (!y_here) copy_async(to, ys, y_bytes, stream);
    synchronize(stream);
  } catch (...) {
    product.abandon();
    drain(stream);  // the caller's arrays may go
    throw;
  }
  return true;
}

void product(DistGpu& g, const AnyVector& x, const AnyResult& y, const std::string& semiring,
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
  if (try_product<S, V>(g, x, y, semiring, alpha, beta, times, columns, transposed)) return;
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

template <class T, class V>
DeviceGhosts<T> ghosts_of(DistProductGpu<V>& product) {
  return {
      .bring = [&product](const T* owned,
                          Stream s) { return static_cast<const T*>(product.exchange(owned, sizeof(T), s)); },
      .add = [&product](const T* ghosts, T* owned, Stream s) { product.add_ghosts(ghosts, owned, s); }};
}

/// Copies what M consists of to this rank's device, where it has room for it and `spare` bytes: "", or why not.
std::string keep_on_gpu(DistGpu& g, const AnyOp& m, std::int64_t spare) {
  const nb::gil_scoped_release release;
  const auto rows = visit(g, [](const auto& p) { return p.matrix().rows(); });
  try {
    std::visit([&]<class T>(const LinearOp<T>&) { form_of<T>(m, rows).make(*g.stream, spare, {}); }, m.op);
  } catch (const Error& e) {
    if (e.code() != Errc::out_of_memory) throw;
    return e.what();
  }
  return "";
}

/// z = M r, by this rank's device, `times` times.
void apply_on_gpu(DistGpu& g, const AnyOp& m, const AnyVector& r, const AnyResult& z, int times) {
  std::visit(
      [&]<class T, class P>(const LinearOp<T>& op, const std::shared_ptr<P>& product) {
        const auto n = op.rows;
        require(std::int64_t(r.shape(0)) == n && std::int64_t(z.shape(0)) == n &&
                    r.dtype() == nb::dtype<T>() && z.dtype() == nb::dtype<T>(),
                "M: r and z need its " + std::to_string(n) + " rows and its type");
        const void* from = r.data();
        void* to = z.data();
        const nb::gil_scoped_release release;
        const Stream stream = *g.stream;
        const auto bytes = n * std::int64_t(sizeof(T));
        const DeviceVectors<T> here(n, 2, g.where);
        is_here(g, from), is_here(g, to);
        const auto apply = form_of<T>(m, n).make(stream, 0, ghosts_of<T>(*product));
        try {
          copy_async(here[0], from, bytes, stream);
          for (int i = 0; i < times; ++i) apply(here[0], here[1], stream);
          record(*g.done, stream);
          synchronize_with(*product->matrix().comm, *g.done, "a preconditioner");
          copy_async(to, here[1], bytes, stream);
          synchronize(stream);
        } catch (...) {
          product->abandon();
          drain(stream);
          throw;
        }
      },
      m.op, g.any);
}

template <class T, class V>
bool try_solve(DistGpu& g, const std::string& method, const AnyVector& b, const AnyResult& x,
               const nb::object& m, const nb::dict& options, nb::dict& out) {
  const auto* found = std::get_if<std::shared_ptr<DistProductGpu<V>>>(&g.any);
  if (!found || b.dtype() != nb::dtype<T>()) return false;
  auto& product = **found;
  const auto n = product.matrix().rows();
  require(std::int64_t(b.shape(0)) == n && std::int64_t(x.shape(0)) == n && x.dtype() == b.dtype(),
          method + ": b and x need this rank's " + std::to_string(n) + " rows, and one type");
  auto o = options_of(options);
  o.checkpoints = checkpoints_of<T>(options);
  const auto given = given_m(m);
  require(!given.diagonal ||
              (std::int64_t(given.diagonal->shape(0)) == n && given.diagonal->dtype() == b.dtype()),
          method + ": M's diagonal needs this rank's rows, and b's type");
  const auto* form = given.op ? &form_of<T>(*given.op, n) : nullptr;
  const bool scaled = given.diagonal.has_value();
  const void *from = b.data(), *scales = scaled ? given.diagonal->data() : nullptr;
  void* to = x.data();
  SolveResult result;
  {
    const nb::gil_scoped_release release;
    const Stream stream = *g.stream;
    const auto bytes = n * std::int64_t(sizeof(T));
    const DeviceVectors<T> here(n, scaled ? 3 : 2, g.where);
    is_here(g, from), is_here(g, to);
    if (scaled) is_here(g, scales);
    copy_async(here[0], from, bytes, stream);
    if (!o.starts_at_zero) copy_async(here[1], to, bytes, stream);
    if (scaled) copy_async(here[2], scales, bytes, stream);
    DeviceOp<T> a{.rows = n, .cols = product.matrix().cols(), .where = g.where};
    a.apply = [&](const T* p, T* q, Stream s) { product.template multiply<PlusTimes<T>>(p, q, {}, s); };
    if (o.callback)  // which sees the caller's x
      o.callback = [&, call = o.callback](std::int64_t iteration, double residual) {
        copy_async(to, here[1], bytes, stream);
        synchronize(stream);
        call(iteration, residual);
      };
    DeviceM<T> pre;
    try {
      if (form) pre.apply = form->make(stream, 0, ghosts_of<T>(product));
      else if (given.polynomial.degree > 0) pre = device_chebyshev<T>(a, here[2], given.polynomial, stream);
      else if (scaled) pre.diagonal = here[2];
      result = dist_solve_gpu<T>(method, {a, *product.matrix().comm, pre, stream, [&] { product.abandon(); }},
                                 here[0], here[1], o);
      copy_async(to, here[1], bytes, stream);
      synchronize(stream);
    } catch (...) {
      drain(stream);
      throw;
    }
  }
  out = as_dict(result);
  return true;
}

nb::dict solve(DistGpu& g, const std::string& method, const AnyVector& b, const AnyResult& x,
               const nb::object& m, const nb::dict& options) {
  nb::dict out;
#define X(T, V) \
  if (try_solve<T, V>(g, method, b, x, m, options, out)) return out;
  X(float, One)
  X(double, One)
  X(float, float)
  X(double, float)
  X(double, double)
#undef X
  throw Error(Errc::not_compiled, method + ": vectors of float32 or float64 that hold the matrix's values");
}

nb::dict times(const DistGpu& g) {
  const auto& t = visit(g, [](auto& p) -> const DistTimes& { return p.times(); });
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
      .def_prop_ro("halo",
                   [](const DistGpu& g) { return visit(g, [](const auto& p) { return p.halo_name(); }); })
      .def_prop_ro("device_bytes",
                   [](const DistGpu& g) { return visit(g, [](const auto& p) { return p.device_bytes(); }); })
      .def("times", times)
      .def("clear_times", [](const DistGpu& g) { visit(g, [](auto& p) { p.clear_times(); }); });
  m.def(
      "dist_on_gpu", on_gpu, arg("a"), arg("gpu"), arg("halo"), arg("streamed"), arg("device_memory"),
      "A distributed matrix's part here copied to a GPU (or, with -1, for the CPU as a device). Collective.");
  m.def("dist_gpu_product", product, arg("g"), arg("x"), arg("y"), arg("semiring"), arg("alpha").none(),
        arg("beta").none(), arg("times") = 1, arg("columns") = 1, arg("transposed") = false,
        "`times` queues so many in a row, as a solver does: for measurements. `columns`: x and y are "
        "row-major. Collective.");
  m.def("dist_gpu_solve", solve, arg("g"), arg("method"), arg("b"), arg("x"), arg("m").none(), arg("options"),
        "m: None, or a dict of diagonal, degree (0: the diagonal itself) and eigenvalues of a Chebyshev "
        "polynomial, or of op. "
        "Collective.");
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
