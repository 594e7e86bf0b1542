#pragma once
#include <functional>
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
#include "penstock/graph/gpu/aside.hpp"
#include "penstock/graph/gpu/gpu_lists.hpp"
#include "penstock/graph/gpu/graph_room.hpp"
#include "penstock/graph/gpu/neighbour_sample.hpp"
#include "penstock/graph/gpu/pack_gpu.hpp"
#include "penstock/graph/gpu/packed_lists.hpp"
#include "penstock/schedule/gpu_room.hpp"

// Graphs whose edges may exceed a GPU, for traversals: offsets and data of vertices are on the device, edges are where there
// is room, and kernels read them in place (min-2020). The drivers of such traversals (*_cuda.cpp) are compiled with CUDA alone.
namespace penstock {

/// Arrays with fewer bytes share pages with others, so they are not locked in place, but copied to pinned memory.
inline constexpr std::int64_t kLockBytes = 32 << 20;
/// Which lists are cached: the longest, which many searches read again and again, or the shortest, which waste most of the
/// link. For a list of d ids and d weights of a byte, about 60 bytes more are read than the 5 d that are needed.
enum class CacheOf : std::uint8_t { longest, shortest };

struct GpuGraphOptions {
  int gpu = 0;
  std::optional<EdgePlacement> placement = {};     // empty: device if everything fits the budget, else pinned
  std::int64_t device_memory = 0;                  // the budget; 0: what is free less kGpuReserve
  std::int64_t first = 0, count = -1;              // the vertices whose lists it has; -1: all from `first` on
  NeighbourSample sample = {};                     // that of all vertices of the graph, if the caller has it
  std::shared_ptr<const PackedLists> packed = {};  // those of the graph, if the caller has them
  int distance_bytes =
      0;  // packed lists are for shortest paths, with distances of 4 or 8 bytes, which leave them more room
  bool predecessors = true;                               // for which these have room
  std::int64_t vertex_bytes = kVertexBytes;               // that packed lists leave for each vertex otherwise
  std::int64_t shared_vertex_bytes = kSharedVertexBytes;  // and those of a part, for each vertex of the graph
  // Of columns that travel together while the GPU packs lists; 0: what is fastest.
  std::int64_t piece_bytes = 0;
  // Packed lists get these lengths of the edges, if they are not given. Where the GPU cannot pack them, pack_here() does, which is
  // needed with lengths alone.
  PackLengths lengths = {};
  std::function<PackedLists()> pack_here = {};
  std::shared_ptr<const PackedSample> list_sample = {};  // sample_lists() of the graph, if the caller has it
};
/// Who packed the lists of a graph: it was given them, or they were packed while it was made.
enum class PackedBy : std::uint8_t { nobody, given, cpu, gpu };
struct GpuGraphFacts {
  int gpu = 0;
  EdgePlacement placement = EdgePlacement::pinned;
  std::int64_t vertices = 0, edges = 0;             // of this part
  std::int64_t first_vertex = 0, all_vertices = 0;  // the part's first, and how many the graph has
  std::int64_t budget = 0;  // bytes of device memory; the members below are parts of it that are taken
  std::int64_t offset_bytes = 0, edge_bytes = 0, sample_bytes = 0, cache_bytes = 0, other_bytes = 0;
  std::int64_t aside_bytes = 0;                    // that somebody else has allocated
  std::int64_t lasting_bytes = 0;                  // those of them that no call in progress gives back
  std::int64_t cached_edges = 0, table_bytes = 0;  // within cache_bytes: where each list is
  std::int64_t packed_bytes = 0, far_bytes = 0;    // of packed lists: all, and those in pinned memory
  std::int64_t near_vertices = 0;                  // the first ones, whose packed lists are on the GPU
  PackedBy packed_by = PackedBy::nobody;
  double pack_seconds = 0;  // that packing took, the edges' way to the GPU included if it packed them
  std::int64_t pack_link_bytes = 0;  // that went to the GPU for it
  PackSeconds pack_parts = {};       // if the GPU packed them
  bool lengths = false;              // packed lists have the lengths of the edges
  int sample_size = 0;
  SampleOf sample_kind = SampleOf::highest_degree;
  bool sample_given = false;  // whether the sample is that of the options, and was not made here
  double build_seconds = 0, sample_seconds = 0, cache_seconds = 0;

