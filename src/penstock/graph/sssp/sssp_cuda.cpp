// Shortest paths on a GPU by near-far windows (Davidson, Baxter, Garland, Owens, IPDPS 2014), which are the buckets of
// delta-stepping one at a time, over lists that come from host memory. What is added:
// - A window is never narrower than the smallest weight. In a window of that width no vertex can shorten the distance of
//   another one, so that every list is relaxed once.
// - In symmetric graphs a window may be pulled: all vertices behind it read their own lists. Most long lists belong to near
//   vertices. When these come up, the lists of the other vertices hold few edges, and the short ones are in device memory:
//   R-MAT 21, weights 8 to 72, a fifth of the edges cached: 0.20 to 0.33 of the edges come over the link.
// - The cache holds the shortest lists, which waste most of the link, and not the longest: each list is read only once.
// - Weights take the fewest bytes, frontiers ascend, and many small windows run in one kernel.
#include "penstock/graph/sssp/sssp_gpu.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/sssp/sssp_gpu_run.hpp"

namespace penstock {
namespace graph {
namespace {

constexpr std::int64_t kBlock = 32 << 10;
static_assert(8 * (kSmallNear + kSmallFar + gpu::kPackedMore) + (1 << 20) <= kPathRoom &&
              sizeof(gpu::PathSegment) == 8);

/// How many bytes of ids may be cached if ids, their weights and the table of lists may take `bytes` together.
std::int64_t id_bytes(std::int64_t vertices, std::int64_t bytes, int weight_bytes) {
  const auto table = 8 * vertices;
  return bytes <= table ? 0 : table + (bytes - table) / (4 + weight_bytes) * 4;
}

template <class T>
Array<T> brought(const void* from, std::int64_t count, Stream stream) {
  const auto bytes = count * std::int64_t(sizeof(T));
  auto owner = reuse_bytes(bytes, {Memory::pinned, 0});
  copy_async(owner.get(), from, bytes, stream);
  synchronize(stream);
  return {static_cast<T*>(owner.get()), count, {Memory::pinned, 0}, owner};
}

/// Brings the distances to the host, in the type of the result.
template <class T, class D, class W>
Array<T> lengths(const PathRun<D, W>& run, const GpuGraph& g) {
  const auto n = g.vertices();
  if constexpr (std::is_same_v<T, D>) {
    return brought<T>(run.distances(), n, g.stream());
  } else {
    const auto from = brought<D>(run.distances(), n, g.stream());
    const auto out = reuse<T>(n);
    parallel_ranges(n, kBlock, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i)
        out.data[i] = from.data[i] == std::numeric_limits<D>::max() ? std::numeric_limits<T>::infinity()
                                                                    : static_cast<T>(from.data[i]);
    });
    return out;
  }
}

/// Leaves the distances on the GPU, where the caller wants them.
template <class T, class D>
void leave_lengths(const SsspGpuOptions& options, const gpu::Key<D>* from, const GpuGraph& g) {
  deliver(options.distances_to, g.stream(), "distances", [&](void* data) {
    if (options.to_float64) gpu::write_lengths<D>(from, g.vertices(), static_cast<double*>(data), g.stream());
    else gpu::write_lengths<D>(from, g.vertices(), static_cast<T*>(data), g.stream());
  });
}

}  // namespace

PathWork::PathWork(GpuGraph& g)
    : words(gpu::bit_words(g.vertices())),
      list(g.take<Index>(g.vertices(), "the frontier")),
      starts(g.take<Index>(gpu::compact_blocks(words) + 1, "the frontier")),
      bits(g.take<gpu::Bits>(2 * words, "the pending vertices")),
      segments(g.take<gpu::PathSegment>(most_segments(g), "the cut lists")),
      piles(g.take<Index>(2 * (kSmallNear + kSmallFar), "the small windows")),
      turns(g.take<gpu::SmallTurn>(3, "counters")),
      counts(g.take<gpu::PathCounts>(1, "counters")),
      seen(allocate<gpu::PathCounts>(1, {Memory::pinned, 0})) {}

