#pragma once
#include "penstock/graph/community/community.hpp"
#include "penstock/graph/gpu/gpu_graph.hpp"

// Communities on a device. A GPU reads the lists wherever a GpuGraph has them; coarser graphs are in its memory, or in pinned
// memory where that has no room. All numbers are whole ones, so results depend on the graph, the options and the seed alone; they
// are not those of the functions for CPUs, which look at vertices in another order.
namespace penstock {

/// Weights beside the lists; none: each edge weighs 1.
struct EdgeWeights {
  Array<const std::byte> bytes;
  int entry_bytes = 0;  // 4: float, 8: double; 0: none
  double factor = 1;    // community::units_of_weights()
};

/// Throws Error{out_of_memory} where what a vertex takes exceeds the budget, and Error{invalid_argument} for packed lists with weights.
Communities louvain_gpu(GpuGraph& g, const EdgeWeights& weights, const CommunityOptions& options,
                        bool by_level);
Communities leiden_gpu(GpuGraph& g, const EdgeWeights& weights, const CommunityOptions& options);
Array<Index> label_propagation_gpu(GpuGraph& g, const EdgeWeights& weights, int passes, std::uint64_t seed);

/// What a vertex takes on a GPU, beside its list, at most; and what so many take, with what there is at least. `refined`: by leiden.
std::int64_t community_vertex_bytes(bool refined);
std::int64_t community_bytes(std::int64_t vertices, bool refined);

/// The same as kernels find, found by the CPU as the device.
template <class V>
Communities louvain_twin(const Csr<V>& a, const CommunityOptions& options, bool by_level, std::int64_t room);
template <class V>
Communities leiden_twin(const Csr<V>& a, const CommunityOptions& options, std::int64_t room);
template <class V>
Array<Index> label_propagation_twin(const Csr<V>& a, int passes, std::uint64_t seed, std::int64_t room);

}  // namespace penstock
