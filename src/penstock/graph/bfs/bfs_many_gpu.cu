// The kernels of up to 64 searches at once: a list that is read serves all searches whose frontiers its vertex is in. The
// steps are those of a single search, with a word for each vertex instead of a bit.
#include "penstock/graph/bfs/bfs_gpu_rule.hpp"
#include "penstock/graph/bfs/bfs_many_state.hpp"
#include "penstock/graph/bfs/bfs_spend_gpu.cuh"
#include "penstock/graph/bfs/bfs_visit_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr int kWarps = kThreads / 32;
std::int64_t few(std::int64_t blocks, Stream stream) { return std::min(blocks, full_grid(stream)); }

__global__ void __launch_bounds__(kThreads) clear(const Offset* in_offsets, ManyState s) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= s.vertices) return;
  // A vertex that no edge leads to is never looked for.
  s.seen[v] = in_offsets && in_offsets[v] == in_offsets[v + 1] ? s.all : 0;
  s.front[v] = s.next[v] = 0;
}

__global__ void place_sources(ManyState s, const Index* sources, int count) {
  const int i = int(threadIdx.x);
  if (i >= count) return;
  atomicOr(&s.next[sources[i]], Searches(1) << i);
  atomicAnd(&s.seen[sources[i]], ~(Searches(1) << i));
}

/// `far`: whether edges of lists that are not on the GPU are counted.
template <bool far>
__global__ void __launch_bounds__(kThreads) advance(ListView g, ManyState s, Index depth) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const unsigned lane = threadIdx.x & 31;
  Searches fresh = 0, seen = s.all;
  if (v < s.vertices) {
    seen = s.seen[v];
    fresh = s.next[v] & ~seen;
    if (s.next[v]) s.next[v] = 0;
    if (s.front[v] != fresh) s.front[v] = fresh;
    if (fresh) s.seen[v] = seen |= fresh;
  }
  for (Searches left = fresh, any;
       (any = Searches(or_warp(unsigned(left >> 32))) << 32 | or_warp(unsigned(left))) != 0;) {
    // Neighbouring lanes write neighbouring levels.
    const int search = __ffsll(static_cast<long long>(any)) - 1;
    const Searches bit = Searches(1) << search;
    if (left & bit) s.levels[search * s.vertices + v] = depth;
    left &= ~bit;
  }
  const unsigned active = __ballot_sync(kAll, fresh != 0), missing = __ballot_sync(kAll, seen != s.all);
  const Offset degree = fresh ? g.offsets[v + 1] - g.offsets[v] : 0;
  if (degree > kSegment) cut(s.segments, Index(v), degree, &s.counts->segments);
  auto edges = static_cast<unsigned long long>(degree), long_edges = degree > g.sample_size ? edges : 0;
  for (int d = 16; d > 0; d /= 2) {
    edges += __shfl_down_sync(kAll, edges, d);
    long_edges += __shfl_down_sync(kAll, long_edges, d);
  }
  if constexpr (far) {
    const bool reads = degree > g.sample_size && !(g.list_begin && g.list_begin[v] < 0);
    const auto lists = Index(__popc(__ballot_sync(kAll, reads)));
    auto far_edges = reads ? static_cast<unsigned long long>(degree) : 0;
    for (int d = 16; d > 0; d /= 2) far_edges += __shfl_down_sync(kAll, far_edges, d);
    if (lane == 0 && lists)
      atomicAdd(&s.counts->far_edges, far_edges), atomicAdd(&s.counts->far_lists, lists);
  }
  if (lane != 0 || v >= s.vertices) return;
  s.active[v >> 5] = active;
  if (edges) atomicAdd(&s.counts->edges, edges);
  if (long_edges) atomicAdd(&s.counts->long_edges, long_edges);
  if (missing) atomicAdd(&s.counts->unfinished, __popc(missing));
}

__device__ void reach(const ManyState& s, Index u, Searches from) {
  const Searches fresh = from & ~s.seen[u];
  if (fresh & ~s.next[u]) atomicOr(&s.next[u], fresh);  // an old value costs one more atomic operation
}

