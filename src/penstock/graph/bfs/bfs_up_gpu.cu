// A bottom-up step (Beamer, Asanovic, Patterson 2012) that uses the link last. First every unvisited vertex checks whether a
// neighbour of its sample is in the frontier: this reads 16 bytes of device memory and up to four bits of the second-level
// cache. Most vertices find one, or know that there is none because the sample is their whole list. For the other vertices, in
// order, 8 lanes read the list in host memory, 32 bytes at a time, up to the first neighbour in the frontier.
#include "penstock/graph/bfs/bfs_gpu_rule.hpp"
#include "penstock/graph/bfs/bfs_spend_gpu.cuh"
#include "penstock/graph/bfs/bfs_visit_gpu.cuh"
#include "penstock/graph/gpu/compact_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr int kWarps = kThreads / 32;
/// Entries of a packed list on the GPU that are asked where there is no sample.
constexpr int kAskPacked = 16;

/// Asks the beginning of v's packed list for a neighbour in the frontier: its number, or -1. `whole` = whether that was all of it.
__device__ Index ask_packed(const ListView& in, const BfsState& s, Index v, bool& whole) {
  constexpr int kBatch = 4;  // entries that are looked up at once
  const auto list = packed_list(in.packed, v);
  whole = list.near && list.size() <= kAskPacked;
  if (!list.near || list.size() == 0) return -1;
  const auto start = packed_start(in.packed, list.words, piece_place(list, 0), list.vertex);
  const auto here = int(min(Offset(kPackedChunk), list.size())), most = min(here, kAskPacked);
  const auto chunk = packed_chunk(list.words, start.at, here - 1);
  std::uint32_t id = start.first;
  auto at = chunk.at;
  for (int base = 0; base < most; base += kBatch) {
    Index ids[kBatch];
    bool hit[kBatch];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const int i = base + j;
      ids[j] = -1;
      if (i >= most) continue;
      if (i > 0) {
        const unsigned which = (chunk.low >> (i - 1) & 1) | (chunk.high >> (i - 1) & 1) << 1;
        const int width = table_width(start.table, which);
        id += bits_at(list.words, at, width) + in.packed.step;
        at += width;
      }
      ids[j] = Index(id);
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j) hit[j] = ids[j] >= 0 && has(s.front, ids[j]);
    Index found = -1;
#pragma unroll
    for (int j = kBatch - 1; j >= 0; --j)
      if (hit[j]) found = ids[j];
    if (found >= 0) return found;
  }
  return -1;
}

/// Asks the samples. A warp takes 1024 vertices; those that have to be asked are packed first, so that every lane has one.
/// `lists`: there is no sample, and packed lists are asked instead. Vertices without an answer are listed at once, or marked in s.open
/// where their order matters.
template <bool lists>
__global__ void __launch_bounds__(kThreads) ask(ListView in, BfsState s) {
  __shared__ std::uint16_t packed[kWarps][1024];
  __shared__ Bits found_words[kWarps][32], open_words[kWarps][32];
  const int lane = int(threadIdx.x & 31), warp = int(threadIdx.x / 32);
  const auto groups = (s.words + 31) / 32;
  const int parts = in.sample_size / 4;
  for (auto group = std::int64_t(blockIdx.x) * kWarps + warp; group < groups;
       group += std::int64_t(gridDim.x) * kWarps) {
    const auto w = group * 32 + lane;
    const Bits old = w < s.words ? s.visited[w] : ~Bits(0);
    if ((parts == 0 && !lists && !s.near) || !__any_sync(kAll, ~old != 0)) {
      if (w < s.words && !s.near) s.open[w] = ~old;
      continue;
    }
    const Index total = gather_bits(~old, packed[warp]);
    found_words[warp][lane] = open_words[warp][lane] = 0;
    __syncwarp();
    for (int t = lane; t < total; t += 32) {
      const int local = packed[warp][t];
      const auto v = Index(group * 1024 + local);
      Index parent = -1;
      bool whole = false;
      if constexpr (lists) parent = ask_packed(in, s, v, whole);
      for (int part = 0; part < parts && parent < 0; ++part) {
        const uint4 four = sample_of(in, v, part);
        const Index best = sampled(four.x);  // the neighbour of highest degree, which is the most likely one
        if (best >= 0 && has(s.front, best)) {
          parent = best;
        } else {
          bool hit[4] = {};
#pragma unroll
          for (int i = 1; i < 4; ++i) {  // three reads are under way at once
            const Index u = sampled(slot(four, i));
            hit[i] = u >= 0 && has(s.front, u);
          }
#pragma unroll
          for (int i = 3; i > 0; --i)
            if (hit[i]) parent = sampled(slot(four, i));
        }
        whole = is_whole(four.w);
      }
      const Bits bit = Bits(1) << (local & 31);
      if (parent >= 0) {
        atomicOr(&found_words[warp][local >> 5], bit);
        if (s.parents) s.parents[v] = parent;
      } else if (!whole) {
        atomicOr(&open_words[warp][local >> 5], bit);
      }
    }
    __syncwarp();
    const Bits open = open_words[warp][lane];
    if (w < s.words) {
      if (!s.near) s.open[w] = open;
      if (const Bits found = found_words[warp][lane]) s.visited[w] = old | found;
    }
    if (s.near && __any_sync(kAll, open != 0)) {
      const Index count = gather_bits(open, packed[warp]);
      Index at = lane == 0 ? atomicAdd(&s.counts->open, count) : 0;
      at = __shfl_sync(kAll, at, 0);
      for (Index t = lane; t < count; t += 32) s.open_list[at + t] = Index(group * 1024) + packed[warp][t];
    }
    __syncwarp();
  }
}

