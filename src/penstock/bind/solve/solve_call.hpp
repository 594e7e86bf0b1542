// What every call of a solver turns from Python's into the core's and back.
#pragma once
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "penstock/bind/solve/linear_op.hpp"
#include "penstock/core/error.hpp"
#include "penstock/solver/complex_op.hpp"
#include "penstock/solver/solve.hpp"

namespace penstock::bind {

inline constexpr const char* stop_name(Stop stop) {
  switch (stop) {
    case Stop::converged: return "converged";
    case Stop::max_iterations: return "maxiter";
    case Stop::stagnated: return "stagnated";
    case Stop::not_positive: return "not_positive";
    case Stop::bad_preconditioner: return "bad_preconditioner";
    case Stop::rho: return "rho";
    case Stop::omega: return "omega";
    case Stop::singular: return "singular";
    case Stop::not_finite: return "not_finite";
  }
  return "";
}

inline nb::dict as_dict(const SolveResult& r) {
  nb::dict d;
  d["stop"] = stop_name(r.stop);
  d["reason"] = r.reason;
  d["iterations"] = r.iterations;
  d["residuals"] = r.residuals;
  d["residual"] = r.residual;
  d["target"] = r.target;
  d["vector_bytes"] = r.vector_bytes;
  d["seconds"] = r.seconds;
  return d;
}

inline SolveOptions options_of(const nb::dict& d) {
  SolveOptions o;
  o.rtol = nb::cast<double>(d["rtol"]);
  o.atol = nb::cast<double>(d["atol"]);
  o.max_iterations = nb::cast<std::int64_t>(d["maxiter"]);
  o.restart = nb::cast<int>(d["restart"]);
  o.starts_at_zero = nb::cast<bool>(d["starts_at_zero"]);
  // The callback lives as long as the call that made it.
  if (const nb::object f = d["callback"]; !f.is_none())
    o.callback = [f](std::int64_t iteration, double residual) {
      const nb::gil_scoped_acquire gil;
      call_back(f, iteration, residual);
    };
  return o;
}

inline SolveOptions flexibly(SolveOptions o, const std::string& method) {
  o.flexible = method == "fgmres";
  return o;
}

template <class T>
SolveResult run_method(const std::string& method, const LinearOp<T>& a, const LinearOp<T>* m,
                       std::span<const T> b, std::span<T> x, const SolveOptions& o, const Space& space = {}) {
  if (method == "cg") return cg<T>(a, m, b, x, o, space);
  if (method == "pipecg") return pipelined_cg<T>(a, m, b, x, o, space);
  if (method == "bicgstab") return bicgstab<T>(a, m, b, x, o, space);
  if (method == "gmres" || method == "fgmres") return gmres<T>(a, m, b, x, flexibly(o, method), space);
  throw Error(Errc::invalid_argument, "method '" + method + "' is unknown");
}

/// The same of complex vectors, all of which are given by their parts.
template <class R>
SolveResult run_complex(const std::string& method, const LinearOp<R>& a, const LinearOp<R>* m,
                        std::span<const R> b, std::span<R> x, const SolveOptions& o) {
  if (method == "cg" || method == "pipecg") return run_method<R>(method, a, m, b, x, o);
  using C = std::complex<R>;
  const auto op = of_complex(a);
  std::optional<LinearOp<C>> preconditioner;
  if (m) preconditioner = of_complex(*m);
  const std::span<const C> from(reinterpret_cast<const C*>(b.data()), b.size() / 2);
  const std::span<C> to(reinterpret_cast<C*>(x.data()), x.size() / 2);
  const auto* with = preconditioner ? &*preconditioner : nullptr;
  if (method == "bicgstab") return bicgstab<C>(op, with, from, to, o);
  if (method == "gmres" || method == "fgmres") return gmres<C>(op, with, from, to, flexibly(o, method));
  throw Error(Errc::invalid_argument, "method '" + method + "' is unknown");
}

template <class T>
const LinearOp<T>* preconditioner_of(const AnyOp* m, bool complex = false) {
  const auto* op = m ? std::get_if<LinearOp<T>>(&m->op) : nullptr;
  require(!m || (op && m->complex == complex), "A and M differ in type");
  return op;
}

}  // namespace penstock::bind