template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads)
    walk_segments(ListView g, ManyState s, Index segments, bool guarded) {
  if (guarded && !s.counts->down) return;
  const auto warps = Index(gridDim.x * kWarps);
  for (auto i = Index(blockIdx.x * kWarps + threadIdx.x / 32); i < segments; i += warps) {
    const Segment segment = s.segments[i];
    const Searches from = s.front[segment.vertex];
    List list = segment_of<Access::direct>(g, segment);
    if constexpr (A == Access::strided) list = share_of(list);
    walk<A, Count>(list, g.counts, [&](Offset, Index u) { reach(s, u, from); });
  }
}

template <Access A, bool Count>
__global__ void __launch_bounds__(kThreads)
    walk_lists(ListView g, ManyState s, Index frontier, int at_once, bool guarded) {
  if (guarded && !s.counts->down) return;
  const int lane = int(threadIdx.x & 31);
  for (;;) {
    unsigned first = 0;
    if (lane == 0) first = atomicAdd(&s.counts->next, unsigned(at_once));
    first = __shfl_sync(kAll, first, 0);
    if (first >= unsigned(frontier)) return;
    const bool mine = lane < at_once && first + unsigned(lane) < unsigned(frontier);
    const Index v = mine ? s.list[first + unsigned(lane)] : 0;
    const Searches searches = mine ? s.front[v] : 0;
    bool read = mine;
    if (mine && g.sample_size > 0 && is_whole(sample_of(g, v, g.sample_size / 4 - 1).w)) {
      read = false;
      for (int part = 0; part < g.sample_size / 4; ++part) {
        const uint4 four = sample_of(g, v, part);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (const Index u = sampled(slot(four, i)); u >= 0) reach(s, u, searches);
      }
    }
    List list;
    if (read) list = list_of(g, v);
    if (list.size() > kSegment) list.end = list.begin;  // walk_segments walks it
    if constexpr (A == Access::strided) {
      walk<A, Count>(list, g.counts, [&](Offset, Index u) { reach(s, u, searches); });
    } else {
      for (unsigned left = __ballot_sync(kAll, list.size() > 0); left != 0; left &= left - 1) {
        const int owner = __ffs(int(left)) - 1;
        const Searches from = __shfl_sync(kAll, searches, owner);
        walk<A, Count>(from_lane(list, owner), g.counts, [&](Offset, Index u) { reach(s, u, from); });
      }
    }
  }
}

__global__ void __launch_bounds__(kThreads) ask(ListView in, ManyState s) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const Searches missing = v < s.vertices ? s.all & ~s.seen[v] : 0;
  bool open = missing != 0;
  if (open && in.sample_size > 0) {
    Searches found = 0;
    std::uint32_t last = 0;
    for (int part = 0; part < in.sample_size / 4; ++part) {
      const uint4 four = sample_of(in, Index(v), part);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (const Index u = sampled(slot(four, i)); u >= 0) found |= s.front[u];
      last = four.w;
    }
    found &= missing;
    if (found) s.next[v] |= found;
    open = found != missing && !is_whole(last);
  }
  const unsigned word = __ballot_sync(kAll, open);
  if ((threadIdx.x & 31) == 0 && v < s.vertices) s.open[v >> 5] = word;
}

__global__ void decide(ManyCounts* counts, UpChoice c) {
  // A list is read to its end unless it answers for all searches, so mean_degree entries are expected.
  counts->down =
      down_cost(c.frontier, c.long_edges) < c.factor * up_cost(counts->open, 1, c.all_edges, c.mean_degree);
  if (!c.bounds) return;
  const double most = far_bytes(double(counts->open_edges), counts->open_far, c.bytes_of_entry);
  counts->limit = up_limit(c.spare, c.far_bytes, most);
  if (counts->limit == 0 && counts->open_far > 0) counts->down = 1;
}

__global__ void __launch_bounds__(kThreads) add_open(ListView in, ManyState s) {
  add_far<Access::aligned>(in, s.open_list, s.counts);
}

