// Places the arrays of a graph within a budget of device memory (gpu_graph.hpp, min-2020): offsets go to the device; edges go
// to the device, stay in pinned host memory, or are managed, or lists are packed. What is left is for algorithms, and for what only saves
// time (gpu_graph_kept_cuda.cpp).
#include "penstock/graph/gpu/gpu_graph.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/graph/gpu/gpu_graph_kernels.hpp"

namespace penstock {
namespace {

std::string text(std::int64_t n) { return std::to_string(n); }

void check_graph(const Array<const Offset>& offsets, const Array<const Index>& edges) {
  require(offsets.size >= 1 && offsets.size - 1 <= 0x7fffffff,
          "a graph on a GPU has at most 2^31 - 1 vertices, not " + text(offsets.size - 1));
  require(edges.size >= 0, "a graph on a GPU: the edges are missing");
}

Array<const std::byte> bytes_of(const Array<const Index>& a) {
  return {reinterpret_cast<const std::byte*>(a.data), a.bytes(), a.place, a.owner};
}

bool for_searches(const GpuGraphOptions& options) {
  return options.distance_bytes == 0 && is_for_searches(options.vertex_bytes);
}

/// Pinned memory for a first result, which costs as much as a fifth of packing: its pages are touched and locked meanwhile, and the
/// search finds them among those that are kept (reuse_bytes).
std::jthread lock_result(std::int64_t bytes, Where where) {
  return std::jthread([=] {
    try {
      const UseDevice use(where);
      const ThreadsHere few(2);  // others read lists
      reuse_bytes(bytes, {Memory::pinned, 0});
    } catch (...) {  // a search says so, if it needs it
    }
  });
}

}  // namespace

GpuGraph::GpuGraph(const Array<const Offset>& offsets, const Array<const Index>& edges,
                   const GpuGraphOptions& options)
    : user_{offsets.owner, edges.owner},
      stream_(Where{options.gpu}),
      all_offsets_(offsets),
      given_(options.sample) {
  check_graph(offsets, edges);
  require(given_.slots.size == given_.size * (offsets.size - 1),
          "a sample of " + text(given_.slots.size) + " slots, " + text(given_.size) +
              " a vertex, is not of " + text(offsets.size - 1) + " vertices");
  const ScopedTimer timer(&facts_.build_seconds);
  const auto all = offsets.size - 1, first = options.first;
  const auto count = options.count < 0 ? all - first : options.count;
  require(first >= 0 && count >= 0 && first + count <= all,
          "vertices " + text(first) + " to " + text(first + count) + " reach beyond a graph of " + text(all));
  const bool part = count < all;
  require(!part || can_read(Where{}, offsets.place),
          "a part of a graph on a GPU needs offsets that the host reads");
  const auto base = part ? offsets.data[first] : 0;
  const auto own_offsets = offsets.slice(first, count + 1);
  const auto own = edges.slice(base, part ? offsets.data[first + count] - base : edges.size);
  facts_.gpu = options.gpu;
  facts_.vertices = count, facts_.first_vertex = first, facts_.all_vertices = all;
  facts_.edges = own.size;
  facts_.budget =
      options.device_memory > 0 ? options.device_memory : graph_budget(0, gpu_info(options.gpu).free_bytes);
  facts_.placement = graph_room({.vertices = count,
                                 .edges = own.size,
                                 .budget = facts_.budget,
                                 .placement = options.placement,
                                 .all_vertices = part ? all : -1,
                                 .shared_vertex = options.shared_vertex_bytes})
                         .placement;
  if (placement() == EdgePlacement::packed) {
    if (for_searches(options)) search_vertex_bytes_ = options.vertex_bytes;
    counts_ = take<LinkCounts>(1, "counters");
    view_ = {.vertices = vertices(), .counts = counts_.data};
    place_packed(options, edges);
    clear_counts();
    synchronize(stream());
    return;
  }
  if (own_offsets.place == device()) {
    offsets_ = own_offsets;
  } else {
    auto owner = take_bytes(own_offsets.bytes(), "the offsets of the lists", facts_.offset_bytes);
    copy_to(owner.get(), own_offsets.data, own_offsets.bytes());
    offsets_ = {static_cast<const Offset*>(owner.get()), own_offsets.size, device(), owner};
  }
  const void* placed = nullptr;
  edges_ = place(bytes_of(own), bytes_of(edges), &placed, facts_.edge_bytes);
  edges_begin_ = static_cast<const Index*>(placed);
  counts_ = take<LinkCounts>(1, "counters");
  view_ = {
      .vertices = vertices(), .offsets = offsets_.data, .edges = edges_begin_ - base, .counts = counts_.data};
  clear_counts();
  synchronize(stream());
}

/// The bytes that packed lists may take of what is left once their heads are placed, beside what searches take.
std::int64_t GpuGraph::room_of_packed(const GpuGraphOptions& options, std::int64_t bytes) const {
  if (options.distance_bytes > 0)
    return packed_path_room(vertices(), edges(), bytes,
                            path_vertex_bytes(options.distance_bytes, options.predecessors));
  const auto shared = vertices() < all_vertices() ? options.shared_vertex_bytes * all_vertices() : 0;
  return packed_list_room(vertices(), edges(), bytes - shared, options.vertex_bytes);
}

/// Packs on the GPU, which may use meanwhile what searches take for each vertex. Lists that the budget has no room for come back to
/// pinned memory. Returns false if only the CPU packs such lists, or if there is no room even for pieces.
bool GpuGraph::pack_there(const GpuGraphOptions& options, const Array<const Index>& edges) {
  std::string why;
  const auto heads = 4 * vertices() + 8 * ((vertices() + kPackedGroup - 1) / kPackedGroup + 1);
  const auto room = room_of_packed(options, left() - heads);
  if (room <= 0) return false;
  const auto ahead = first_vertex() == 0
                         ? lock_result(std::max(4, options.distance_bytes) * all_vertices(), where())
                         : std::jthread();
  try {
    packed_there_ = pack_lists_on(all_offsets_, edges, stream(),
                                  {.first = first_vertex(),
                                   .count = vertices(),
                                   .memory = left(),
                                   .words = room,
                                   .leaves_sample = for_searches(options),
                                   .piece_bytes = options.piece_bytes,
                                   .lengths = options.lengths,
                                   .far = true,
                                   .sample = vertices() == all_vertices() ? options.list_sample : nullptr},
                                  &why);
  } catch (const Error& e) {  // somebody else took the memory of the budget
    if (e.code() != Errc::out_of_memory) throw;
  }
  if (!packed_there_) return false;
  const auto& there = *packed_there_;
  facts_.offset_bytes += there.head_bytes(), facts_.edge_bytes += there.word_bytes();
  facts_.packed_bytes = there.bytes(), facts_.far_bytes = there.far_bytes();
  facts_.near_vertices = there.near_vertices;
  facts_.packed_by = PackedBy::gpu;
  facts_.pack_seconds = there.seconds, facts_.pack_link_bytes = there.link_bytes;
  facts_.pack_parts = there.parts;
  facts_.lengths = there.lengths;
  view_.packed = there.view();
  return true;
}

std::shared_ptr<const PackedLists> GpuGraph::packed_lists() {
  if (!packed_lists_ && packed_there_)
    packed_lists_ = std::make_shared<const PackedLists>(to_host(*packed_there_, stream()));
  return packed_lists_;
}

void GpuGraph::place_packed(const GpuGraphOptions& options, const Array<const Index>& edges) {
  auto lists = options.packed;
  facts_.packed_by = PackedBy::given;
  if (!lists) {
    if (!can_read(Where{}, all_offsets_.place) || !can_read(Where{}, edges.place))
      throw Error(
          Errc::not_accessible,
          "placement=\"packed\": the CPU looks at some of the lists, and cannot read them: give a matrix "
          "in host memory");
    if (pack_there(options, edges)) return;
    const CsrView<One> graph{.rows = all_vertices(),
                             .cols = all_vertices(),
                             .indptr = all_offsets_.data,
                             .indices = edges.data,
                             .count = edges.size};
    lists = std::make_shared<const PackedLists>(
        options.lengths.any() ? options.pack_here() : pack_lists(graph, first_vertex(), vertices()));
    facts_.packed_by = PackedBy::cpu, facts_.pack_seconds = lists->seconds;
  }
  if (vertices() == all_vertices()) packed_lists_ = lists;  // nobody asks parts for them
  require(lists->vertices == vertices() && lists->first == first_vertex() && lists->edges == this->edges(),
          "the packed lists are of " + text(lists->vertices) + " vertices from " + text(lists->first) +
              " on and " + text(lists->edges) + " edges, and the graph has " + text(vertices()) + " from " +
              text(first_vertex()) + " on and " + text(this->edges()));
  const auto put = [&](int i, const void* from, std::int64_t bytes, std::string_view what,
                       std::int64_t& account) {
    packed_[i] = take_bytes(bytes, what, account);
    copy_to(packed_[i].get(), from, bytes);
    return packed_[i].get();
  };
  auto p = lists->view();
  p.bases = static_cast<const std::uint64_t*>(
      put(0, lists->bases.data, lists->bases.bytes(), "the bases of packed lists", facts_.offset_bytes));
  p.heads = static_cast<const std::uint32_t*>(
      put(1, lists->heads.data, lists->heads.bytes(), "the heads of packed lists", facts_.offset_bytes));
  const auto room = room_of_packed(options, left());
  p.near_words =
      lists->prefix(for_searches(options) ? packed_near_room(vertices(), lists->words.bytes(), room) : room);
  const auto all = lists->words.size - kPackedPad;
  p.near = static_cast<const std::uint32_t*>(
      put(2, lists->words.data, 4 * (p.near_words + kPackedPad), "the packed lists", facts_.edge_bytes));
  p.far = nullptr;
  if (p.near_words < all) {
    const auto words = all - p.near_words + kPackedPad;
    packed_[3] = allocate_bytes(4 * words, {Memory::pinned, 0});
    copy_async(packed_[3].get(), lists->words.data + p.near_words, 4 * words,
               Stream{nullptr, Where{}});  // by the CPU's threads
    p.far = static_cast<const std::uint32_t*>(packed_[3].get()) - p.near_words;
    facts_.far_bytes = 4 * (all - p.near_words);
  }
  facts_.packed_bytes = lists->bytes();
  const auto ends = lists->bases.span();
  const auto groups =
      std::upper_bound(ends.begin(), ends.end(), std::uint64_t(p.near_words)) - ends.begin() - 1;
  facts_.near_vertices = std::clamp<std::int64_t>(groups * kPackedGroup, 0, vertices());
  facts_.lengths = lists->lengths;
  view_.packed = p;
}

Access GpuGraph::access_or_best(std::optional<Access> wanted) const {
  const auto access = wanted.value_or(best_access());
  require(
      (access == Access::packed) == is_packed(),
      is_packed()
          ? "access=\"" + std::string(name(access)) +
                "\" reads lists as they are, and those of placement=\"packed\" are packed: leave access out"
          : "access=\"packed\" reads packed lists: give placement=\"packed\" with it");
  return access;
}

void GpuGraph::require_lists(std::string_view what) const {
  require(!is_packed(),
          std::string(what) + " reads no packed lists yet: choose another placement than \"packed\"");
}

void GpuGraph::require_left(std::int64_t bytes, std::string_view what) {
  if (bytes > left()) drop_longest();
  if (bytes > left()) forget_far_links();
  if (bytes > left())
    throw Error(Errc::out_of_memory, std::string(what) + " of a graph of " + text(vertices()) +
                                         " vertices and " + text(edges()) + " edges take " + text(bytes) +
                                         " bytes on GPU " + text(where().gpu) + ", and " + text(left()) +
                                         " of its budget of " + text(facts_.budget) +
                                         " are left: raise device_memory, keep the edges in pinned memory, "
                                         "or use a smaller sample or cache");
}

std::shared_ptr<void> GpuGraph::take_bytes(std::int64_t bytes, std::string_view what, std::int64_t& account) {
  require_left(bytes, what);
  auto owner = allocate_bytes(bytes, device());
  account += bytes;
  return owner;
}

std::shared_ptr<void> GpuGraph::set_aside(std::int64_t bytes, std::string_view what, bool lasts) {
  require_left(bytes, what);
  return aside_.hold(bytes, lasts);
}

void GpuGraph::make_room(std::int64_t more, std::int64_t all) {
  if (more > left()) drop_longest();
  if (more > left()) forget_far_links();
  if (more <= left()) return;
  drain(stream());
  work_.clear();
  facts_.other_bytes = counts_.bytes();  // nothing else is taken between calls
  if (all > left()) forget_sample();
}

void GpuGraph::copy_to(void* to, const void* from, std::int64_t bytes) {
  copy_async(to, from, bytes, stream());
  synchronize(stream());
}

std::shared_ptr<void> GpuGraph::lock(const void* data, std::int64_t bytes) const {
  if (bytes == 0) return {};
  auto held = lock_pages(data, bytes);
  const auto* last = static_cast<const std::byte*>(data) + bytes - 1;
  const auto readable = [](const void* p) {
    const auto memory = place_of(p).memory;
    return memory == Memory::pinned || memory == Memory::managed;
  };
  if (!held && !(readable(data) && readable(last)))
    throw Error(Errc::not_accessible,
                "the pages of the edges cannot be locked, as others that overlap them are: use "
                "placement=\"host_alloc\"");
  return held;
}

/// `data` is all of `whole`, or a part of it. The pages of the whole are locked, once for all parts, because two parts may
/// share a page.
std::shared_ptr<void> GpuGraph::place(const Array<const std::byte>& data, const Array<const std::byte>& whole,
                                      const void** placed, std::int64_t& account) {
  const auto from = data.place;
  const auto bytes = data.bytes();
  *placed = data.data;
  if (placement() == EdgePlacement::device) {
    if (from == device()) return {};
    auto copy = take_bytes(bytes, "the edges", account);
    copy_to(copy.get(), data.data, bytes);
    return *placed = copy.get(), copy;
  }
  if (from.memory == Memory::device)
    throw Error(Errc::not_accessible,
                "the edges are in device memory: give placement=\"device\", or a matrix in host memory");
  const bool ordinary = from.memory == Memory::host || from.memory == Memory::mapped;
  if (placement() == EdgePlacement::pinned && !(ordinary && whole.size < kLockBytes))
    return lock(whole.data, whole.bytes());
  const bool managed =
      placement() == EdgePlacement::managed_read_mostly || placement() == EdgePlacement::managed_accessed_by;
  auto copy =
      allocate_bytes(bytes, managed ? Place{Memory::managed, device().ordinal} : Place{Memory::pinned, 0});
  copy_async(copy.get(), data.data, bytes, Stream{nullptr, Where{}});  // by the CPU's threads
  if (managed)
    advise(
        copy.get(), bytes,
        placement() == EdgePlacement::managed_read_mostly ? ManagedUse::read_mostly : ManagedUse::accessed_by,
        where());
  return *placed = copy.get(), copy;
}

GpuGraph::Along GpuGraph::place_along(const Array<const std::byte>& values, int entry_bytes) {
  require(entry_bytes == 1 || entry_bytes == 2 || entry_bytes == 4 || entry_bytes == 8,
          "values along edges take 1, 2, 4 or 8 bytes, not " + text(entry_bytes));
  require(values.size == edges() * entry_bytes, "values along edges: " + text(values.size) + " bytes for " +
                                                    text(edges()) + " edges of " + text(entry_bytes));
  require(vertices() == all_vertices(), "values along edges: a part of a graph has none");
  require_lists("what has values along edges");
  /// Its bytes leave the account when it is freed.
  struct Held {
    explicit Held(GpuGraphFacts& facts) : account(facts) {}
    ~Held() { account.edge_bytes -= edge_bytes, account.cache_bytes -= cache_bytes; }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    GpuGraphFacts& account;
    std::int64_t edge_bytes = 0, cache_bytes = 0;
    std::vector<std::shared_ptr<void>> owners;
  };
  Along out;
  auto held = std::make_shared<Held>(facts_);
  auto before = facts_.edge_bytes;
  held->owners.push_back(values.owner);
  held->owners.push_back(place(values, values, &out.edges, facts_.edge_bytes));
  held->edge_bytes = facts_.edge_bytes - before;
  if (view_.list_begin) {
    before = facts_.cache_bytes;
    held->owners.push_back(
        take_bytes(cache_.size * entry_bytes, "what belongs to the cached lists", facts_.cache_bytes));
    held->cache_bytes = facts_.cache_bytes - before;
    out.cache = held->owners.back().get();
    gpu::copy_along(view_, out.edges, held->owners.back().get(), entry_bytes, stream());
    synchronize(stream());
  }
  out.owner = held;
  return out;
}

void GpuGraph::clear_counts() { fill_async(counts_.data, 0, counts_.bytes(), stream()); }

LinkCounts GpuGraph::counts() {
  LinkCounts out;
  copy_to(&out, counts_.data, sizeof out);
  return out;
}

}  // namespace penstock
