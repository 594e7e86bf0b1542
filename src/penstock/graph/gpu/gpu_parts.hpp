#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "penstock/graph/gpu/gpu_graph.hpp"
#include "penstock/graph/gpu/vertex_parts.hpp"

namespace penstock {

/// One graph over several GPUs of a host: each has the lists of a range of vertices, and reads them over its own link or in
/// its own memory. A GPU may be named several times: then it has several ranges, which share its budget.
class GpuParts {
 public:
  /// Takes the same as GpuGraph, with the budget of `each` for every GPU. With `like` the graph is cut where that one is, on
  /// the same GPUs. Throws Error{not_accessible} for arrays in device memory: a graph that fits one GPU is searched there.
  GpuParts(const Array<const Offset>& offsets, const Array<const Index>& edges, std::span<const int> gpus,
           const GpuGraphOptions& each, const GpuParts* like = nullptr);
  GpuParts(const GpuParts&) = delete;
  GpuParts& operator=(const GpuParts&) = delete;

  int count() const { return static_cast<int>(parts_.size()); }  // at most as many as GPUs were named
  GpuGraph& part(int i) const { return *parts_[static_cast<std::size_t>(i)]; }
  std::int64_t vertices() const { return cuts_.back(); }
  Offset edges() const { return edges_; }
  /// Where the ranges begin, then the number of vertices: multiples of kPartVertices but for the last.
  std::span<const std::int64_t> cuts() const { return cuts_; }
  /// The number of the part that has vertex v.
  int owner(Index v) const;
  /// Whether all parts of the other are on the same GPUs and of the same vertices.
  bool matches(const GpuParts& other) const;
  std::mutex& turn() { return turn_; }

 private:
  std::vector<std::int64_t> cuts_;
  Offset edges_ = 0;
  std::vector<std::unique_ptr<GpuGraph>> parts_;
  std::mutex turn_;
};

}  // namespace penstock
