#pragma once
#include <span>

#include "penstock/core/trace.hpp"
#include "penstock/kernel/spmv/spmv_plan.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock {

/// y = alpha A x + beta y over S, for a matrix anywhere, walked as `schedule` says. x has A.cols entries, y A.rows, both in
/// host memory and not overlapping. Throws Error{invalid_argument} on shapes, Error{not_accessible} where
/// check(schedule, place) refuses. `trace` (may be null) is overwritten.
template <Semiring S, class V>
void multiply(const Csr<V>& a, std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
              const Schedule& schedule = InCore{}, Scale<S> scale = {}, Trace* trace = nullptr);

/// The same product in core on the CPU, by an algorithm that may use the matrix's plans and build them.
template <Semiring S, class V>
void multiply(const Csr<V>& a, std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
              SpmvPlans<V>& plans, SpmvAlgorithm algorithm, Scale<S> scale = {}, Trace* trace = nullptr);

/// The least bytes that one product reads and writes: the matrix and x once, y once (twice where beta is not zero).
template <class V>
std::int64_t least_bytes(const Csr<V>& a, std::int64_t vector_entry_bytes, bool reads_y = false) {
  return a.bytes() + (a.cols + (reads_y ? 2 : 1) * a.rows) * vector_entry_bytes;
}

}  // namespace penstock
