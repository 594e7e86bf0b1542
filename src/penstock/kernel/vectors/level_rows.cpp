#include "penstock/kernel/vectors/level_rows.hpp"

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

/// Solves level by level, one task after the other.
template <class T>
void solve_here(const LevelRows<T>& rows, const LevelRun& run, const LevelVectors<T>& v) {
  for (auto l = run.first_level; l < run.first_level + run.levels; ++l) {
    if (l % 256 == 0) poll_interrupt();
    for (auto t = rows.levels[l]; t < rows.levels[l + 1]; ++t) {
      const auto& task = rows.tasks[t];
      for (auto p = std::int64_t(task.first); p < std::int64_t(task.first) + task.rows; ++p) {
        T sum = v.in[rows.from[p]];
        if (rows.scale) sum *= rows.scale[p];
        for (auto k = rows.starts[p]; k < rows.starts[p + 1]; ++k)
          sum -= rows.values[k] * v.z[rows.indices[k]];
        v.z[p] = sum;
        if (v.out) v.out[rows.to[p]] = sum;
      }
    }
  }
}

}  // namespace

template <class T>
void solve_levels(const LevelRows<T>& rows, const LevelRun& run, const LevelVectors<T>& v, unsigned* ticket,
                  Stream stream) {
  if (!stream.where.is_gpu()) return solve_here(rows, run, v);
  if constexpr (have_cuda) {
    if (run.wide) gpu::solve_wide_levels(rows, run, v, ticket, stream);
    else gpu::solve_narrow_levels(rows, run, v, stream);
  } else {
    no_cuda("triangular solves on a GPU");
  }
}

template void solve_levels(const LevelRows<float>&, const LevelRun&, const LevelVectors<float>&, unsigned*,
                           Stream);
template void solve_levels(const LevelRows<double>&, const LevelRun&, const LevelVectors<double>&, unsigned*,
                           Stream);

}  // namespace penstock
