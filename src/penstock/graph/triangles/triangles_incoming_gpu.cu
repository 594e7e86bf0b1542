// Makes the edges that come into each vertex, and counts triangles at their middle vertex (triangles_incoming_gpu.hpp).
#include "penstock/graph/triangles/triangles_flat_gpu.cuh"
#include "penstock/graph/triangles/triangles_incoming_gpu.hpp"
#include "penstock/graph/triangles/triangles_tables_gpu.cuh"
#include "penstock/kernel/structure/entry_steps.hpp"

namespace penstock::gpu {
namespace {

constexpr int kWarps = kThreads / 32;

/// A warp takes a vertex, or a part of its edges. Most lists are short: a lane finds its own.
__global__ void __launch_bounds__(kThreads)
    write_pairs(const Offset* offsets, const Index* ends, std::int64_t vertices, Index* keys,
                std::uint64_t* entries) {
  constexpr Offset kMine = 16;  // ends of a list that a thread writes alone
  const int lane = int(threadIdx.x & 31);
  const auto u = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  Offset begin = 0, end = 0;
  if (u < vertices) begin = offsets[u], end = offsets[u + 1];
  const auto write = [&](Offset from, Offset at) {
    keys[at] = ends[at];
    entries[at] = incoming_entry(from, at - from);
  };
  if (end - begin <= kMine)
    for (Offset at = begin; at < end; ++at) write(begin, at);
  for (unsigned left = __ballot_sync(kAll, end - begin > kMine); left != 0; left &= left - 1) {
    const int owner = __ffs(int(left)) - 1;
    const Offset from = __shfl_sync(kAll, (long long)(begin), owner),
                 to = __shfl_sync(kAll, (long long)(end), owner);
    for (Offset at = from + lane; at < to; at += 32) write(from, at);
  }
}

__global__ void __launch_bounds__(kThreads)
    find_begins(const Index* keys, Offset edges, std::int64_t vertices, Offset* in_offsets) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v <= vertices) in_offsets[v] = first_at_least(keys, edges, std::uint64_t(v));
}

/// Ends that a count looks up, in this order and in the first one.
__global__ void __launch_bounds__(kThreads) sum_work(IncomingView g, IncomingWork* work) {
  double here = 0, first = 0;
  for (auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; v < g.vertices;
       v += std::int64_t(gridDim.x) * kThreads) {
    const auto out = double(g.offsets[v + 1] - g.offsets[v]),
               in = double(g.in_offsets[v + 1] - g.in_offsets[v]);
    here += out * (out - 1) / 2, first += out * in;
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    here += __shfl_down_sync(kAll, here, d);
    first += __shfl_down_sync(kAll, first, d);
  }
  if ((threadIdx.x & 31) != 0) return;
  atomicAdd(&work->here, here);
  atomicAdd(&work->first, first);
}

/// Looks up in a table what the entries [first, last) name, 32 of them at a time.
template <class Has>
__device__ unsigned look_up_incoming(const IncomingView& g, SideBySide& row, Offset first, Offset last,
                                     Offset step, Has&& has) {
  const int lane = int(threadIdx.x & 31);
  unsigned found = 0, own = 0;
  for (Offset base = first; base < last; base += step) {
    const auto entry = base + lane < last ? g.in_lists[base + lane] : 0;
    const int length = int(entry & std::uint64_t(kMostIncomingLength));
    const int end = add_up_to_lane(length), ends = __shfl_sync(kAll, end, 31);
    if (ends == 0) continue;
    found += look_up_row<false, false>(nullptr, nullptr, row, g.ends + (entry >> kLengthBits), false,
                                       {end - length, length, ends}, own, has);
  }
  return found;
}

/// Adds what the lanes of a block found to the total.
__device__ void add_block(unsigned long long mine, unsigned long long* shared, unsigned long long* total) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) mine += __shfl_down_sync(kAll, mine, d);
  if ((threadIdx.x & 31) == 0 && mine > 0) atomicAdd(shared, mine);
  __syncthreads();
  if (threadIdx.x == 0 && *shared > 0) atomicAdd(total, *shared);
}

