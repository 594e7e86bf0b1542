#pragma once
#include "penstock/core/device.hpp"
#include "penstock/solver/multigrid/aggregate.hpp"

// Of aggregate.hpp what a set-up in the memory of the stream's device needs: the same graphs and the same aggregates. Graphs and
// strengths are scratch memory of the stream, which outlives them. A matrix that is not in that memory comes in blocks of rows with
// `block_nnz` entries (staged_rows.hpp).
namespace penstock {

template <class T>
Csr<T> condensed_on(const Csr<T>& a, std::int64_t block, Stream stream, Offset block_nnz = 0);

template <class T>
Strength<T> strength_on(const Csr<T>& a, Array<const T> inverse, double strength, Stream stream,
                        Offset block_nnz = 0);

template <class T>
Csr<One> strong_graph_on(const Csr<T>& a, const Strength<T>& strong, Stream stream, Offset block_nnz = 0);

/// One thread of a GPU has a vertex. One that is not beside the centre of an aggregate takes time that grows as its neighbours times
/// the aggregates that these are in: with 100,000 neighbours seconds.
Aggregates aggregate_on(const Csr<One>& graph, std::uint64_t seed, Stream stream);

}  // namespace penstock