PathWork& PathWork::of(GpuGraph& g, const Needs& needs) {
  const auto n = g.vertices(), words = gpu::bit_words(n), distances = needs.distance_bytes * n;
  const auto size = [](std::int64_t count, std::size_t bytes) { return count * std::int64_t(bytes); };
  const auto arrays = 4 * n + 4 * (gpu::compact_blocks(words) + 1) + 8 * words +
                      size(most_segments(g), sizeof(gpu::PathSegment)) + 8 * (kSmallNear + kSmallFar) +
                      size(3, sizeof(gpu::SmallTurn)) + size(1, sizeof(gpu::PathCounts));
  const auto all = arrays + distances + (needs.tree ? 4 * n : 0) + needs.weight_bytes;
  auto more = all;
  if (const auto* known = g.known_work<PathWork>()) {
    more -= arrays + std::min(distances, known->keys.bytes());
    if (needs.tree && known->tree.data) more -= 4 * n;
    if (std::ranges::any_of(known->placed, [&](const Placed& p) { return p.values == needs.values; }))
      more -= needs.weight_bytes;
  }
  g.make_room(more, all);
  return g.work<PathWork>();
}

std::int64_t PathWork::most_segments(const GpuGraph& g) {
  return g.is_packed() ? most_packed_pieces(g.edges()) + gpu::kPackedMore
                       : gpu::most_path_segments(g.edges());
}

template <class D>
gpu::PathState<D> PathWork::state(GpuGraph& g) {
  const auto wanted = g.vertices() * std::int64_t(sizeof(D) / sizeof(unsigned));
  if (keys.size < wanted) {
    synchronize(g.stream());
    g.give_back(keys);
    keys = g.take<unsigned>(wanted, "the distances");
  }
  return {.vertices = g.vertices(),
          .words = words,
          .distances = reinterpret_cast<gpu::Key<D>*>(keys.data),
          .pending = bits.data,
          .front = bits.data + words,
          .list = list.data,
          .starts = starts.data,
          .segments = segments.data,
          .most_segments = segments.size,
          .counts = counts.data};
}

template <class W>
gpu::WeightView<W> PathWork::place(GpuGraph& g, const Array<const W>& values) {
  gpu::WeightView<W> view{.edge_count = g.edges(), .cache_count = g.facts().cached_edges};
  const auto aligned = [](const void* p, std::size_t by) {
    return reinterpret_cast<std::uintptr_t>(p) % by == 0;
  };
  view.by_four = aligned(g.view().edges, 16);
  if constexpr (!is_pattern<W> && !std::is_same_v<W, gpu::PackedLength>) {
    auto found = placed.end();
    for (auto at = placed.begin(); at != placed.end(); ++at)
      if (at->values == values.data && !(g.view().list_begin && !at->along.cache)) found = at;
    if (found == placed.end()) {
      const Array<const std::byte> bytes{reinterpret_cast<const std::byte*>(values.data), values.bytes(),
                                         values.place, values.owner};
      placed.push_back({values.data, g.place_along(bytes, sizeof(W))});
      found = placed.end() - 1;
    }
    view.edges = static_cast<const W*>(found->along.edges);
    view.cache = static_cast<const W*>(found->along.cache);
    view.by_four = view.by_four && aligned(view.edges, std::min<std::size_t>(16, 4 * sizeof(W)));
  }
  return view;
}

}  // namespace graph

namespace graph {
namespace {

/// What all attempts of one call have in common.
struct PathCall {
  GpuGraph& g;
  PathWork& work;
  std::span<const Index> sources;
  const SsspGpuOptions& options;
  double delta = 0, widest = 0, smallest = 0;

