#pragma once
#include "penstock/graph/gpu/lists_gpu.cuh"

// What bottom-up steps of one search or of many read over the link is counted, and ends them (bfs_gpu_rule.hpp). `Counts` are
// those of either: they have spent, limit, down, open, open_edges and open_far.
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

/// Adds up what the lanes of `group` read over the link, and gives the step up where all of them have read too much. An atomic
/// operation for each sector would take longer than the link; so a group tells `often` bytes at once.
template <bool Limit, class Counts>
class Spender {
 public:
  /// `groups` groups work at once: all of them together have read at most a quarter of the limit that they have not told.
  __device__ Spender(Counts* counts, unsigned group, double groups)
      : counts_(counts), limit_(Limit ? counts->limit : 0), group_(group) {
    constexpr double kMost = 16 * 32;
    if constexpr (Limit) often_ = unsigned(fmax(1.0, fmin(kMost, limit_ / (4 * groups))));
  }

  /// All lanes of the group call it. Returns whether the step is given up, as far as the group knows.
  __device__ bool add(unsigned bytes) {
    if constexpr (!Limit) return false;
    mine_ += bytes;
    if (mine_ >= often_) tell();
    return stopped_;
  }
  __device__ void tell() {
    if (!Limit || mine_ == 0) return;
    const int first = __ffs(int(group_)) - 1;
    unsigned long long all = 0;
    if (int(threadIdx.x & 31) == first) {
      all = atomicAdd(&counts_->spent, static_cast<unsigned long long>(mine_)) + mine_;
      if (double(all) > limit_) atomicExch(&counts_->down, 1);
    }
    stopped_ = double(__shfl_sync(group_, all, first)) > limit_;
    mine_ = 0;
  }
  /// What is left to tell, when all lists have been answered.
  __device__ void finish() {
    if (Limit && mine_ > 0 && int(threadIdx.x & 31) == __ffs(int(group_)) - 1)
      atomicAdd(&counts_->spent, static_cast<unsigned long long>(mine_));
  }
  __device__ bool stopped() const { return Limit && stopped_; }

 private:
  Counts* counts_;
  double limit_;
  unsigned group_, often_ = 0, mine_ = 0;
  bool stopped_ = false;
};

}  // namespace penstock::gpu
