// Communities on a GPU that has its lists as searches see them.
#include <algorithm>
#include <cstring>
#include <optional>

#include "penstock/core/error.hpp"
#include "penstock/graph/community/communities_gpu.hpp"
#include "penstock/graph/community/device_level_run.hpp"
#include "penstock/graph/gpu/taken.hpp"

namespace penstock {
namespace {

using community::WeightKind;

/// The weights where the GPU reads them: beside lists that are in its memory, if these leave room, else in pinned memory.
class WeightsThere {
 public:
  WeightsThere(GpuGraph& g, const EdgeWeights& weights, std::int64_t vertex_bytes) {
    if (weights.entry_bytes == 0) return;
    g.require_lists("communities of a weighted graph");
    const auto& from = weights.bytes;
    if (can_read(g.where(), from.place)) {
      data_ = from.data;
    } else if (g.placement() == EdgePlacement::device && g.left() >= from.size + vertex_bytes) {
      copy_.emplace(g, from.size, "the weights");
      data_ = copy_->data();
      copy_async(copy_->data(), from.data, from.size, g.stream());
    } else if (from.size >= kLeastLocked) {
      held_ = lock_pages(from.data, from.size);
      data_ = from.data;
    } else {
      held_ = allocate_bytes(from.size, {Memory::pinned, 0});
      std::memcpy(held_.get(), from.data, at(from.size));
      data_ = held_.get();
    }
  }
  const void* data() const { return data_; }

 private:
  std::optional<Taken<std::byte>> copy_;
  std::shared_ptr<void> held_;
  const void* data_ = nullptr;
};

/// Calls f(graph, stream) while the memory that it takes is set aside.
template <class F>
auto over_lists(GpuGraph& g, const EdgeWeights& weights, bool refined, F&& f) {
  require(g.vertices() == g.all_vertices(), "communities: a part of a graph has none");
  const GraphTurn turn(g, nullptr);
  g.make_room(g.facts().room());
  const auto vertex_bytes = community_bytes(g.vertices(), refined);
  const WeightsThere weighed(g, weights, vertex_bytes);
  const auto of_vertices = g.set_aside(vertex_bytes, "the vertices' communities");
  const auto left = std::max<std::int64_t>(g.left(), 0);
  const auto of_levels = g.set_aside(left, "graphs of communities");
  community::DeviceCommunities there;
  there.vertices = g.vertices();
  there.entries = g.edges();
  there.room.bytes = left;
  there.lists.view = g.view();
  if (weights.entry_bytes > 0) {
    there.lists.weights = weighed.data();
    there.lists.view.list_begin = nullptr;  // weights are not cached
    there.lists.kind = weights.entry_bytes == sizeof(float) ? WeightKind::real32 : WeightKind::real64;
    there.lists.factor = weights.factor;
  }
  try {
    auto found = f(there, g.stream());
    synchronize(g.stream());
    return found;
  } catch (...) {
    drain(g.stream());
    throw;
  }
}

}  // namespace

Communities louvain_gpu(GpuGraph& g, const EdgeWeights& weights, const CommunityOptions& options,
                        bool by_level) {
  return over_lists(g, weights, false, [&](const auto& there, Stream stream) {
    return community::louvain_on(there, options, by_level, stream);
  });
}
Communities leiden_gpu(GpuGraph& g, const EdgeWeights& weights, const CommunityOptions& options) {
  return over_lists(g, weights, true, [&](const auto& there, Stream stream) {
    return community::leiden_on(there, options, stream);
  });
}
Array<Index> label_propagation_gpu(GpuGraph& g, const EdgeWeights& weights, int passes, std::uint64_t seed) {
  return over_lists(g, weights, false, [&](const auto& there, Stream stream) {
    return community::label_propagation_on(there, passes, seed, stream);
  });
}

}  // namespace penstock
