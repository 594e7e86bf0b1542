#pragma once
#include <nanobind/stl/complex.h>

#include <string>

#include "penstock/bind/bind.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/kernel/spmm/spmm.hpp"
#include "penstock/schedule/schedule.hpp"

// What the bindings of products share.
namespace penstock::bind {

struct AnySchedule {
  Schedule value;
};

/// A dense factor or result of several columns, and how kernels see it.
using AnyColumns = nb::ndarray<nb::ro, nb::numpy, nb::ndim<2>, nb::device::cpu>;
template <class T, class Array>
DenseView<T> as_view(const Array& a) {
  return {static_cast<T*>(a.data()), static_cast<std::int64_t>(a.shape(0)),
          static_cast<std::int64_t>(a.shape(1)), a.stride(0), a.stride(1)};
}

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
