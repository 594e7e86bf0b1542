// Strength of connection and aggregation in a device's memory, by the steps of setup_steps.hpp and aggregate_steps.hpp. A round of the
// independent set is three passes over all vertices; those that are decided end at once.
#include "penstock/solver/multigrid/gpu/aggregate_gpu.hpp"

#include "penstock/core/error.hpp"
#include "penstock/solver/multigrid/gpu/aggregate_steps.hpp"
#include "penstock/solver/multigrid/gpu/made_on.hpp"
#include "penstock/solver/multigrid/gpu/setup_steps.hpp"
#include "penstock/solver/multigrid/gpu/staged_rows.hpp"

namespace penstock {

template <class T>
Csr<T> condensed_on(const Csr<T>& a, std::int64_t block, Stream stream, Offset block_nnz) {
  const auto vertices = a.rows / block;
  auto made = counted_on<T>(vertices, a.cols / block, stream, [&](Offset* out) {
    const auto count_rows = [&](const CsrView<T>& rows, const RowRange& range) {
      const CountBlocks<T> step{rows, block, vertices, out};
      each(range.rows / block, FromRow<CountBlocks<T>>{step, range.first / block}, stream);
    };
    for_rows(a, block_nnz, stream, count_rows, block);
    each(1, FromRow<CountBlocks<T>>{{a.view(), block, vertices, out}, vertices}, stream);
  });
  const auto indices = scratch_on<Index>(made.nnz, stream);
  const auto values = scratch_on<T>(made.nnz, stream);
  const auto fill_rows = [&](const CsrView<T>& rows, const RowRange& range) {
    const FillBlocks<T> step{rows, block, made.matrix.indptr.data, indices.data, values.data};
    each(range.rows / block, FromRow<FillBlocks<T>>{step, range.first / block}, stream);
  };
  for_rows(a, block_nnz, stream, fill_rows, block);
  made.matrix.indices = indices, made.matrix.values = values;
  return made.matrix;
}

template <class T>
Strength<T> strength_on(const Csr<T>& a, Array<const T> inverse, double strength, Stream stream,
                        Offset block_nnz) {
  const auto largest = scratch_on<float>(a.rows, stream);
  Strength<T> strong{strength * strength, std::move(inverse), largest};
  each_row(a, block_nnz, stream, [&](const CsrView<T>& rows) {
    return LargestStrength<T>{rows, strong.view(), largest.data};
  });
  return strong;
}

template <class T>
Csr<One> strong_graph_on(const Csr<T>& a, const Strength<T>& strong, Stream stream, Offset block_nnz) {
  auto made = counted_on<One>(a.rows, a.cols, stream, [&](Offset* out) {
    each_row(
        a, block_nnz, stream,
        [&](const CsrView<T>& rows) {
          return CountStrong<T>{rows, strong.view(), out};
        },
        true);
  });
  const auto indices = scratch_on<Index>(made.nnz, stream);
  each_row(a, block_nnz, stream, [&](const CsrView<T>& rows) {
    return FillStrong<T>{rows, strong.view(), made.matrix.indptr.data, indices.data};
  });
  made.matrix.indices = indices;
  return made.matrix;
}

namespace {

/// kInside for each vertex of distance_2_independent_set(), else kOutside.
Array<const std::uint64_t> independent_set_on(const Csr<One>& graph, std::uint64_t seed, Stream stream) {
  const auto n = graph.rows;
  const auto* ptr = graph.indptr.data;
  const auto* to = graph.indices.data;
  const auto own = scratch_on<std::uint64_t>(n, stream), best = scratch_on<std::uint64_t>(n, stream);
  each(n, OpenVertices{ptr, own.data, best.data}, stream);
  for (std::uint64_t round = 0; find_first(n, IsOpen{own.data}, stream) != kNone; ++round) {
    poll_interrupt();
    each(n, SetPriority{round_key(seed, round), own.data}, stream);
    each(n, BestOfNeighbours{ptr, to, own.data, best.data}, stream);
    each(n, DecideVertex{ptr, to, best.data, own.data}, stream);
  }
  return own;
}

}  // namespace

Aggregates aggregate_on(const Csr<One>& graph, std::uint64_t seed, Stream stream) {
  const auto n = graph.rows;
  const auto* ptr = graph.indptr.data;
  const auto* to = graph.indices.data;
  const auto inside = memory_on<Index>(n, stream), ring = scratch_on<Index>(n, stream);
  std::int64_t count = 0;
  {
    const auto set = independent_set_on(graph, seed, stream);
    const auto numbers = scratch_on<Offset>(n + 1, stream);
    each(n + 1, CountInside{set.data, n, numbers.data}, stream);
    prefix_sums(numbers.data, n + 1, stream);
    each(n, NumberInside{set.data, numbers.data, inside.data}, stream);
    count = fetch(numbers.data + n, stream);
  }
  each(n, FirstRing{ptr, to, inside.data, ring.data}, stream);
  each(n, SecondRing{ptr, to, ring.data, inside.data}, stream);
  synchronize(stream);
  return {count, inside, {0, count}};
}

#define X(T)                                                                               \
  template Csr<T> condensed_on(const Csr<T>&, std::int64_t, Stream, Offset);               \
  template Strength<T> strength_on(const Csr<T>&, Array<const T>, double, Stream, Offset); \
  template Csr<One> strong_graph_on(const Csr<T>&, const Strength<T>&, Stream, Offset);
X(float)
X(double)
#undef X

}  // namespace penstock