  bool scans() const { return options.method == SsspMethod::bellman_ford; }
};

/// What a search takes whose distances are of the type of the weights.
template <class V>
PathWork::Needs real_needs(const GpuGraph& g, const Csr<V>& a, const SsspGpuOptions& options) {
  if (g.placement() != EdgePlacement::device) return {sizeof(V), options.predecessors};
  return {sizeof(V), options.predecessors, a.values.data, a.values.bytes()};
}

/// What the first search of a call takes.
template <class V>
PathWork::Needs needs_of(const GpuGraph& g, const Csr<V>& a, const PathWeights& weights,
                         const SsspGpuOptions& options) {
  PathWork::Needs needs{.tree = options.predecessors};
  bool whole = true;
  std::visit(
      [&]<class N>(const N& narrow) {
        if constexpr (std::is_same_v<N, std::monostate>) whole = is_pattern<V> || g.is_packed();
        else needs.values = narrow.data, needs.weight_bytes = narrow.bytes();
      },
      weights.whole);
  if constexpr (!is_pattern<V>)
    if (!whole) return real_needs(g, a, options);
  if (g.placement() != EdgePlacement::device) needs.values = nullptr, needs.weight_bytes = 0;
  return needs;
}

template <class V>
void check_call(const GpuGraph& g, const Csr<V>& a, std::span<const Index> sources,
                const SsspGpuOptions& options) {
  require(a.rows == a.cols, "sssp needs a square matrix");
  require(!g.is_packed() || g.facts().lengths == !is_pattern<V>,
          is_pattern<V> ? "sssp: the packed lists have lengths, and the matrix has none"
                        : "sssp: the packed lists have no lengths: pack them with those of the matrix");
  require(!g.is_packed() || options.cache_bytes <= 0,
          "sssp: packed lists are not cached: leave cache out, or choose another placement");
  require(a.rows == g.vertices() && a.nnz() == g.edges(),
          "sssp: the matrix is not that of the graph on the GPU");
  require(options.delta >= 0 && std::isfinite(options.delta), "sssp: delta must be positive and finite");
  require(options.limit >= 0, "sssp: limit must be zero or more");
  for (const auto s : sources)
    require(s >= 0 && s < a.rows, "sssp: source " + std::to_string(s) + " is outside a graph of " +
                                      std::to_string(a.rows) + " vertices");
}

/// Places the weights `values`, which take `weight_bytes` each, on the GPU, and before that caches short lists in the memory
/// that is left.
template <class D, class W>
gpu::WeightView<W> prepare(const PathCall& call, const Array<const W>& values, int weight_bytes) {
  auto& [g, work, sources, options, delta, widest, smallest] = call;
  work.template state<D>(g);  // takes its memory before the cache takes what is left
  if (options.predecessors && !work.tree.data)
    work.tree = g.template take<Index>(g.vertices(), "the predecessors");
  if (!call.scans() && options.cache_bytes != 0 && !g.in_core() && !g.view().list_begin) {
    const auto room = g.left() - kVertexBytes * g.vertices();
    const auto bytes = options.cache_bytes < 0 ? room : std::min(room, options.cache_bytes);
    if (const auto ids = id_bytes(g.vertices(), bytes, weight_bytes); ids > 0)
      g.make_cache(ids, CacheOf::shortest);
  }
  const auto view = work.template place<W>(g, values);
  synchronize(g.stream());
  return view;
}

/// One search that computes distances in D from weights of type W. Returns false if a path was longer than D can hold: then
/// `result` has no distances.
template <class D, class W, class T>
bool search(const PathCall& call, const Array<const W>& values, double limit, SsspGpuResult<T>& result) {
  auto& [g, work, sources, options, delta, widest, smallest] = call;
  auto begin = Clock::now();
  result.weight_bytes = is_pattern<W> || std::is_same_v<W, gpu::PackedLength> ? 0 : int(sizeof(W));
  const auto view = prepare<D>(call, values, result.weight_bytes);
  result.prepare_seconds += since(begin);

  if (options.count) g.clear_counts();
  PathRun<D, W> run(g, work, view, options, delta, widest, smallest, static_cast<D>(limit));
  begin = Clock::now();
  const bool in_range = run.run(sources);
  result.seconds += since(begin);
  // The limit was that of the type, and not that of the options.
  if (!in_range && std::is_integral_v<D> && !(options.limit <= limit)) return false;
  if (options.predecessors) {
    begin = Clock::now();
    run.find_tree(sources);
    result.tree_seconds = since(begin);
  }
  if (options.count) result.requests = g.counts();
  begin = Clock::now();
  if (options.distances_to) leave_lengths<T, D>(options, run.distances(), g);
  else result.distances = lengths<T>(run, g);
  if (options.predecessors && options.predecessors_to)
    deliver(options.predecessors_to, g.stream(), "predecessors", work.tree.data, 4 * g.vertices());
  else if (options.predecessors)
    result.predecessors = brought<Index>(work.tree.data, g.vertices(), g.stream());
  result.copy_seconds = since(begin);
  result.steps = std::move(run.steps());
  return true;
}

/// Whole weights in four bytes each. They are converted once for a graph.
template <class N>
Array<const std::uint32_t> widened(PathWork& work, const Array<N>& narrow) {
  if (work.wide.size != narrow.size) {
    work.wide = allocate<std::uint32_t>(narrow.size);
    parallel_ranges(narrow.size, kBlock, [&](std::int64_t first, std::int64_t last) {
      std::copy(narrow.data + first, narrow.data + last, work.wide.data + first);
    });
  }
  return work.wide;
}

/// Searches with distances that are whole 32-bit numbers, if all weights are whole. False if they are not, or if a path is
/// too long for such numbers.
template <class V, class T>
bool search_whole(const PathCall& call, const PathWeights& weights, SsspGpuResult<T>& result) {
  // Sums of whole numbers are exact in T up to this, and then the same as in T from the first to the last bit.
  constexpr double kExact = std::is_same_v<T, float> ? 0x1p24 : 0x1p31 - 1;
  const auto limit = std::min(call.options.limit, kExact);
  if constexpr (is_pattern<V>)
    if (!call.g.is_packed()) return search<std::uint32_t>(call, Array<const One>{}, limit, result);
  if (call.g.is_packed()) return search<std::uint32_t>(call, Array<const gpu::PackedLength>{}, limit, result);
  bool done = false;
  std::visit(
      [&]<class A>(const A& narrow) {
        if constexpr (!std::is_same_v<A, std::monostate>) {
          using Number = std::remove_pointer_t<decltype(narrow.data)>;
          if (!call.scans()) done = search<std::uint32_t>(call, Array<const Number>(narrow), limit, result);
          else if constexpr (std::is_same_v<V, double>)  // floats have four bytes already
            done = search<std::uint32_t>(call, widened(call.work, narrow), limit, result);
        }
      },
      weights.whole);
  return done;
}

}  // namespace
}  // namespace graph

