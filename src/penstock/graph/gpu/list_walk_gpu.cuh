#pragma once
#include "penstock/graph/gpu/list_pieces.hpp"
#include "penstock/graph/gpu/lists_gpu.cuh"

// Warps walk the lists of many vertices; each lane brings one vertex. Long lists are cut and left to a second kernel.
namespace penstock::gpu {

/// The list that another lane holds. All lanes of a warp call it.
__device__ inline List list_from(const List& mine, int owner) {
  const auto ids = __shfl_sync(kAll, reinterpret_cast<unsigned long long>(mine.ids), owner);
  return {reinterpret_cast<const Index*>(ids), __shfl_sync(kAll, mine.begin, owner),
          __shfl_sync(kAll, mine.end, owner), __shfl_sync(kAll, int(mine.cached), owner) != 0};
}

/// Leaves v's list to walk_pieces() if it is long: adds its pieces and empties it.
template <class L>
__device__ void cut_if_long(L& list, Index v, ListPiece* pieces, Index* count) {
  if (list.size() <= kLongList) return;
  const Index more = count_pieces(list.begin, list.end);
  const Index at = atomicAdd(count, more);
  for (Index i = 0; i < more; ++i) pieces[at + i] = {v, i};
  list.end = list.begin;
}

/// Walks the lists of all lanes of the warp, in their order: calls f.begin(v), f(u) for every u in v's list, and f.end(v,
/// lanes), by the lanes that walked it, neighbours whose first number is a multiple of `lanes`. With `strided` each lane walks its
/// own list (lanes == 1); otherwise all lanes walk each list, or eight lanes a short packed one.
template <Access A, bool Count, class F>
__device__ void walk_each(const ListView& g, const ListOf<A>& list, Index v, F&& f) {
  if constexpr (A == Access::packed) {
    walk_packed<Count>(g, list, f);
  } else if constexpr (A == Access::strided) {
    const bool mine = list.size() > 0;
    if (mine) f.begin(v);
    walk<A, Count>(g, list, [&](Offset, Index u) { f(u); });
    if (mine) f.end(v, 1);
  } else {
    for (unsigned left = __ballot_sync(kAll, list.size() > 0); left != 0; left &= left - 1) {
      const int owner = __ffs(int(left)) - 1;
      const Index from = __shfl_sync(kAll, v, owner);
      f.begin(from);
      walk<A, Count>(g, list_from(list, owner), [&](Offset, Index u) { f(u); });
      f.end(from, 32);
    }
  }
}

/// What a lane walks of a piece, which a warp takes: all of it, or with `strided` its own part.
template <Access A>
__device__ ListOf<A> piece_list(const ListView& g, const ListPiece& piece) {
  auto list = list_of<A>(g, piece.vertex);
  const auto [begin, end] = piece_of(list.begin, list.end, piece.number);
  list.begin = begin, list.end = end;
  if constexpr (A == Access::strided) {
    const Offset part = (end - begin + 31) / 32;
    list.begin = min(end, begin + part * (threadIdx.x & 31));
    list.end = min(end, list.begin + part);
  }
  return list;
}

/// The same for pieces, each of which a warp takes. With `strided` each lane walks a part of the piece.
template <Access A, bool Count, class F>
__device__ void walk_pieces(const ListView& g, const ListPiece* pieces, Index count, F&& f) {
  const auto warps = std::int64_t(gridDim.x) * (kThreads / 32);
  for (auto i = std::int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32; i < count; i += warps) {
    const ListPiece piece = pieces[i];
    const auto list = piece_list<A>(g, piece);
    f.begin(piece.vertex);
    walk<A, Count>(g, list, [&](Offset, Index u) { f(u); });
    f.end(piece.vertex, 32);
  }
}

}  // namespace penstock::gpu