/// Adds up the lists that probes may read over the link.
template <Access A>
__global__ void __launch_bounds__(kThreads) add_open(ListView in, BfsState s) {
  add_far<A>(in, s.open_list, s.counts);
}

__global__ void decide(BfsCounts* counts, UpChoice c) {
  if (c.near) {
    const double down = near_down_cost(c.frontier, c.edges, c.far_bytes);
    counts->down = down < near_up_cost(counts->open, c.factor * counts->open_far, c.edges, c.all_edges,
                                       c.mean_degree, c.costs);
  } else {
    const double down = down_cost(c.frontier, c.long_edges);
    counts->down = down < c.factor * up_cost(counts->open, c.edges, c.all_edges, c.mean_degree);
  }
  if (!c.bounds) return;
  const double most = far_bytes(double(counts->open_edges), counts->open_far, c.bytes_of_entry);
  counts->limit = up_limit(c.spare, c.far_bytes, most);
  if (counts->limit == 0 && counts->open_far > 0) counts->down = 1;
}

/// Probes lists in ascending order. At once it probes as many as lie within the `reach` (kReach) of the address translation;
/// with more at once, all would take longer.
template <Access A, bool Count, bool Limit>
__global__ void __launch_bounds__(kThreads)
    probe_lists(ListView in, BfsState s, float reach, float bytes_of_entry) {
  if (goes_down(s.counts)) return;
  const Index open = s.counts->open;
  const int lane = int(threadIdx.x) % kProbe;
  const unsigned group = ((1u << kProbe) - 1) << (threadIdx.x & 31) / kProbe * kProbe;
  constexpr int kGroups = kThreads / kProbe;
  const auto blocks = min(std::int64_t(gridDim.x), std::int64_t(reach * float(open)) / kGroups + 1);
  if (blockIdx.x >= blocks) return;
  const auto groups = blocks * kGroups;
  Spender<Limit, BfsCounts> spender(s.counts, group, double(groups));
  [[maybe_unused]] const auto of_eight = unsigned(8 * bytes_of_entry + 1);
  for (auto i = std::int64_t(blockIdx.x) * kGroups + threadIdx.x / kProbe; i < open && !spender.stopped();
       i += groups) {
    const Index v = s.open_list[i];
    auto list = list_of<A>(in, v);
    const Offset size = list.size();
    if (size > kLongProbe) list.end = list.begin + kLongProbe;
    const auto hit = [&](Index u) { return has(s.front, u); };
    const bool far = is_far(list);
    Index parent = -1;
    if constexpr (A == Access::packed) {
      if (far && !spender.may(32 + of_eight)) break;
      parent = probe<Count>(in, list, group, hit, [&] { return !far || spender.may(of_eight); });
    } else {
      parent = probe<Count>(
          list, group, in.counts, hit,
          [&](int sectors) { return !far || spender.may(32 * unsigned(sectors)); }, [] { return false; });
    }
    if (lane != 0) continue;
    if (parent >= 0) {
      atomicOr(&s.visited[v >> 5], Bits(1) << (v & 31));
      if (s.parents) s.parents[v] = parent;
    } else if (size > kLongProbe) {
      cut(s.open_segments, v, size, &s.counts->open_segments, kLongProbe);
    }
  }
  spender.finish();
}