  /// What an algorithm can take at most, where make_room() is called first.
  std::int64_t room() const { return budget - offset_bytes - edge_bytes - lasting_bytes; }
  std::int64_t used() const {
    return offset_bytes + edge_bytes + sample_bytes + cache_bytes + other_bytes + aside_bytes;
  }
};

/// One graph, or the lists of a range of its vertices, for the traversals of one GPU. It is kept between them. One traversal
/// may use it at a time: it holds `turn()`.
class GpuGraph {
 public:
  /// Takes the arrays of a CSR matrix with as many rows as columns, which it shares. Throws Error{out_of_memory}, with the
  /// numbers, if the offsets or the wanted placement do not fit. A part needs offsets that the host can read.
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
  bool is_packed() const { return placement() == EdgePlacement::packed; }
  bool in_core() const {
    return placement() == EdgePlacement::device || (is_packed() && facts_.far_bytes == 0);
  }
  /// Bytes of lists that are read over the link, and those of an entry, on average.
  std::int64_t far_bytes() const {
    if (is_packed()) return facts_.far_bytes;
    return in_core() ? 0 : 4 * (edges() - facts_.cached_edges);
  }
  double far_entry_bytes() const {
    const auto lists = facts_.packed_bytes - facts_.offset_bytes;
    return is_packed() && edges() > 0 ? double(lists) / double(edges()) : 4.0;
  }
  /// The policy that Python calls "auto": aligned over the link, direct in device memory, packed for packed lists.
  Access best_access() const {
    return is_packed() ? Access::packed : in_core() ? Access::direct : Access::aligned;
  }
  /// The policy, or the best one. Throws Error{invalid_argument} if the lists are packed and it reads others, or vice versa.
  Access access_or_best(std::optional<Access> wanted) const;
  /// Throws Error{invalid_argument} if the lists are packed: `what` reads others.
  void require_lists(std::string_view what) const;
  GpuGraphFacts facts() const {
    auto facts = facts_;
    facts.aside_bytes = aside_.bytes(), facts.lasting_bytes = aside_.lasting();
    return facts;
  }
  const Array<const Offset>& offsets() const {
    return offsets_;
  }  // on the device; none if the lists are packed
  /// Where the edges are that it has, in the memory of the placement; null if the lists are packed. view().edges is as far before it as
  /// offsets say.
  const Index* edges_begin() const { return edges_begin_; }
  std::mutex& turn() { return turn_; }

  /// What kernels get. It is valid until the next make_*. Its counters are those of `counts()`.
  const ListView& view() const { return view_; }

  /// Makes a sample of `size` neighbours (4, 8 or 16 slots) of every vertex in device memory, by one ordered pass over the
  /// edges; or takes that of the options, if it has this size and kind. It is kept: if there is as large a sample of the same
  /// kind, the call does nothing. It has fewer slots, or none, if they do not fit beside what searches take for each vertex; what
  /// algorithms keep between their calls gives way. For a part, the offsets of the whole graph are on the device while the
  /// sample is made.
  void make_sample(int size, SampleOf kind);
  /// The same if any kind of sample is good. Does nothing if there is a sample, or for packed lists that are all on the GPU, which are
  /// asked themselves; otherwise takes that of the options, or the
  /// first neighbours.
  void make_any_sample(int size);
  /// Makes the sample that a search asks before it reads lists, when it is worth its time. The first search of a graph takes
  /// any sample, which costs one or two sectors of each list. The second one makes a sample of the neighbours of highest
  /// degree, by a pass over all edges; the first one with `best`. Packed lists that are all on the GPU are asked themselves:
  /// a sample took as long as two to five searches, and spared nothing (H100). `size` is as above.
  void make_search_sample(int size, bool best = false);
  /// From the second search on, caches the longest lists, if the budget leaves room. Call it when the search's memory is
  /// taken.
  void make_search_cache();
  /// The packed lists in host memory: those that were given or that the CPU packed, or a copy of those that the GPU packed. Null
  /// if the lists are not packed.
  std::shared_ptr<const PackedLists> packed_lists();
  /// A copy of the sample of this part's vertices in host memory. Its size is 0 if there is no sample.
  NeighbourSample sample_on_host();
  /// Copies the longest or shortest lists to device memory, at most `bytes` of them (-1: what the budget leaves beside
  /// kVertexBytes a vertex). Does nothing if there is a cache or if the edges are on the device. The longest lists are freed
  /// when take() finds no room, so take memory first, and views after that.
  void make_cache(std::int64_t bytes, CacheOf kind = CacheOf::longest);
  /// Memory for a neighbour of each vertex whose packed list is not on the GPU, of as many as there is room for, and whether somebody
  /// has filled it. It is freed when take() finds no room. Empty if all packed lists are on the GPU, or none are packed.
  struct FarLinks {
    Array<Index> links = {};
    std::int64_t first = 0;  // vertex
    bool made = false;
  };
  FarLinks& far_links();
  /// Frees the longest lists, for traversals that need other lists, or none.
  void drop_longest();

