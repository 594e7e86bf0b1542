// The set-up of smoothed aggregation in a device's memory, level by level, as hierarchy.cpp has it for the CPU.
#include "penstock/solver/multigrid/gpu/hierarchy_gpu.hpp"

#include <string>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu.hpp"
#include "penstock/kernel/structure/transpose_gpu.hpp"
#include "penstock/solver/multigrid/gpu/aggregate_gpu.hpp"
#include "penstock/solver/multigrid/gpu/finest_blocks_gpu.hpp"
#include "penstock/solver/multigrid/gpu/made_on.hpp"
#include "penstock/solver/multigrid/gpu/prolongate_gpu.hpp"
#include "penstock/solver/multigrid/gpu/prolongate_steps.hpp"
#include "penstock/solver/multigrid/gpu/smoothing_gpu.hpp"

namespace penstock {
namespace {

template <class T>
Array<T> uploaded(const std::vector<T>& from, Stream stream) {
  const auto to = memory_on<T>(std::ssize(from), stream);
  copy_async(to.data, from.data(), to.bytes(), stream);
  synchronize(stream);
  return to;
}

/// The same, from an array in any memory.
template <class E>
Array<const E> copied(const Array<const E>& from, Place place, Stream stream) {
  const auto to = allocate<E>(std::max<std::int64_t>(from.size, 1), place).slice(0, from.size);
  copy_async(to.data, from.data, from.bytes(), stream);
  synchronize(stream);
  return to;
}
template <class T>
Csr<T> copied(const Csr<T>& a, Place place, Stream stream) {
  return {a.rows, a.cols, copied(a.indptr, place, stream), copied(a.indices, place, stream),
          copied(a.values, place, stream)};
}

/// The CPU's levels of a copy of A, moved to the device; the aggregates stay in host memory.
template <class T>
std::shared_ptr<const Hierarchy<T>> moved_from_host(const Csr<T>& a, std::vector<double> vectors_given,
                                                    std::int64_t vectors, const AmgOptions& o,
                                                    const Hierarchy<T>* before, Stream stream) {
  if (vectors_given.empty()) {
    vectors_given.resize(at(a.rows * o.block));
    for (std::int64_t row = 0; row < a.rows; ++row) OnesOfBlock{o.block, vectors_given.data()}(row);
  }
  const auto host =
      build_hierarchy<T>(copied(a, Place{}, stream), std::move(vectors_given), vectors, o, before);
  const auto there = device_place(stream.where);
  auto h = std::make_shared<Hierarchy<T>>();
  h->cycle = host->cycle, h->device = stream.where;
  for (const auto& level : host->levels) {
    auto& l = h->levels.emplace_back(level);
    l.plans = nullptr;
    l.a = h->levels.size() == 1 ? a : copied(level.a, there, stream);
    if (level.p.indptr.data) l.p = copied(level.p, there, stream), l.r = copied(level.r, there, stream);
    l.smoothing.weights = copied(level.smoothing.weights, there, stream);
  }
  if (host->coarsest) h->inverse = uploaded(host->coarsest->template inverse<T>(), stream);
  return h;
}

template <class T>
Smoothing<T> smoothing_of(const AmgLevel<T>& level, const Array<const T>& inverse, bool l1_jacobi, int steps,
                          Stream stream, Offset block_nnz = 0) {
  if (!l1_jacobi) return chebyshev_smoothing(inverse, level.largest, steps);
  return l1_jacobi_smoothing(inverse_row_sums_on(level.a, stream, block_nnz), steps);
}

/// The aggregates of a level whose rows are blocks; `strong` becomes the strength of its vertices.
template <class T>
Aggregates groups_of(const Csr<T>& a, const Array<const T>& inverse, std::int64_t block, const AmgOptions& o,
                     int number, const Hierarchy<T>* before, Strength<T>& strong, Stream stream,
                     Offset block_nnz) {
  const auto vertices = block == 1 ? a : condensed_on(a, block, stream, block_nnz);
  if (block > 1) block_nnz = 0;  // the condensed matrix is in the device's memory
  strong = strength_on(vertices, block == 1 ? inverse : inverse_diagonal_on(vertices, stream), o.strength,
                       stream, block_nnz);
  if (before) return before->levels[at(number)].aggregates;
  return aggregate_on(strong_graph_on(vertices, strong, stream, block_nnz),
                      o.seed + static_cast<std::uint64_t>(number), stream);
}

/// Copies of a matrix that travels may be under way where something throws.
struct DrainAtEnd {
  Stream stream;
  ~DrainAtEnd() { drain(stream); }
};

/// Throws Error{out_of_memory} where `bytes` of levels and vectors exceed what may be taken.
void require_within(std::int64_t bytes, std::int64_t allowed, const std::string& what) {
  if (allowed == 0 || bytes <= allowed) return;
  throw Error(Errc::out_of_memory, "AMG: beside the matrix, which is streamed, " + what + " " +
                                       std::to_string(bytes) + " bytes of the GPU's memory, and " +
                                       std::to_string(allowed) +
                                       " are left by the plan: " + std::string(kRoomRemedy));
}

/// What the set-up of a finest level of n rows takes at least: the smoother's vectors, and row offsets of the strong entries and of P and R.
template <class T>
std::int64_t least_device_bytes(std::int64_t n) {
  return n * static_cast<std::int64_t>((kOwnVectors + 1) * sizeof(T) + 2 * sizeof(Offset));
}

}  // namespace

template <class T>
std::shared_ptr<const Hierarchy<T>> build_hierarchy_on(const Csr<T>& a,
                                                       const std::vector<double>& near_nullspace,
                                                       std::int64_t vectors, const AmgOptions& o, Where where,
                                                       const Hierarchy<T>* before,
                                                       const StreamedFinest<T>* streamed) {
  require_blocks(a.rows, a.cols, o.block);
  const OwnedStream owned(where);
  const Stream stream = owned;
  const DrainAtEnd drained{stream};
  require(
      o.symmetric || !streamed,
      "AMG of a matrix that is streamed is for symmetric matrices: call A.release(), and the CPU makes and "
      "applies the levels");
  if (!o.symmetric) return moved_from_host(a, near_nullspace, vectors, o, before, stream);
  auto h = std::make_shared<Hierarchy<T>>();
  h->cycle = o.cycle, h->device = where;
  if (streamed) {
    require_within(least_device_bytes<T>(a.rows), streamed->memory, "vectors and row offsets take");
    h->finest = streamed->product;
  }
  auto matrix = a;
  auto block = o.block;
  auto basis = near_nullspace.empty() ? ones_on(a.rows, block, stream)
                                      : Array<const double>(uploaded(near_nullspace, stream));
  for (int number = 0;; ++number) {
    poll_interrupt();
    require(!before || at(number) < before->levels.size(), "AMG: the hierarchy is of another matrix");
    auto& level = h->levels.emplace_back();
    level.a = matrix;
    const bool travels = streamed && number == 0;
    const auto block_nnz = travels ? finest_block(streamed->block_nnz, streamed->memory) : 0;
    const auto inverse = inverse_diagonal_on(matrix, stream, block_nnz);
    if (number == 0) require_positive_diagonal_on(inverse, stream);
    const auto* product = travels ? &streamed->product : nullptr;
    level.largest = largest_eigenvalue_on(matrix, inverse, stream, product, block_nnz);
    if (number == 0) require_symmetric_on(matrix, stream, product);
    level.smoothing = smoothing_of(level, inverse, o.l1_jacobi, o.degree, stream, block_nnz);
    synchronize(stream);
    if (matrix.rows <= o.max_coarse || number + 1 >= o.max_levels) break;

    Strength<T> strong;
    level.aggregates = groups_of(matrix, inverse, block, o, number, before, strong, stream, block_nnz);
    if (too_little_coarser(level.aggregates.count * vectors, matrix.rows)) break;
    auto made = tentative_on<T>(level.aggregates, block, basis, vectors, stream);
    const bool scalar = block == 1 && vectors == 1;
    const auto* weighed = scalar ? &strong : nullptr;
    const double omega = kOmega / level.largest;
    if (travels) {
      level.p = smoothed_in_blocks(matrix, made.t, inverse, omega, weighed, block_nnz, stream);
      level.r = transpose_on(level.p, stream);
      matrix = galerkin_in_blocks(matrix, level.p, block_nnz, stream);
    } else {
      level.p = smoothed_on(matrix, made.t, inverse, omega, weighed, stream);
      level.r = transpose_on(level.p, stream);
      const auto ap = spgemm_on<PlusTimes<T>>(matrix.view(), level.p.view(), stream, {.pooled = true});
      matrix = spgemm_on<PlusTimes<T>>(level.r.view(), ap.view(), stream);
    }
    basis = std::move(made.coarse);
    block = vectors;
  }
  auto& last = h->levels.back();
  if (last.a.rows <= std::max(o.max_coarse, kMostDense)) {
    const auto here = copied(last.a, Place{}, stream);
    h->inverse = uploaded(DenseSolve(here, kZeroPivot<T>).template inverse<T>(), stream);
  } else {
    const bool travels = streamed && h->levels.size() == 1;
    const auto block_nnz = travels ? finest_block(streamed->block_nnz, streamed->memory) : 0;
    last.smoothing = smoothing_of(last, last.smoothing.weights, o.l1_jacobi, kLastSteps, stream, block_nnz);
    synchronize(stream);
  }
  if (streamed) require_within(h->device_bytes(), streamed->memory, "the levels take");
  return h;
}

#define X(T)                                                                             \
  template std::shared_ptr<const Hierarchy<T>> build_hierarchy_on(                       \
      const Csr<T>&, const std::vector<double>&, std::int64_t, const AmgOptions&, Where, \
      const Hierarchy<T>*, const StreamedFinest<T>*);
X(float)
X(double)
#undef X

}  // namespace penstock
