// The smoothers of multigrid and the bound of the spectrum, with the matrix and all vectors on a device. Sums alone reach the host.
#include "penstock/solver/multigrid/gpu/smoothing_gpu.hpp"

#include <cmath>
#include <functional>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/kernel/spmv/spmv_gpu.hpp"
#include "penstock/kernel/structure/entry_steps.hpp"
#include "penstock/kernel/vectors/amg_passes.hpp"
#include "penstock/kernel/vectors/dist_cg_passes.hpp"
#include "penstock/solver/multigrid/gpu/made_on.hpp"
#include "penstock/solver/multigrid/gpu/setup_steps.hpp"
#include "penstock/solver/multigrid/gpu/staged_rows.hpp"
#include "penstock/solver/multigrid/hierarchy.hpp"
#include "penstock/solver/multigrid/level_checks.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kChunks = 1 << 16;  // of a search for the largest number: threads of a large GPU

double largest_of(const Array<double>& of, Stream stream) {
  const auto chunks = std::min(kChunks, of.size);
  const auto found = scratch_on<double>(chunks, stream);
  each(chunks, LargestOfChunk{of.data, of.size, chunks, found.data}, stream);
  std::vector<double> here(at(chunks));
  copy_async(here.data(), found.data, found.bytes(), stream);
  synchronize(stream);
  return here.empty() ? 0 : *std::max_element(here.begin(), here.end());
}

/// f(x, y) queues y = A x: by `there` where that is given.
template <class T>
std::function<void(const T* x, T* y)> product_on(const Csr<T>& a, const DeviceOp<T>* there, Stream stream) {
  if (there) return [there, stream](const T* x, T* y) { there->apply(x, y, stream); };
  return [&a, plan = plan_spmv(a.view(), sizeof(T), stream), stream](const T* x, T* y) {
    spmv<PlusTimes<T>, T>(a.view(), x, y, {}, stream, plan);
  };
}

template <class T>
double largest_row_sum_on(const Csr<T>& a, const Array<const T>& inverse, Offset block, Stream stream) {
  const auto ratios = scratch_on<double>(a.rows, stream);
  each_row(a, block, stream, [&](const CsrView<T>& rows) {
    return SumRow<T, double>{rows, inverse.data, ratios.data};
  });
  require_finite_rows(find_first(a.rows, NotFinite{ratios.data}, stream));
  return largest_of(ratios, stream);
}

}  // namespace

template <class T>
Array<const T> inverse_diagonal_on(const Csr<T>& a, Stream stream, Offset block) {
  const auto out = memory_on<T>(a.rows, stream);
  each_row(a, block, stream, [&](const CsrView<T>& rows) { return InvertDiagonal<T>{rows, out.data}; });
  return out;
}

template <class T>
Array<const T> inverse_row_sums_on(const Csr<T>& a, Stream stream, Offset block) {
  const auto out = memory_on<T>(a.rows, stream);
  each_row(a, block, stream, [&](const CsrView<T>& rows) { return SumRow<T, T>{rows, nullptr, out.data}; });
  return out;
}

Csr<float> narrowed_on(const Csr<double>& a, double& scale, Stream stream) {
  const auto diagonal = scratch_on<double>(a.rows, stream);
  each(a.rows, TakeDiagonal<double>{a.indptr.data, a.indices.data, a.values.data, 0, 0, diagonal.data},
       stream);
  scale = narrowing_scale(largest_of(diagonal, stream));
  const auto values = memory_on<float>(a.nnz(), stream);
  each(a.nnz(), NarrowValues{a.values.data, scale, values.data}, stream);
  synchronize(stream);
  return {a.rows, a.cols, a.indptr, a.indices, values};
}

template <class T>
void require_positive_diagonal_on(const Array<const T>& inverse, Stream stream) {
  const auto row = find_first(inverse.size, NotPositive<T>{inverse.data}, stream);
  if (row != kNone) throw_not_positive(row);
}

template <class T>
void require_symmetric_on(const Csr<T>& a, Stream stream, const DeviceOp<T>* there) {
  const auto n = a.rows;
  const ScratchVectors<T> work(n, 4, stream);
  const HostSums found(stream);
  const SumParts parts(stream);
  each(n, StartVectors<T>{nullptr, work[0], work[1]}, stream);
  const auto product = product_on(a, there, stream);
  for (int i = 0; i < 2; ++i) product(work[i], work[i + 2]);
  sweep(n, SymmetrySums<T>{.in = {work[0], work[1], work[2], work[3]}, .out = {}, .sums_out = found.out()},
        parts, stream);
  require_symmetric_sums<T>(found.get(), n, false);
}

template <class T>
double largest_eigenvalue_on(const Csr<T>& a, const Array<const T>& inverse, Stream stream,
                             const DeviceOp<T>* there, Offset block) {
  const auto n = a.rows;
  const double bound = largest_row_sum_on(a, inverse, block, stream);
  const ScratchVectors<T> work(n, 4, stream);
  T *v = work[0], *before = work[1], *const scaled = work[2], *const q = work[3];
  const HostSums found(stream);
  const SumParts parts(stream);
  each(n, StartVectors<T>{inverse.data, v, before}, stream);
  sweep(n, DistDot<T>{.in = {v, v}, .out = {}, .sums_out = found.out()}, parts, stream);
  double beta = std::sqrt(*found.get());
  if (!(beta > 0)) return bound;
  const auto product = product_on(a, there, stream);
  auto scale = static_cast<T>(1 / beta);
  beta = 0;
  std::vector<double> main, off;
  for (int step = 0; step < kLanczosSteps && step < n; ++step) {
    sweep(n, LanczosScale<T>{.in = {v, inverse.data}, .out = {v, scaled}, .scale = scale}, parts, stream);
    product(scaled, q);
    sweep(n,
          LanczosTurn<T>{.in = {q, inverse.data, before, v},
                         .out = {q},
                         .beta = static_cast<T>(beta),
                         .sums_out = found.out()},
          parts, stream);
    const double alpha = *found.get();
    sweep(n,
          LanczosNext<T>{
              .in = {q, v}, .out = {before}, .alpha = static_cast<T>(alpha), .sums_out = found.out()},
          parts, stream);
    main.push_back(alpha);
    beta = std::sqrt(*found.get());
    if (!(beta > kLanczosEnd * std::abs(main.front()))) break;
    off.push_back(beta);
    std::swap(v, before);
    scale = static_cast<T>(1 / beta);
  }
  off.resize(main.size() - 1);
  const double above = kLanczosMargin * largest_of_tridiagonal(main, off);
  return above > 0 ? std::min(bound, above) : bound;
}

#define X(T)                                                                                              \
  template Array<const T> inverse_diagonal_on(const Csr<T>&, Stream, Offset);                             \
  template Array<const T> inverse_row_sums_on(const Csr<T>&, Stream, Offset);                             \
  template void require_positive_diagonal_on(const Array<const T>&, Stream);                              \
  template void require_symmetric_on(const Csr<T>&, Stream, const DeviceOp<T>*);                          \
  template double largest_eigenvalue_on(const Csr<T>&, const Array<const T>&, Stream, const DeviceOp<T>*, \
                                        Offset);
X(float)
X(double)
#undef X

}  // namespace penstock
