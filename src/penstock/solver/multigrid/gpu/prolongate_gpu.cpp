// The prolongators of smoothed aggregation in a device's memory: vertices are sorted by aggregate, each aggregate is one thread's QR
// factorisation, and the smoother S = 1 - omega D^-1 A is a matrix, so that P = S T is a product of the library.
#include "penstock/solver/multigrid/gpu/prolongate_gpu.hpp"

#include "penstock/kernel/spgemm/spgemm_gpu.hpp"
#include "penstock/kernel/structure/entry_steps.hpp"
#include "penstock/solver/multigrid/gpu/made_on.hpp"
#include "penstock/solver/multigrid/gpu/prolongate_steps.hpp"

namespace penstock {
namespace {

template <class T>
Buffers<T> buffers_on(std::int64_t n, Stream stream) {
  Buffers<T> both(0, stream);
  both.first = scratch_on<T>(n, stream), both.second = scratch_on<T>(n, stream);
  return both;
}

}  // namespace

template <class T>
TentativeOn<T> tentative_on(const Aggregates& aggregates, std::int64_t block, const Array<const double>& b,
                            std::int64_t vectors, Stream stream) {
  const auto vertices = aggregates.of.size, rows = vertices * block, k = vectors, count = aggregates.count;
  const auto* of = aggregates.of.data;
  auto made = counted_on<T>(rows, count * k, stream, [&](Offset* out) {
    each(rows + 1, CountTentative{of, block, k, rows, out}, stream);
  });
  const auto indices = scratch_on<Index>(made.nnz, stream);
  const auto values = scratch_on<T>(made.nnz, stream);
  const auto coarse = scratch_on<double>(count * k * k, stream);
  const auto sorted = made.nnz / k;  // rows in aggregates
  {
    auto keys = buffers_on<std::uint32_t>(vertices, stream);
    auto members = buffers_on<Index>(vertices, stream);
    const auto begin = scratch_on<Offset>(count + 1, stream);
    const auto q = scratch_on<double>(sorted * k, stream);
    each(vertices, AggregateKeys{of, count, keys.first.data, members.first.data}, stream);
    sort_pairs(keys, members, bits_below(count + 1), stream);
    each(count + 1, FirstAtLeast<std::uint32_t>{keys.first.data, vertices, 0, begin.data}, stream);
    each(sorted, GatherVectors{members.first.data, block, k, b.data, q.data}, stream);
    each(count, Orthonormalise{begin.data, block, k, q.data, coarse.data}, stream);
    each(sorted,
         FillTentative<T>{members.first.data, of, block, k, q.data, made.matrix.indptr.data, indices.data,
                          values.data},
         stream);
  }
  made.matrix.indices = indices, made.matrix.values = values;
  return {made.matrix, coarse};
}

template <class T>
Csr<T> smoothed_on(const Csr<T>& a, const Csr<T>& t, const Array<const T>& inverse, double omega,
                   const Strength<T>* strong, Stream stream) {
  const Smoother<T> smoother{a.view(), inverse.data, strong ? strong->view() : StrengthView<T>{},
                             strong != nullptr, omega};
  auto made = counted_on<T>(a.rows, a.cols, stream, [&](Offset* out) {
    each(a.rows + 1, CountSmoother<T>{smoother, out}, stream);
  });
  const auto indices = scratch_on<Index>(made.nnz, stream);
  const auto values = scratch_on<T>(made.nnz, stream);
  each(a.rows, FillSmoother<T>{smoother, made.matrix.indptr.data, indices.data, values.data}, stream);
  made.matrix.indices = indices, made.matrix.values = values;
  return spgemm_on<PlusTimes<T>>(made.matrix.view(), t.view(), stream);
}

Array<const double> ones_on(std::int64_t rows, std::int64_t block, Stream stream) {
  const auto out = scratch_on<double>(rows * block, stream);
  each(rows, OnesOfBlock{block, out.data}, stream);
  return out;
}

#define X(T)                                                                                           \
  template TentativeOn<T> tentative_on<T>(const Aggregates&, std::int64_t, const Array<const double>&, \
                                          std::int64_t, Stream);                                       \
  template Csr<T> smoothed_on(const Csr<T>&, const Csr<T>&, const Array<const T>&, double,             \
                              const Strength<T>*, Stream);
X(float)
X(double)
#undef X

}  // namespace penstock