template <class V>
SsspGpuResult<Distance<V>> sssp_gpu(GpuGraph& g, const Csr<V>& a, const PathWeights& weights,
                                    std::span<const Index> sources, const SsspGpuOptions& options) {
  using T = Distance<V>;
  graph::check_call(g, a, sources, options);
  SsspGpuResult<T> result;
  if (a.rows == 0) {
    if (!options.distances_to) result.distances = reuse<T>(0);
    if (options.predecessors) result.predecessors = reuse<Index>(0);
    return result;
  }
  const GraphTurn turn(g, nullptr);
  g.drop_longest();  // these lists leave no room for short ones, and no weights lie beside them
  const double degree = static_cast<double>(a.nnz()) / static_cast<double>(a.rows);
  const double delta = options.delta > 0
                           ? options.delta
                           : choose_gpu_delta(weights.smallest, weights.largest, weights.mean, degree);
  result.delta = std::max(delta, weights.smallest);
  auto& work = graph::PathWork::of(g, graph::needs_of(g, a, weights, options));
  const double widest = options.delta > 0 ? options.delta : weights.mean;  // a width that was given stays
  const graph::PathCall call{g, work, sources, options, delta, widest, weights.smallest};
  const bool done = graph::search_whole<V>(call, weights, result);
  if constexpr (!is_pattern<V>) {
    if (done) return result;
    const auto limit = std::min(options.limit, static_cast<double>(std::numeric_limits<V>::max()));
    // Distances of this type may be wider than those that there was room for.
    auto& again = graph::PathWork::of(g, graph::real_needs(g, a, options));
    const graph::PathCall wide{g, again, sources, options, delta, weights.smallest};
    if (g.is_packed()) graph::search<V>(wide, Array<const gpu::PackedLength>{}, limit, result);
    else graph::search<V>(wide, a.values, limit, result);
  }
  return result;
}

#define X(V)                                                                                 \
  template SsspGpuResult<Distance<V>> sssp_gpu(GpuGraph&, const Csr<V>&, const PathWeights&, \
                                               std::span<const Index>, const SsspGpuOptions&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
