#pragma once
#include "penstock/graph/bfs/bfs_gpu_rule.hpp"
#include "penstock/graph/gpu/lists_gpu.cuh"

// What bottom-up steps of one search or of many read over the link is counted, and ends them (bfs_gpu_rule.hpp). `Counts` are
// those of either: they have spent, claimed, limit, down, open, open_edges and open_far.
namespace penstock::gpu {

__device__ inline bool is_far(const List& list) { return !list.cached; }
__device__ inline bool is_far(const PackedList& list) { return !list.near; }

/// Adds up the lists of `open`, whose number is in the counts, that are not on the GPU. All threads of the grid call it.
template <Access A, class Counts>
__device__ void add_far(const ListView& in, const Index* open_list, Counts* counts) {
  unsigned long long edges = 0;
  Index lists = 0;
  const Index open = counts->open;
  const auto stride = std::int64_t(gridDim.x) * kThreads;
  for (auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < open; i += stride) {
    const auto list = list_of<A>(in, open_list[i]);
    if (is_far(list)) edges += static_cast<unsigned long long>(list.size()), ++lists;
  }
  for (int d = 16; d > 0; d /= 2) {
    edges += __shfl_down_sync(kAll, edges, d);
    lists += __shfl_down_sync(kAll, lists, d);
  }
  if ((threadIdx.x & 31) != 0 || lists == 0) return;
  atomicAdd(&counts->open_edges, edges);
  atomicAdd(&counts->open_far, lists);
}

/// Whether the step is left to the lists of the frontier. Blocks change it while others begin, so one lane reads it for all of its warp.
template <class Counts>
__device__ bool goes_down(const Counts* counts) {
  return __shfl_sync(kAll, __ldcg(&counts->down), 0) != 0;
}

/// Lets the lanes of `group` read over the link what the limit of the step has room for, and gives the step up where it has no more.
template <bool Limit, class Counts>
class Spender {
 public:
  /// `groups` work at once.
  __device__ Spender(Counts* counts, unsigned group, double groups) : counts_(counts), group_(group) {
    if constexpr (Limit) claim_ = unsigned(claim_bytes(counts->limit, groups, 1));
  }

  /// Before so many bytes are read: whether they may be. All lanes of the group call it.
  __device__ bool may(unsigned bytes) {
    if constexpr (!Limit) return true;
    if (bytes > left_ && !claim(max(claim_, bytes - left_))) return false;
    left_ -= bytes, spent_ += bytes;
    return true;
  }
  /// Tells what has been read, when all lists have been answered or the step is given up.
  __device__ void finish() {
    if (Limit && spent_ > 0 && leader()) atomicAdd(&counts_->spent, static_cast<unsigned long long>(spent_));
  }
  __device__ bool stopped() const { return Limit && claim_ == 0; }

 private:
  __device__ bool leader() const { return int(threadIdx.x & 31) == __ffs(int(group_)) - 1; }
  __device__ bool claim(unsigned bytes) {
    bool more = false;
    if (leader()) {
      const auto all = atomicAdd(&counts_->claimed, static_cast<unsigned long long>(bytes)) + bytes;
      more = double(all) <= counts_->limit;
      if (!more) atomicExch(&counts_->down, 1);
    }
    more = __any_sync(group_, more);
    if (more) left_ += bytes;
    else claim_ = 0;
    return more;
  }

  Counts* counts_;
  unsigned group_, claim_ = 1, left_ = 0, spent_ = 0;
};

}  // namespace penstock::gpu
