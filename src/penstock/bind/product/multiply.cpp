// Schedules, plans and the product.
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/product/cusparse.hpp"
#include "penstock/bind/product/product.hpp"
#include "penstock/core/error.hpp"
#include "penstock/schedule/multiply.hpp"
#include "penstock/schedule/price.hpp"

namespace penstock::bind {
namespace {

using AnyVector = nb::ndarray<nb::ro, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::dict as_dict(const Trace& t) {
  nb::dict d;
  d["schedule"] = t.schedule;
  d["kernel"] = t.kernel;
  d["tiles"] = t.tiles;
  d["copied_bytes"] = t.copied_bytes;
  d["link_bytes"] = t.link_bytes;
  d["kernel_bytes"] = t.kernel_bytes;
  d["ring_bytes"] = t.ring_bytes;
  d["seconds"] = t.seconds;
  d["copy_seconds"] = t.copy_seconds;
  d["kept_bytes"] = t.kept_bytes;
  if (t.launches >= 0) d["launches"] = t.launches;
  if (t.waits >= 0) d["waits"] = t.waits;
  if (t.devices.empty()) return d;
  nb::list devices;
  for (const auto& one : t.devices) {
    nb::dict e;
    e["gpu"] = one.gpu, e["tiles"] = one.tiles, e["kept_tiles"] = one.kept_tiles,
    e["copied_bytes"] = one.copied_bytes;
    e["kernel_seconds"] = one.kernel_seconds, e["wait_seconds"] = one.wait_seconds,
    e["seconds"] = one.seconds;
    devices.append(e);
  }
  d["devices"] = devices;
  return d;
}

Workload workload(const Matrix& m, std::int64_t entry_bytes) {
  return std::visit(
      [&](const auto& a) {
        return Workload{a.indices.place, a.bytes(), a.cols * entry_bytes, a.rows * entry_bytes};
      },
      m.unread());
}

}  // namespace

[[noreturn]] void no_kernel(const std::string& semiring) {
  throw Error(Errc::not_compiled, "no kernel for semiring " + semiring +
                                      " with these value types: convert the matrix "
                                      "or the vector with astype");
}

nb::object as_event(const Trace& trace, bool wanted) {
  return wanted ? nb::object(as_dict(trace)) : nb::none();
}

SpmvAlgorithm wished(const std::string& algorithm, const AnySchedule& schedule) {
  const auto wish = spmv_algorithm(algorithm);
  require(runs_on_cpu(schedule.value) || wish == SpmvAlgorithm::automatic || wish == SpmvAlgorithm::balanced,
          "algorithm '" + algorithm + "' needs the matrix in core on the CPU: leave it at auto for " +
              std::string(name(schedule.value)));
  return wish;
}

namespace {

template <class S, class V>
bool try_product(const Matrix& m, const AnyVector& x, const nb::object& y, const AnySchedule& schedule,
                 SpmvAlgorithm algorithm, std::string_view semiring, const nb::object& alpha,
                 const nb::object& beta, Trace& trace) {
  using T = typename S::value_type;
  const auto* a = std::get_if<Csr<V>>(&m.unread());
  if (!a || semiring != semiring_name<S>() || x.dtype() != nb::dtype<T>()) return false;
  m.guard().look();
  auto out = nb::cast<WriteArray<T>>(y);
  const auto scale = scale_of<S>(alpha, beta);
  const std::span xs(static_cast<const T*>(x.data()), x.shape(0));
  const std::span ys(out.data(), out.shape(0));
  const nb::gil_scoped_release release;
  if (runs_on_cpu(schedule.value))
    multiply<S, V>(*a, xs, ys, std::get<SpmvPlans<V>>(*m.plans), algorithm, scale, &trace);
  else multiply<S, V>(*a, xs, ys, schedule.value, scale, &trace);
  return true;
}

nb::object bound_product(const Matrix& a, const AnyVector& x, const nb::object& y,
                         std::optional<AnySchedule> asked, const std::string& algorithm,
                         const std::string& semiring, const nb::object& alpha, const nb::object& beta,
                         bool traced) {
  if (algorithm == "cusparse")
    return product_cusparse(a, nb::cast(x), y, asked, semiring, alpha, beta, traced);
  Trace trace;
  const auto schedule = asked.value_or(AnySchedule{InCore{}});
  const auto wish = wished(algorithm, schedule);
#define X(S, V)                                                                 \
  if (try_product<S, V>(a, x, y, schedule, wish, semiring, alpha, beta, trace)) \
    return as_event(trace, traced);
  PENSTOCK_FOR_EACH_SPMV(X)
#undef X
  no_kernel(semiring);
}

template <class S, class V>
bool try_transposed(const Matrix& m, const AnyVector& x, const nb::object& y, std::string_view semiring,
                    const nb::object& alpha, const nb::object& beta, Trace& trace) {
  using T = typename S::value_type;
  const auto* a = std::get_if<Csr<V>>(&m.unread());
  if (!a || semiring != semiring_name<S>() || x.dtype() != nb::dtype<T>()) return false;
  m.guard().look();
  auto out = nb::cast<WriteArray<T>>(y);
  require(std::int64_t(x.shape(0)) == a->rows && std::int64_t(out.shape(0)) == a->cols,
          "transposed: shapes differ");
  for (const Place place : {a->indptr.place, a->indices.place, a->values.place}) check(InCore{}, place);
  const auto scale = scale_of<S>(alpha, beta);
  const nb::gil_scoped_release release;
  const ScopedTimer timer(&trace.seconds);
  spmv_transposed<S, V>(a->view(), static_cast<const T*>(x.data()), out.data(), scale);
  trace.schedule = "in_core", trace.kernel = "transposed", trace.tiles = 1;
  trace.kernel_bytes = least_bytes(*a, sizeof(T), !(scale.beta == S::zero()));
  return true;
}

nb::object product_transposed(const Matrix& a, const AnyVector& x, const nb::object& y,
                              const std::string& semiring, const nb::object& alpha, const nb::object& beta,
                              bool traced) {
  Trace trace;
#define X(S, V) \
  if (try_transposed<S, V>(a, x, y, semiring, alpha, beta, trace)) return as_event(trace, traced);
  PENSTOCK_FOR_EACH_SPMV(X)
#undef X
  no_kernel(semiring);
}

nb::dict as_dict(const Schedule& schedule, const Price& price) {
  nb::dict d;
  d["schedule"] = std::string(name(schedule));
  d["reason"] = price.reason;
  d["seconds"] = price.seconds();
  d["binding"] = price.uses.at(price.binding).resource;
  nb::list uses;
  for (const auto& u : price.uses) {
    nb::dict e;
    e["resource"] = u.resource, e["bytes"] = u.bytes, e["bandwidth"] = u.bandwidth,
    e["seconds"] = u.seconds();
    uses.append(e);
  }
  d["uses"] = uses;
  return d;
}

}  // namespace

void multiply(nb::module_& m) {
  nb::class_<AnySchedule>(m, "Schedule").def_prop_ro("name", [](const AnySchedule& s) {
    return std::string(name(s.value));
  });
  m.def(
      "in_core", [](int gpu) { return AnySchedule{InCore{Where{gpu}}}; }, nb::arg("gpu") = -1);
  m.def(
      "zero_copy", [](int gpu) { return AnySchedule{ZeroCopy{Where{gpu}}}; }, nb::arg("gpu"));
  m.def(
      "streamed",
      [](const std::vector<int>& devices, std::int64_t block_bytes, int slots, std::int64_t ring_bytes) {
        Streamed s{.devices = {}, .block_bytes = block_bytes, .slots = slots, .ring_bytes = ring_bytes};
        for (const int gpu : devices) s.devices.push_back(Where{gpu});
        return AnySchedule{s};
      },
      nb::arg("devices"), nb::arg("block_bytes") = 0, nb::arg("slots") = 3, nb::arg("ring_bytes") = 0);
  m.def("product", bound_product, nb::arg("a"), nb::arg("x"), nb::arg("y"), nb::arg("schedule") = nb::none(),
        nb::arg("algorithm") = "auto", nb::arg("semiring") = "plus_times", nb::arg("alpha") = nb::none(),
        nb::arg("beta") = nb::none(), nb::arg("traced") = true,
        "y = alpha A x + beta y; in core on the CPU without a schedule. What was done, where traced.");
  m.def("product_transposed", product_transposed, nb::arg("a"), nb::arg("x"), nb::arg("y"),
        nb::arg("semiring") = "plus_times", nb::arg("alpha") = nb::none(), nb::arg("beta") = nb::none(),
        nb::arg("traced") = true);
  m.def(
      "prepare",
      [](Matrix& m, const std::string& algorithm) {
        const auto wish = spmv_algorithm(algorithm);
        const nb::gil_scoped_release release;
        const auto chosen = std::visit(
            [&]<class V>(const Csr<V>& a) {
              check(InCore{}, a.indices.place);
              return std::get<SpmvPlans<V>>(*m.plans).prepare(a.view(), wish);
            },
            m.any(release));
        return std::string(name(chosen));
      },
      nb::arg("a"), nb::arg("algorithm") = "auto");
  m.def("plan_bytes", [](const Matrix& m) {
    // A plan may be under construction, and the thread that builds it polls for Ctrl-C.
    const nb::gil_scoped_release release;
    return std::visit([](const auto& p) { return p.bytes(); }, *m.plans);
  });
  m.def(
      "price",
      [](const Matrix& a, const AnySchedule& schedule, std::int64_t entry_bytes, std::int64_t device_memory) {
        const auto work = workload(a, entry_bytes);
        check(schedule.value, work.place);
        const nb::gil_scoped_release release;
        const auto found = price(schedule.value, work, device_memory, machine());
        const nb::gil_scoped_acquire acquire;
        return as_dict(schedule.value, found);
      },
      nb::arg("a"), nb::arg("schedule"), nb::arg("entry_bytes"), nb::arg("device_memory") = 0);
}

}  // namespace penstock::bind
