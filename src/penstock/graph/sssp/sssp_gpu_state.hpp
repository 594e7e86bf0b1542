#pragma once
#include <bit>
#include <limits>

#include "penstock/graph/gpu/compact.hpp"
#include "penstock/graph/sssp/sssp_gpu.hpp"

// The data that the kernels of shortest paths share, and the functions that launch them. D is the type of distances.
namespace penstock::gpu {

/// Distances as unsigned numbers in the same order, for atomicMin. This is possible because lengths are never negative.
template <class D>
using Key = std::conditional_t<std::is_same_v<D, double>, unsigned long long, unsigned>;
template <class D>
constexpr Key<D> key_of(D d) {
  return std::bit_cast<Key<D>>(d);
}
template <class D>
constexpr D length_of(Key<D> key) {
  return std::bit_cast<D>(key);
}
template <class D>
inline constexpr Key<D> kNoPath = key_of<D>(std::numeric_limits<D>::has_infinity
                                                ? std::numeric_limits<D>::infinity()
                                                : std::numeric_limits<D>::max());

inline constexpr Offset kPathSegment = 4096;  // entries of a list that one warp walks; longer lists are cut
inline constexpr Offset kPackedAlone =
    64;  // longer packed lists are walked by a warp each, while kPackedMore have room
inline constexpr std::int64_t kPackedMore = 256 << 10;
struct PathSegment {
  Index vertex, number;
};
/// An upper bound of the segments of all longer lists. A list may begin and end inside a segment.
constexpr std::int64_t most_path_segments(Offset edges) { return 3 * (edges / kPathSegment) + 1; }

/// Numbers that kernels write for the host, on the device. Those before `kept` are cleared before each window.
struct PathCounts {
  // The complement of the least key of a pending vertex; 0 if no vertex is pending.
  unsigned long long nearest = 0;
  // Edges of the window, and those of them not in device memory.
  unsigned long long near_edges = 0, near_link = 0;
  unsigned long long open_edges = 0, open_link = 0;  // the same for the vertices that could pull
  Index pending = 0, near = 0;
  Index segments = 0;
  unsigned changed = 0;  // whether a round of Bellman-Ford changed anything; whether an edge adds nothing
  unsigned kept = 0;
  unsigned out_of_range = 0;  // a path was longer than the limit
};

/// A step of the one-kernel mode.
struct SmallTurn {
  unsigned long long nearest = 0;  // complement
  unsigned long long edges = 0;
  Index near = 0, far = 0;  // vertices pushed to each pile
  Index heavy = 0, unused = 0;
};
struct SmallPaths {
  Index* near[2] = {};         // with room for kSmallNear vertices each
  Index* far[2] = {};          // with room for kSmallFar vertices each
  SmallTurn* turns = nullptr;  // an array of three
};

template <class D>
struct PathState {
  std::int64_t vertices = 0, words = 0;
  Key<D>* distances = nullptr;
  Bits* pending = nullptr;  // vertices whose distance has changed since their edges were relaxed
  Bits* front = nullptr;    // the pending vertices of the window
  Index* list = nullptr;    // the same as an ascending list
  Index* starts = nullptr;  // for compactions
  Index* tree = nullptr;    // predecessors, null unless asked for
  PathSegment* segments = nullptr;
  std::int64_t most_segments = 0;  // that there is room for
  PathCounts* counts = nullptr;
};

/// A window: pending vertices are near if their distance is less than `width` beyond that of the nearest one.
template <class D>
struct Window {
  D width{};
  bool over_link = false;  // edges that are not cached come over the link
};

template <class D>
void begin_paths(const PathState<D>& s, std::span<const Index> sources, Stream stream);
/// Finds the nearest pending vertex and marks those of its window: `front`, counts->{pending, near, near_edges, ...}.
template <class D>
void choose_window(const ListView& g, const PathState<D>& s, const Window<D>& window, Stream stream);
/// Lists the vertices that choose_window() marked; they are no longer pending.
template <class D>
void list_window(const PathState<D>& s, Stream stream);
/// counts->{open_edges, open_link} of the vertices farther than `beyond`.
template <class D>
void measure_open(const ListView& g, const PathState<D>& s, Key<D> beyond, bool over_link, Stream stream);

/// The type of weights that stand in packed lists, beside the edges: a whole number.
struct PackedLength {
  std::uint32_t value;
};

/// Weights along the edges and along the cached lists; none where they are PackedLength.
template <class W>
struct WeightView {
  const W* edges = nullptr;
  const W* cache = nullptr;
  Offset edge_count = 0, cache_count = 0;
  bool by_four = false;  // ids and weights are aligned for loads of four
};

/// What is done with an edge u -> v. push: lower v's distance. pull: lower u's distance by v's. tight: u becomes v's
/// predecessor if it is nearer to the source and the edge explains v's distance. level: the same for a u that is as far as v,
/// because the edge adds nothing.
enum class PathStep : std::uint8_t { push, pull, tight, level };

template <class D>
struct PathWalk {
  PathStep step = PathStep::push;
  const Index* list = nullptr;  // null: all vertices that the step concerns
  std::int64_t count = 0;
  Key<D> beyond{};  // only vertices farther than this pull
  D limit{};
};

template <class D, class W>
void walk_paths(const ListView& g, const WeightView<W>& weights, const PathState<D>& s,
                const PathWalk<D>& walk, Access access, bool count, Stream stream);

/// flags[v] = whether v is pending.
template <class D>
void flag_pending(const PathState<D>& s, std::uint8_t* flags, Stream stream);
/// A round of Bellman-Ford: relaxes the edges of the vertices flagged in `now`, and flags those that were lowered in `next`.
template <class D, class W>
void scan_paths(const ListView& g, const WeightView<W>& weights, const PathState<D>& s, D limit,
                const std::uint8_t* now, std::uint8_t* next, Access access, bool count, Stream stream);

/// Relaxes windows until there are none, or they are no longer small, beginning with list[0, pending). Vertices that are left
/// are marked in `pending`.
template <class D, class W>
void small_windows(const ListView& g, const WeightView<W>& weights, const PathState<D>& s,
                   const SmallPaths& small, const Window<D>& window, D limit, Index pending, bool count,
                   Stream stream);

/// lengths[v] = the distance behind keys[v], infinity where there is no path.
template <class D, class T>
void write_lengths(const Key<D>* keys, std::int64_t n, T* lengths, Stream stream);

/// A vertex without a predecessor yet.
inline constexpr Index kNobody = std::numeric_limits<Index>::max();
template <class D>
void begin_tree(const PathState<D>& s, Stream stream);
/// Marks in `pending` the sources and all vertices with a predecessor; counts->near = how many other vertices are reached.
template <class D>
void mark_tree(const PathState<D>& s, std::span<const Index> sources, Stream stream);
/// Lists the vertices that were just found (`front`), and marks them in `pending`; counts->near = how many they are.
template <class D>
void next_of_tree(const PathState<D>& s, Stream stream);
/// Replaces kNobody by -9999, which sources get as well.
template <class D>
void finish_tree(const PathState<D>& s, std::span<const Index> sources, Stream stream);

}  // namespace penstock::gpu
