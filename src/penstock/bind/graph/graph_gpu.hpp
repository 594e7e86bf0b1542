#pragma once
#include <memory>
#include <optional>
#include <string>

#include "penstock/bind/graph/graph.hpp"
#include "penstock/graph/bfs/bfs_gpu.hpp"
#include "penstock/graph/cc/cc_gpu.hpp"
#include "penstock/graph/gpu/gpu_graph.hpp"

namespace penstock::bind {

/// A GpuGraph as Python holds it; exists in builds without CUDA, where none can be made.
struct BoundGpuGraph {
  std::shared_ptr<GpuGraph> graph;
};

inline std::optional<EdgePlacement> placement_named(const std::string& text) {
  if (text == "auto") return std::nullopt;
  for (int i = 0; i < int(std::size(kEdgePlacements)); ++i)
    if (text == kEdgePlacements[i].name) return static_cast<EdgePlacement>(i);
  throw Error(Errc::invalid_argument,
              "placement=\"" + text + "\" is unknown: choose one of " + list_names(kEdgePlacements, "auto"));
}

inline std::optional<Access> access_named(const std::string& text) {
  if (text == "auto") return std::nullopt;
  for (int i = 0; i < int(std::size(kAccessPolicies)); ++i)
    if (text == kAccessPolicies[i].name) return static_cast<Access>(i);
  throw Error(Errc::invalid_argument,
              "access=\"" + text + "\" is unknown: choose one of " + list_names(kAccessPolicies, "auto"));
}

/// What kernels have read of the edges: bytes, and requests by their size.
inline nb::dict as_dict(const LinkCounts& counts) {
  nb::dict sizes, d;
  for (int i = 0; i < 4; ++i) sizes[nb::int_(32 * (i + 1))] = counts.requests[i];
  d["bytes"] = counts.bytes(), d["requests"] = sizes;
  return d;
}

// Of graph_sample.cpp.
SampleOf sample_named(const std::string& kind);
/// From None, or (slots a vertex, kind, slots as uint32), which is shared.
NeighbourSample sample_from(const nb::object& given);
/// The same way back, None where there is none.
nb::object as_object(const NeighbourSample& sample);

// Of graph_gpu.cpp, for searches over one GPU or several.
[[noreturn]] void no_gpu_build(const std::string& task);
nb::dict as_dict(const GpuGraphFacts& facts);
BfsGpuOptions bfs_options(const std::string& method, const std::string& access, int sample, bool predecessors,
                          bool count);
/// (levels, predecessors or None, what was done)
nb::tuple as_tuple(const BfsGpuResult& result, const BfsGpuOptions& options);
// Of graph_gpu_components.cpp.
CcGpuOptions cc_options(const std::string& method, const std::string& access, int sample, bool count);
/// (count, labels, what was done)
nb::tuple as_tuple(const CcGpuResult& result, const CcGpuOptions& options);

}  // namespace penstock::bind
