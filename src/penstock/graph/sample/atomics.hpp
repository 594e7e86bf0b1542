#pragma once
#include <atomic>
#include <cstdint>

#include "penstock/core/config.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/structure/steps.hpp"

// Steps (kernel/structure/steps.hpp) that write what other calls write, too: templates over the atomic operations of whoever
// runs them.
namespace penstock::graph {

struct HostAtomics {
  static std::int64_t load(std::int64_t& x) { return std::atomic_ref(x).load(std::memory_order_relaxed); }
  /// Stores `wanted` where it finds `expected`. Returns what it found.
  static std::int64_t exchange(std::int64_t& x, std::int64_t expected, std::int64_t wanted) {
    std::atomic_ref(x).compare_exchange_strong(expected, wanted, std::memory_order_relaxed);
    return expected;
  }
  static void least(std::int64_t& x, std::int64_t value) {
    auto known = load(x);
    while (value < known &&
           !std::atomic_ref(x).compare_exchange_weak(known, value, std::memory_order_relaxed))
      continue;
  }
  static void add(std::int64_t& x, std::int64_t value) {
    std::atomic_ref(x).fetch_add(value, std::memory_order_relaxed);
  }
  static void set_bits(std::uint32_t& x, std::uint32_t bits) {
    std::atomic_ref(x).fetch_or(bits, std::memory_order_relaxed);
  }
};
struct DeviceAtomics;  // of a GPU: atomics_gpu.cuh

/// Calls Step<Atomics>{args...}(i) for each i in [0, n).
template <template <class> class Step, class... Args>
void each_atomic(std::int64_t n, Stream stream, const Args&... args) {
  if (n == 0) return;
  if (!stream.where.is_gpu()) {
    const Step<HostAtomics> step{args...};
    parallel_ranges(n, kStepsAtOnce, [&](std::int64_t i, std::int64_t last) {
      for (; i < last; ++i) step(i);
    });
  } else if constexpr (have_cuda) {
    gpu::each(n, Step<DeviceAtomics>{args...}, stream);
  }
}

}  // namespace penstock::graph
