#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <unordered_map>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/graph/gpu/gpu_lists.hpp"
#include "penstock/graph/gpu/neighbour_sample.hpp"

// Traversals of graphs whose edges exceed a GPU: offsets and vertices on the device, edges where there is room, read by
// kernels in place (min-2020). The drivers of such traversals are compiled always and linked only where kernels are.
namespace penstock {

/// Smaller arrays share pages with others, so they are not locked in place but copied to pinned memory.
inline constexpr std::int64_t kLockBytes = 32 << 20;
/// Where the edges are. `pinned`: the host's array itself, its pages locked; `host_alloc`: a pinned copy; the managed ones:
/// a copy in managed memory, which never exceeds the free device memory; `device`: a copy on the GPU.
enum class EdgePlacement : std::uint8_t {
  pinned,
  host_alloc,
  managed_read_mostly,
  managed_accessed_by,
  device
};
inline constexpr Choice kEdgePlacements[] = {
    {"pinned", "the host's array, its pages locked"},
    {"host_alloc", "a pinned copy"},
    {"managed_read_mostly", "a managed copy, whose pages are duplicated where they are read"},
    {"managed_accessed_by", "a managed copy, which the GPU reads over the link"},
    {"device", "a copy on the GPU"},
};
inline constexpr std::string_view name(EdgePlacement p) { return kEdgePlacements[static_cast<int>(p)].name; }

/// Which lists are cached: the longest, which many searches ask again and again, or the shortest, which waste most of the
/// link: what is read of a list of d ids and as many weights of a byte is about 60 bytes more than the 5 d asked for.
enum class CacheOf : std::uint8_t { longest, shortest };

struct GpuGraphOptions {
  int gpu = 0;
  std::optional<EdgePlacement> placement = {};  // empty: device where all fits the budget, else pinned
  std::int64_t device_memory = 0;               // the budget; 0: what is free less kGpuReserve
  std::int64_t first = 0, count = -1;           // the vertices whose lists it has; -1: all from `first` on
  NeighbourSample sample = {};                  // of all vertices of this graph, where somebody has it
};
inline constexpr std::int64_t kGpuReserve = 512 << 20;
/// What traversals take of device memory for each vertex, beside its offset: what automatic choices leave room for.
inline constexpr std::int64_t kVertexBytes = 18;
/// Searches keep one part in so many of the edges at most, in bytes: the sample, and then the lists of the largest hubs, on
/// which their top-down steps spend most.
inline constexpr std::int64_t kKeptShare = 4;
/// What traversals over several GPUs take on each of them for every vertex of the graph: bitmaps, predecessors, trees.
inline constexpr std::int64_t kSharedVertexBytes = 9;

struct GpuGraphFacts {
  int gpu = 0;
  EdgePlacement placement = EdgePlacement::pinned;
  std::int64_t vertices = 0, edges = 0;             // of this part
  std::int64_t first_vertex = 0, all_vertices = 0;  // the part's first, and how many the graph has
  std::int64_t budget = 0;  // of device memory, in bytes; the rest are parts of it that are taken
  std::int64_t offset_bytes = 0, edge_bytes = 0, sample_bytes = 0, cache_bytes = 0, other_bytes = 0;
  std::int64_t cached_edges = 0, table_bytes = 0;  // within cache_bytes: where each list is
  int sample_size = 0;
  SampleOf sample_kind = SampleOf::highest_degree;
  bool sample_given = false;  // it was not made, but is that of the options
  double build_seconds = 0, sample_seconds = 0, cache_seconds = 0;

  std::int64_t used() const { return offset_bytes + edge_bytes + sample_bytes + cache_bytes + other_bytes; }
};

/// Automatic placement: device where offsets, edges, a sample of 4 and the vertices' arrays fit `budget`.
EdgePlacement choose_placement(std::int64_t vertices, std::int64_t edges, std::int64_t budget);
/// The largest sample of at most `wanted` (a multiple of 4) slots that fits what is left beside the vertices' arrays.
int choose_sample(std::int64_t vertices, std::int64_t left, int wanted);

/// One graph, or the lists of a range of its vertices, as the traversals of one GPU see it, kept between them. One
/// traversal at a time: they hold `turn()`.
class GpuGraph {
 public:
  /// Arrays of a CSR matrix with as many rows as columns, which this shares. Throws Error{out_of_memory}, with the
  /// numbers, where the offsets or the placement asked for do not fit. A part needs offsets that the host can read.
  GpuGraph(const Array<const Offset>& offsets, const Array<const Index>& edges,
           const GpuGraphOptions& options);
  GpuGraph(const GpuGraph&) = delete;
  GpuGraph& operator=(const GpuGraph&) = delete;

  Where where() const { return stream().where; }
  Stream stream() const { return stream_; }
  std::int64_t vertices() const { return facts_.vertices; }
  Offset edges() const { return facts_.edges; }
  std::int64_t first_vertex() const { return facts_.first_vertex; }
  std::int64_t all_vertices() const { return facts_.all_vertices; }
  EdgePlacement placement() const { return facts_.placement; }
  bool in_core() const { return placement() == EdgePlacement::device; }
  /// What Python calls "auto": aligned over the link, direct in device memory.
  Access best_access() const { return in_core() ? Access::direct : Access::aligned; }
  const GpuGraphFacts& facts() const { return facts_; }
  const Array<const Offset>& offsets() const { return offsets_; }  // on the device
  std::mutex& turn() { return turn_; }

