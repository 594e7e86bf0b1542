#pragma once
#include <memory>
#include <optional>
#include <string>

#include "penstock/bind/graph.hpp"
#include "penstock/graph/gpu_graph.hpp"

namespace penstock::bind {

/// A GpuGraph as Python holds it; exists in builds without CUDA, where none can be made.
struct BoundGpuGraph {
  std::shared_ptr<GpuGraph> graph;
};

inline std::optional<EdgePlacement> placement_named(const std::string& text) {
  if (text == "auto") return std::nullopt;
  for (int i = 0; i < int(std::size(kEdgePlacements)); ++i)
    if (text == kEdgePlacements[i]) return static_cast<EdgePlacement>(i);
  throw Error(Errc::invalid_argument, "placement=\"" + text + "\" is unknown: choose auto, pinned, host_alloc, "
                                      "managed_read_mostly, managed_accessed_by or device");
}

inline std::optional<Access> access_named(const std::string& text) {
  if (text == "auto") return std::nullopt;
  constexpr std::string_view names[] = {"strided", "merged", "aligned", "direct"};
  for (int i = 0; i < 4; ++i)
    if (text == names[i]) return static_cast<Access>(i);
  throw Error(Errc::invalid_argument, "access=\"" + text + "\" is unknown: choose auto, strided, merged, aligned or direct");
}

/// What kernels asked of the edges' memory: bytes, and requests by their size.
inline nb::dict as_dict(const LinkCounts& counts) {
  nb::dict sizes, d;
  for (int i = 0; i < 4; ++i) sizes[nb::int_(32 * (i + 1))] = counts.requests[i];
  d["bytes"] = counts.bytes(), d["requests"] = sizes;
  return d;
}

}  // namespace penstock::bind