  /// Another array with an entry for each edge, such as weights. It is placed as the edges are, and the entries of cached
  /// lists are cached at the same positions as their ids. Entries have 1, 2, 4 or 8 bytes. Not for parts.
  struct Along {
    const void* edges = nullptr;
    const void* cache = nullptr;  // null if nothing is cached
    std::shared_ptr<void> owner;
  };
  Along place_along(const Array<const std::byte>& values, int entry_bytes);

  /// Device memory for `count` entries within the budget. Throws Error{out_of_memory}, which says that it was for `what`.
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
  std::int64_t left() const { return facts_.budget - facts_.used() - aside_.bytes(); }
  /// Frees what is only kept to save time until so many bytes are left, if they can be: the longest lists, what algorithms keep between
  /// their calls, the sample. Before an algorithm takes memory: references to kept work are not valid after it.
  void make_room(std::int64_t bytes) { make_room(bytes, bytes); }
  /// The same for an algorithm that has kept work, needs `more`, and `all` where that work goes, too.
  void make_room(std::int64_t more, std::int64_t all);
  /// Counts bytes that somebody else allocates as taken of the budget, until the result is destroyed, which may be after the graph. Throws
  /// as take() does.
  std::shared_ptr<void> set_aside(std::int64_t bytes, std::string_view what, bool lasts = false);

  /// What an algorithm keeps between its calls: one object of each type, which is constructed from this graph.
  template <class W>
  W& work() {
    if (auto* known = known_work<W>()) return *known;
    const auto before = facts_.other_bytes;
    try {
      auto made = std::make_shared<W>(*this);
      return *static_cast<W*>((work_[std::type_index(typeid(W))] = std::move(made)).get());
    } catch (...) {
      facts_.other_bytes = before;  // what it took is free again
      throw;
    }
  }
  /// That object, or null.
  template <class W>
  W* known_work() const {
    const auto found = work_.find(std::type_index(typeid(W)));
    return found == work_.end() ? nullptr : static_cast<W*>(found->second.get());
  }

  /// Sets the counters on the device to 0, to which instrumented kernels add, and reads them (waits for the stream).
  void clear_counts();
  LinkCounts counts();

 private:
  Place device() const { return {Memory::device, static_cast<std::int16_t>(where().gpu)}; }
  std::shared_ptr<void> take_bytes(std::int64_t bytes, std::string_view what, std::int64_t& account);
  void require_left(std::int64_t bytes, std::string_view what);
  void forget_sample();
  void copy_to(void* to, const void* from, std::int64_t bytes);
  void forget_cache();
  void forget_far_links();
  void fill_sample(SampleOf kind, int slots, bool given);
  void fill_cache(std::int64_t entries, CacheOf kind);
  void place_packed(const GpuGraphOptions& options, const Array<const Index>& edges);
  std::int64_t room_of_packed(const GpuGraphOptions& options, std::int64_t bytes) const;
  bool pack_there(const GpuGraphOptions& options, const Array<const Index>& edges);
  /// Puts an array of any memory where this graph's placement says. `placed` gets its address there.
  std::shared_ptr<void> place(const Array<const std::byte>& data, const Array<const std::byte>& whole,
                              const void** placed, std::int64_t& account);
  std::shared_ptr<void> lock(const void* data, std::int64_t bytes) const;

  std::shared_ptr<void> user_[2];  // the arrays that were given: they must outlive the locks on their pages
  OwnedStream stream_;
  GpuGraphFacts facts_;  // all but aside_bytes and lasting_bytes
  AsideBytes aside_;
  ListView view_;
  Array<const Offset> offsets_;      // on the device
  Array<const Offset> all_offsets_;  // of the whole graph, in the memory in which they were given
  std::shared_ptr<void> edges_;
  const Index* edges_begin_ = nullptr;
  std::shared_ptr<const PackedLists> packed_lists_;  // in host memory, if they are there
  std::optional<PackedOnGpu> packed_there_;          // if the GPU packed them
  std::shared_ptr<void> packed_[4];  // bases, heads, and words on the device; words in pinned memory
  Array<std::uint32_t> sample_;
  SampleOf sample_kind_ = SampleOf::highest_degree;
  int sample_asked_ = 0;
  std::int64_t search_vertex_bytes_ = kVertexBytes;  // that a sample leaves for searches
  NeighbourSample given_;  // the sample of the options, of all vertices of the graph
  Array<Offset> list_begin_;
  Array<Index> cache_;
  CacheOf cache_kind_ = CacheOf::longest;
  FarLinks far_links_;
  std::int64_t searches_ = 0;
  Array<LinkCounts> counts_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> work_;
  std::mutex turn_;
};

/// Holds the turn for a traversal that uses one graph or two (GpuGraph, GpuParts).
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