/// Probes the rest of long lists. A warp takes a segment, and stops when this or another warp has found a neighbour.
template <Access A, bool Count, bool Limit>
__global__ void __launch_bounds__(kThreads) probe_segments(ListView in, BfsState s, float bytes_of_entry) {
  if (goes_down(s.counts)) return;
  const Index segments = s.counts->open_segments;
  const auto warps = Index(gridDim.x * kWarps);
  Spender<Limit, BfsCounts> spender(s.counts, kAll, 1e300);  // each piece is claimed
  for (auto i = Index(blockIdx.x * kWarps + threadIdx.x / 32); i < segments && !spender.stopped();
       i += warps) {
    const Segment segment = s.open_segments[i];
    const Index v = segment.vertex;
    const Bits bit = Bits(1) << (v & 31);
    const auto list = segment_of<A>(in, segment);
    constexpr Offset kPiece = A == Access::packed ? kPackedPiece : 512;
    const bool far = is_far(list);
    for (Offset first = list.begin; first < list.end && !spender.stopped(); first += kPiece) {
      if (__any_sync(kAll, (__ldcg(&s.visited[v >> 5]) & bit) != 0)) break;
      auto piece = list;
      piece.begin = first, piece.end = min(list.end, first + kPiece);
      if (far && !spender.may(unsigned(bytes_of_entry * float(piece.end - piece.begin)) + 32)) break;
      walk<A, Count>(in, piece, [&](Offset, Index u) {
        if (!has(s.front, u)) return;
        if (!(atomicOr(&s.visited[v >> 5], bit) & bit) && s.parents) s.parents[v] = u;
      });
      __syncwarp();
    }
  }
  spender.finish();
}

template <Access A, bool Limit>
void probe_all(const ListView& in, const BfsState& s, float reach, float bytes_of_entry, bool count,
               std::int64_t blocks, Stream stream) {
  launch(count ? probe_lists<A, true, Limit> : probe_lists<A, false, Limit>, blocks, stream, in, s, reach,
         bytes_of_entry);
  launch(count ? probe_segments<A, true, Limit> : probe_segments<A, false, Limit>, blocks, stream, in, s,
         bytes_of_entry);
}

std::int64_t few(std::int64_t blocks, Stream stream) { return std::min(blocks, full_grid(stream)); }

}  // namespace

void ask_samples(const ListView& in, const BfsState& s, Stream stream) {
  const UseDevice use(stream.where);
  const bool lists = in.packed.heads && in.sample_size == 0;
  launch(lists ? ask<true> : ask<false>, few(((s.words + 31) / 32 + kWarps - 1) / kWarps, stream), stream, in,
         s);
  if (!s.near) compact(s.open, s.words, s.open_list, s.starts, &s.counts->open, stream);
}

void count_open(const ListView& in, const BfsState& s, Stream stream) {
  const UseDevice use(stream.where);
  launch(in.packed.heads ? add_open<Access::packed> : add_open<Access::aligned>,
         few(blocks_for(s.vertices), stream), stream, in, s);
}

void choose_way(const ListView& in, const BfsState& s, const UpChoice& choice, Stream stream) {
  const UseDevice use(stream.where);
  if (choice.bounds) count_open(in, s, stream);
  cudaLaunchConfig_t one{};
  one.gridDim = one.blockDim = dim3(1);
  one.stream = static_cast<cudaStream_t>(stream.handle);
  cuda::check(cudaLaunchKernelEx(&one, decide, s.counts, choice));
}

void step_up(const ListView& in, const BfsState& s, float reach, float bytes_of_entry, bool count,
             Stream stream) {
  const UseDevice use(stream.where);
  const auto blocks = few(blocks_for(s.vertices * kProbe), stream);
  const auto probe = [&]<Access A>() {
    bytes_of_entry > 0 ? probe_all<A, true>(in, s, reach, bytes_of_entry, count, blocks, stream)
                       : probe_all<A, false>(in, s, reach, bytes_of_entry, count, blocks, stream);
  };
  if (in.packed.heads) probe.template operator()<Access::packed>();
  else probe.template operator()<Access::aligned>();
}

}  // namespace penstock::gpu