template <bool Count, bool Limit>
__global__ void __launch_bounds__(kThreads) probe_lists(ListView in, ManyState s) {
  if (goes_down(s.counts)) return;
  const Index open = s.counts->open;
  const unsigned group = ((1u << kProbe) - 1) << (threadIdx.x & 31) / kProbe * kProbe;
  const auto groups = std::int64_t(gridDim.x) * (kThreads / kProbe);
  Spender<Limit, ManyCounts> spender(s.counts, group, double(groups));
  for (auto i = std::int64_t(blockIdx.x) * (kThreads / kProbe) + threadIdx.x / kProbe;
       i < open && !spender.stopped(); i += groups) {
    const Index v = s.open_list[i];
    const Searches before = s.next[v], wanted = s.all & ~s.seen[v] & ~before;
    __syncwarp(group);  // all lanes have read the word before one of them writes it
    Searches found = 0;
    const auto gather = [&](Index u) {
      found |= s.front[u];
      return false;
    };
    const auto list = list_of(in, v);
    const bool is_read = Limit && is_far(list);
    const auto may = [&](int sectors) { return !is_read || spender.may(32 * unsigned(sectors)); };
    const auto complete = [&] {
#pragma unroll
      for (int d = kProbe / 2; d > 0; d /= 2) found |= __shfl_xor_sync(group, found, d, kProbe);
      return (wanted & ~found) == 0;
    };
    probe<Count>(list, group, in.counts, gather, may, complete);
    if (threadIdx.x % kProbe == 0 && (found & wanted)) s.next[v] = before | (found & wanted);
  }
  spender.finish();
}

template <Access A, bool Count>
void down(const ListView& g, const ManyState& s, Index frontier, Index segments, bool guarded,
          Stream stream) {
  if (segments > 0)
    launch(walk_segments<A, Count>, few(blocks_for(std::int64_t(segments) * 32), stream), stream, g, s,
           segments, guarded);
  const auto warps = full_grid(stream) * kWarps;
  auto at_once = (frontier + warps - 1) / warps;
  if (at_once > 32 || A == Access::strided) at_once = 32;
  launch(walk_lists<A, Count>, few(blocks_for((frontier + at_once - 1) / at_once * 32), stream), stream, g, s,
         frontier, int(at_once), guarded);
}

template <class... Params, class... Args>
void launch_one(void (*kernel)(Params...), int threads, Stream stream, Args... args) {
  cudaLaunchConfig_t one{};
  one.gridDim = dim3(1);
  one.blockDim = dim3(unsigned(threads));
  one.stream = static_cast<cudaStream_t>(stream.handle);
  cuda::check(cudaLaunchKernelEx(&one, kernel, Params(args)...));
}

}  // namespace

void many_begin(const ListView* in, const ManyState& s, const Index* sources, int count, Stream stream) {
  const UseDevice use(stream.where);
  fill_async(s.levels, 0xff, 4 * s.vertices * count, stream);  // kUnreached
  fill_async(s.counts, 0, 2 * sizeof(ManyCounts), stream);
  launch(clear, blocks_for(s.vertices), stream, in ? in->offsets : nullptr, s);
  launch_one(place_sources, 64, stream, s, sources, count);
}

void many_advance(const ListView& g, const ManyState& s, Index depth, bool far, Stream stream) {
  const UseDevice use(stream.where);
  if (far) copy_async(s.counts + 1, s.counts, sizeof(ManyCounts), stream);
  fill_async(s.counts, 0, sizeof(ManyCounts), stream);
  launch(far ? advance<true> : advance<false>, blocks_for(s.vertices), stream, g, s, depth);
  compact(s.active, s.words, s.list, s.starts, &s.counts->frontier, stream);
}

void many_down(const ListView& g, const ManyState& s, Index frontier, Index segments, bool guarded,
               Access access, bool count, Stream stream) {
  if (frontier == 0) return;
  const UseDevice use(stream.where);
  with_access(access, [&]<Access A>() {
    count ? down<A, true>(g, s, frontier, segments, guarded, stream)
          : down<A, false>(g, s, frontier, segments, guarded, stream);
  });
}

void many_ask(const ListView& in, const ManyState& s, const UpChoice& choice, Stream stream) {
  const UseDevice use(stream.where);
  launch(ask, blocks_for(s.vertices), stream, in, s);
  compact(s.open, s.words, s.open_list, s.starts, &s.counts->open, stream);
  if (choice.bounds) launch(add_open, few(blocks_for(s.vertices), stream), stream, in, s);
  launch_one(decide, 1, stream, s.counts, choice);
}

void many_up(const ListView& in, const ManyState& s, bool limited, bool count, Stream stream) {
  const UseDevice use(stream.where);
  const auto blocks = few(blocks_for(s.vertices * kProbe), stream);
  if (limited) launch(count ? probe_lists<true, true> : probe_lists<false, true>, blocks, stream, in, s);
  else launch(count ? probe_lists<true, false> : probe_lists<false, false>, blocks, stream, in, s);
}

}  // namespace penstock::gpu
