#pragma once
#include <nanobind/stl/complex.h>

#include <string>

#include "penstock/bind/bind.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/schedule/schedule.hpp"

// What the bindings of products share.
namespace penstock::bind {

struct AnySchedule {
  Schedule value;
};

template <class S>
Scale<S> scale_of(const nb::object& alpha, const nb::object& beta) {
  using T = typename S::value_type;
  Scale<S> scale;
  if (!alpha.is_none()) scale.alpha = nb::cast<T>(alpha);
  if (!beta.is_none()) scale.beta = nb::cast<T>(beta);
  return scale;
}

inline bool runs_on_cpu(const Schedule& schedule) {
  const auto* s = std::get_if<InCore>(&schedule);
  return s && !s->where.is_gpu();
}

[[noreturn]] void no_kernel(const std::string& semiring);
nb::object as_event(const Trace& trace, bool wanted);
/// The algorithm by name; throws where the schedule has no choice of one.
SpmvAlgorithm wished(const std::string& algorithm, const AnySchedule& schedule);

}  // namespace penstock::bind