  /// For kernels; valid until the next make_*. Its counters are those of `counts()`.
  const ListView& view() const { return view_; }

  /// `size` neighbours of every vertex in device memory: 4, 8 or 16 slots, by one ordered pass over the edges, or the
  /// options' where it is of this size and kind. Kept: a call that finds as large a sample of the same kind does nothing.
  /// Takes fewer slots, or none, where they do not fit. For a part, the offsets of the whole graph are on the device
  /// while it is made.
  void make_sample(int size, SampleOf kind);
  /// The same where any kind will do: nothing where there is a sample, the options', or the first neighbours.
  void make_any_sample(int size);
  /// What a search asks instead of lists, made as it pays: the first search of a graph takes any sample, which costs a sector
  /// or two a list; the next one has the neighbours of highest degree chosen, a pass over all edges. `size` as above.
  void make_search_sample(int size);
  /// From that second search on, once its memory is taken: the longest lists, where the budget leaves room.
  void make_search_cache();
  /// A copy in host memory, of this part's vertices; its size is 0 where none has been made.
  NeighbourSample sample_on_host();
  /// Copies of the longest or shortest lists in device memory, `bytes` of them at most (-1: what the budget leaves beside
  /// kVertexBytes a vertex). Does nothing where there is a cache already or the edges are on the device. The longest give
  /// way when take() finds no room: views are taken after memory is.
  void make_cache(std::int64_t bytes, CacheOf kind = CacheOf::longest);
  /// Gives up the longest lists, for traversals that want others, or no others.
  void drop_longest();

  /// Another array along the edges, such as weights: placed as they are, and what of it belongs to the cached lists,
  /// at the same positions as their ids. Entries are 1, 2, 4 or 8 bytes. Not for parts.
  struct Along {
    const void* edges = nullptr;
    const void* cache = nullptr;  // null where nothing is cached
    std::shared_ptr<void> owner;
  };
  Along place_along(const Array<const std::byte>& values, int entry_bytes);

  /// Device memory for `count` entries under the budget, or Error{out_of_memory} that says for `what` it was.
  template <class T>
  Array<T> take(std::int64_t count, std::string_view what) {
    const auto bytes = count * static_cast<std::int64_t>(sizeof(T));
    auto owner = take_bytes(bytes, what, facts_.other_bytes);
    return {static_cast<T*>(owner.get()), count, device(), owner};
  }
  /// Gives such memory back. No work on the stream may use it any more.
  template <class T>
  void give_back(Array<T>& taken) {
    facts_.other_bytes -= taken.bytes();
    taken = {};
  }
  std::int64_t left() const { return facts_.budget - facts_.used(); }

  /// What an algorithm keeps between its calls, one of a type; made by its constructor from this graph.
  template <class W>
  W& work() {
    auto& kept = work_[std::type_index(typeid(W))];
    if (!kept) kept = std::make_shared<W>(*this);
    return *static_cast<W*>(kept.get());
  }

  /// Instrumented kernels add to counters on the device: set to 0, read (waits for the stream).
  void clear_counts();
  LinkCounts counts();

 private:
  Place device() const { return {Memory::device, static_cast<std::int16_t>(where().gpu)}; }
  std::shared_ptr<void> take_bytes(std::int64_t bytes, std::string_view what, std::int64_t& account);
  void copy_to(void* to, const void* from, std::int64_t bytes);
  void forget_cache();
  /// An array of the host (or any) where this graph's placement puts it.
  std::shared_ptr<void> place(const Array<const std::byte>& data, const Array<const std::byte>& whole,
                              const void** placed, std::int64_t& account);
  std::shared_ptr<void> lock(const void* data, std::int64_t bytes) const;

  std::shared_ptr<void> user_[2];  // the arrays that we were given: they outlive the locks on their pages
  OwnedStream stream_;
  GpuGraphFacts facts_;
  ListView view_;
  Array<const Offset> offsets_;      // on the device
  Array<const Offset> all_offsets_;  // of the whole graph, where they were given
  std::shared_ptr<void> edges_;
  Array<std::uint32_t> sample_;
  SampleOf sample_kind_ = SampleOf::highest_degree;
  int sample_asked_ = 0;
  NeighbourSample given_;  // of all vertices of the graph
  Array<Offset> list_begin_;
  Array<Index> cache_;
  CacheOf cache_kind_ = CacheOf::longest;
  std::int64_t searches_ = 0;
  Array<LinkCounts> counts_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> work_;
  std::mutex turn_;
};

/// The turn of a traversal that uses one graph or two (GpuGraph, GpuParts).
template <class Graph>
class GraphTurn {
 public:
  GraphTurn(Graph& a, std::type_identity_t<Graph>* b) : a_(a.turn(), std::defer_lock) {
    if (b && b != &a) {
      b_ = std::unique_lock<std::mutex>(b->turn(), std::defer_lock);
      std::lock(a_, b_);
    } else {
      a_.lock();
    }
  }

 private:
  std::unique_lock<std::mutex> a_, b_;
};

}  // namespace penstock
