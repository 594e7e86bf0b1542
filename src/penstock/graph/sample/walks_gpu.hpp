#pragma once
#include "penstock/graph/sample/device_graph.hpp"
#include "penstock/graph/sample/walks.hpp"

namespace penstock::graph {

/// random_walks on a device: the same walks, to `out` in its memory. `starts` are there, or in host memory with `on_host`; null: a
/// walk from every vertex. With `weighted` a has the
/// largest weights. It waits for the starts, and queues the walks. Throws
/// Error{invalid_argument} for a start outside.
template <class Id>
void random_walks_on(const DeviceGraph& a, const Id* starts, std::int64_t n, bool on_host,
                     const WalkOptions& options, Index* out, Stream stream);

}  // namespace penstock::graph