__global__ void __launch_bounds__(kThreads) count_few(IncomingView g, TriangleState s) {
  __shared__ Index slots[kWarps][4 * kShortList];
  __shared__ SideBySide rows[kWarps];
  __shared__ unsigned long long all;
  const int lane = int(threadIdx.x & 31), warp = int(threadIdx.x / 32);
  const auto mine = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  Offset begin = 0, in_begin = 0;
  int size = 0, in_size = 0;
  if (mine < g.vertices) {
    const Index v = s.order ? s.order[mine] : Index(mine);
    begin = g.offsets[v], in_begin = g.in_offsets[v];
    const Offset ends = g.offsets[v + 1] - begin, in = g.in_offsets[v + 1] - in_begin;
    const bool some = ends > 0 && in > 0;
    if (some && (ends > kShortList || in > kShortIncoming)) {
      const auto chunks = Index((in + kIncomingChunk - 1) / kIncomingChunk);
      const Index at = atomicAdd(&s.counts->chunks, chunks);
      for (Index i = 0; i < chunks; ++i) s.chunks[at + i] = {v, i};
    } else if (some) {
      size = int(ends), in_size = int(in);
    }
  }
  unsigned long long found = 0;
  for (unsigned left = __ballot_sync(kAll, size > 0); left != 0; left &= left - 1) {
    const int owner = __ffs(int(left)) - 1;
    const int n = __shfl_sync(kAll, size, owner), in = __shfl_sync(kAll, in_size, owner);
    const Offset from = __shfl_sync(kAll, (long long)(begin), owner),
                 in_from = __shfl_sync(kAll, (long long)(in_begin), owner);
    const WarpHash table(slots[warp], n);
    table.clear();
    __syncwarp();
    for (int i = lane; i < n; i += 32) table.insert(g.ends[from + i]);
    __syncwarp();
    found +=
        look_up_incoming(g, rows[warp], in_from, in_from + in, 32, [&](Index w) { return table.has(w); });
    __syncwarp();
  }
  add_block(found, &all, &s.counts->total);
}

__global__ void __launch_bounds__(kThreads) count_many(IncomingView g, TriangleState s) {
  __shared__ Index words[kTable];
  __shared__ SideBySide rows[kWarps];
  __shared__ Index claimed;
  __shared__ unsigned long long all;
  const int warp = int(threadIdx.x / 32);
  if (threadIdx.x == 0) all = 0;
  unsigned long long found = 0;
  for (;;) {
    if (threadIdx.x == 0) claimed = atomicAdd(&s.counts->next, 1);
    __syncthreads();
    const Index task = claimed;
    if (task >= s.counts->chunks) break;
    const auto [v, number] = s.chunks[task];
    const Offset begin = g.offsets[v], end = g.offsets[v + 1];
    const Offset first = g.in_offsets[v] + Offset(number) * kIncomingChunk,
                 last = min(g.in_offsets[v + 1], first + kIncomingChunk);
    const bool small = v <= kBitmap;  // all ends are smaller than v
    const Offset room = small ? end - begin : kHashed;
    for (Offset from = begin; from < end; from += room) {
      const int cleared = small ? min(int(v / 32 + 1), kTable) : kTable;
      for (int i = int(threadIdx.x); i < cleared; i += kThreads) words[i] = small ? 0 : -1;
      __syncthreads();
      const Offset to = min(end, from + room);
      for (Offset i = from + threadIdx.x; i < to; i += kThreads) {
        if (small) Bitmap{words}.insert(g.ends[i]);
        else Hash<kTable>{words}.insert(g.ends[i]);
      }
      __syncthreads();
      const Offset base = first + 32 * warp;
      if (small)
        found += look_up_incoming(g, rows[warp], base, last, kThreads,
                                  [&](Index w) { return Bitmap{words}.has(w); });
      else
        found += look_up_incoming(g, rows[warp], base, last, kThreads,
                                  [&](Index w) { return Hash<kTable>{words}.has(w); });
      __syncthreads();
    }
  }
  add_block(found, &all, &s.counts->total);
}

}  // namespace

void incoming_pairs(const Offset* offsets, const Index* ends, std::int64_t vertices, Offset edges,
                    Index* keys, std::uint64_t* entries, Stream stream) {
  if (edges > 0) launch(write_pairs, blocks_for(vertices), stream, offsets, ends, vertices, keys, entries);
}

void incoming_offsets(const Index* keys, Offset edges, std::int64_t vertices, Offset* in_offsets,
                      Stream stream) {
  launch(find_begins, blocks_for(vertices + 1), stream, keys, edges, vertices, in_offsets);
}

void incoming_work(const IncomingView& g, IncomingWork* work, Stream stream) {
  fill_async(work, 0, sizeof *work, stream);
  const auto blocks = std::min(full_grid(stream), blocks_for(g.vertices));
  if (blocks > 0) launch(sum_work, blocks, stream, g, work);
}

void count_incoming(const IncomingView& g, const TriangleState& s, Stream stream) {
  if (g.vertices == 0) return;
  const UseDevice use(stream.where);
  launch(count_few, blocks_for(g.vertices), stream, g, s);
  launch(count_many, std::max<std::int64_t>(1, full_grid(stream) / 2), stream, g, s);
}

}  // namespace penstock::gpu
