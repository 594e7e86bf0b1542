// What a graph on a GPU keeps to save time, as far as the budget has room (gpu_graph.hpp): a sample of each vertex's neighbours, a cache of
// the longest or shortest lists, links of far vertices. The cache is chosen by a histogram of degrees, one bucket of which is cut by a search.
#include <algorithm>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/graph/gpu/compact.hpp"
#include "penstock/graph/gpu/gpu_graph.hpp"
#include "penstock/graph/gpu/gpu_graph_kernels.hpp"

namespace penstock {

void GpuGraph::make_sample(int size, SampleOf kind) {
  require(size == 4 || size == 8 || size == 16,
          "a sample holds 4, 8 or 16 neighbours of every vertex, not " + std::to_string(size));
  if (sample_asked_ >= size && sample_kind_ == kind) return;
  // The arrays of the vertices count once, also where they are there already.
  const bool part = vertices() < all_vertices();
  const auto most = facts().room() - counts_.bytes() -
                    (cache_kind_ == CacheOf::longest ? 0 : facts_.cache_bytes) -
                    (part ? kSharedVertexBytes * all_vertices() : 0);
  const auto fits = [&](std::int64_t left) {
    return choose_sample(vertices(), edges(), left, size, search_vertex_bytes_);
  };
  const bool given = given_.kind == kind && given_.size == fits(most);
  const bool degrees = part && kind == SampleOf::highest_degree && !given;
  const auto beside = degrees ? all_offsets_.bytes() : 0;
  const int slots = fits(most - beside);
  if (slots == 0) return;  // there may be more room later; another sample stays
  const ScopedTimer timer(&(facts_.sample_seconds = 0));
  forget_sample();
  make_room(4 * vertices() * slots + beside);
  try {
    fill_sample(kind, slots, given);
  } catch (...) {
    drain(stream());
    forget_sample();
    throw;
  }
  sample_asked_ = size;
}

void GpuGraph::fill_sample(SampleOf kind, int slots, bool given) {
  const bool part = vertices() < all_vertices();
  Array<Offset> all;
  if (part && kind == SampleOf::highest_degree && !given) {
    all = allocate<Offset>(all_offsets_.size, device());
    copy_to(all.data, all_offsets_.data, all_offsets_.bytes());
  }
  auto owner = take_bytes(vertices() * slots * 4, "the sample of neighbours", facts_.sample_bytes);
  sample_ = {static_cast<std::uint32_t*>(owner.get()), vertices() * slots, device(), owner};
  if (given) copy_to(sample_.data, given_.slots.data + first_vertex() * slots, sample_.bytes());
  else
    gpu::build_sample(view_,
                      part          ? all.data
                      : is_packed() ? nullptr
                                    : offsets_.data,
                      kind, sample_.data, slots, stream());
  synchronize(stream());
  facts_.sample_given = given, facts_.sample_kind = sample_kind_ = kind;
  view_.sample = sample_.data, view_.sample_size = facts_.sample_size = slots;
}

void GpuGraph::make_any_sample(int size) {
  if (!view_.sample && !(is_packed() && in_core()))
    make_sample(size, given_.size == size ? given_.kind : SampleOf::first);
}

void GpuGraph::make_search_sample(int size, bool best) {
  ++searches_;
  if (is_packed() && in_core()) return;
  best || searches_ > 1 ? make_sample(size, SampleOf::highest_degree) : make_any_sample(size);
}

void GpuGraph::make_search_cache() {
  if (searches_ < 2) return;
  try {
    const auto bytes = search_cache_bytes(vertices(), edges(), facts_.sample_bytes, left());
    if (bytes > 0) make_cache(bytes);
  } catch (const Error& e) {  // the memory of the budget is in use by somebody else
    if (e.code() != Errc::out_of_memory) throw;
  }
}

NeighbourSample GpuGraph::sample_on_host() {
  if (!view_.sample) return {};
  const auto slots = allocate<std::uint32_t>(sample_.size);
  copy_to(slots.data, sample_.data, sample_.bytes());
  return {view_.sample_size, sample_kind_, slots};
}

void GpuGraph::make_cache(std::int64_t bytes, CacheOf kind) {
  const auto n = vertices();
  const auto table = 8 * n;  // the bytes of list_begin
  const auto room = (bytes < 0 ? left() - kVertexBytes * n : std::min(bytes, left())) - table;
  if (in_core() || is_packed() || view_.list_begin || room < 4 || n == 0) return;
  const ScopedTimer timer(&facts_.cache_seconds);
  try {
    fill_cache(room / 4, kind);
  } catch (...) {
    drain(stream());
    forget_cache();
    throw;
  }
}

void GpuGraph::fill_cache(std::int64_t entries, CacheOf kind) {
  const auto n = vertices(), table = 8 * n;
  const auto per_bucket = allocate<unsigned long long>(gpu::kDegreeBuckets, device());
  fill_async(per_bucket.data, 0, per_bucket.bytes(), stream());
  gpu::count_degrees(view_, per_bucket.data, stream());
  std::vector<unsigned long long> edges(gpu::kDegreeBuckets);
  copy_to(edges.data(), per_bucket.data, per_bucket.bytes());

  const bool shortest = kind == CacheOf::shortest;
  const int step = shortest ? 1 : -1;
  gpu::HotLists hot{.bucket = shortest ? 0 : gpu::kDegreeBuckets - 1, .shortest = shortest};
  std::int64_t taken = 0;
  for (; hot.bucket >= 0 && hot.bucket < gpu::kDegreeBuckets; hot.bucket += step) {
    const auto more = std::int64_t(edges[std::size_t(hot.bucket)]);
    if (taken + more > entries) break;  // of this bucket, only the first lists fit
    taken += more;
  }
  auto owner = take_bytes(table, "the table of cached lists", facts_.cache_bytes);
  list_begin_ = {static_cast<Offset*>(owner.get()), n, device(), owner};
  facts_.table_bytes = table;
  const auto limit = allocate<Index>(1, device());
  const auto total = allocate<Offset>(1, device());
  const Index all = 0x7fffffff;
  copy_to(limit.data, &all, 4);
  if (hot.bucket >= 0 && hot.bucket < gpu::kDegreeBuckets) {
    gpu::hot_sizes(view_, hot, true, list_begin_.data, stream());
    gpu::scan(list_begin_.data, n, total.data, stream());
    gpu::first_beyond(view_, hot.bucket, list_begin_.data, entries - taken, limit.data, stream());
    copy_to(&hot.before, limit.data, 4);
  }
  gpu::hot_sizes(view_, hot, false, list_begin_.data, stream());
  gpu::scan(list_begin_.data, n, total.data, stream());
  copy_to(&facts_.cached_edges, total.data, 8);
  auto lists = take_bytes(4 * facts_.cached_edges, "the cached lists", facts_.cache_bytes);
  cache_ = {static_cast<Index*>(lists.get()), facts_.cached_edges, device(), lists};
  gpu::fill_cache(view_, hot, list_begin_.data, cache_.data, stream());
  synchronize(stream());
  view_.list_begin = list_begin_.data, view_.cache = cache_.data;
  cache_kind_ = kind;
}

void GpuGraph::drop_longest() {
  if (!view_.list_begin || cache_kind_ != CacheOf::longest) return;
  forget_cache();
}

void GpuGraph::forget_cache() {
  view_.list_begin = nullptr, view_.cache = nullptr;
  facts_.cache_bytes -= list_begin_.bytes() + cache_.bytes();
  facts_.cached_edges = facts_.table_bytes = 0;
  list_begin_ = {}, cache_ = {};
}

GpuGraph::FarLinks& GpuGraph::far_links() {
  constexpr std::int64_t kWorth = 1024;  // fewer are read as they are
  const auto count = std::min(vertices() - facts_.near_vertices, left() / 4);
  if (far_links_.links.data || !is_packed() || in_core() || count < kWorth) return far_links_;
  try {
    auto owner = take_bytes(4 * count, "links of far vertices", facts_.cache_bytes);
    far_links_ = {{static_cast<Index*>(owner.get()), count, device(), owner}, facts_.near_vertices, false};
  } catch (const Error& e) {  // the memory of the budget is in use by somebody else
    if (e.code() != Errc::out_of_memory) throw;
  }
  return far_links_;
}

void GpuGraph::forget_far_links() {
  facts_.cache_bytes -= far_links_.links.bytes();
  far_links_ = {};
}

void GpuGraph::forget_sample() {
  view_.sample = nullptr, view_.sample_size = 0;
  sample_ = {}, facts_.sample_bytes = 0, facts_.sample_size = 0;
  sample_asked_ = 0;
  facts_.sample_given = false;
}

}  // namespace penstock
