// Counts triangles over several GPUs (triangles_parts.hpp), by a host thread for each.
#include "penstock/graph/triangles/triangles_parts.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/gpu/gpu_team.hpp"
#include "penstock/graph/gpu/taken.hpp"
#include "penstock/graph/triangles/triangles_gpu_state.hpp"

namespace penstock {
namespace {

/// The memory of a part.
struct PartCounts {
  PartCounts(GpuGraph& g, std::int64_t most_chunks, bool each)
      : g(g),
        counts(g, 1, "counters"),
        chunks(g, most_chunks, "the chunks of long lists"),
        cells(g, each ? g.all_vertices() : 0, "the triangles of all vertices"),
        arrived(g, each ? g.vertices() : 0, "the triangles of the vertices") {}
  ~PartCounts() { drain(g.stream()); }
  PartCounts(const PartCounts&) = delete;
  PartCounts& operator=(const PartCounts&) = delete;

  GpuGraph& g;
  Taken<gpu::TriangleCounts> counts;
  Taken<gpu::ListPiece> chunks;
  Taken<unsigned long long> cells, arrived;
};

/// A part's lists as another GPU reads them.
class ListsFor {
 public:
  ListsFor(const GpuGraph& part, const GpuGraph& reader) : view_(part.view()), stream_(part.stream()) {
    view_.counts = reader.view().counts;
    if (part.where() == reader.where()) return;
    view_.list_begin = nullptr, view_.cache = nullptr;  // cached lists are where the others are, too
    view_.sample = nullptr, view_.sample_size = 0;
    const bool peers = enable_peer(reader.where(), part.where());
    const auto reaches = [&](const void* p) { return peers && peers_reach(p); };
    const auto n = part.vertices();
    auto& p = view_.packed;
    if (p.heads) {
      if (reaches(p.heads) && reaches(p.bases) && reaches(p.near)) return;
      p.heads = copy(p.heads, n);
      p.bases = copy(p.bases, (n + kPackedGroup - 1) / kPackedGroup + 1);
      p.near = copy(p.near, p.near_words + kPackedPad);
      return;
    }
    const bool far = part.placement() != EdgePlacement::device || part.edges() == 0;
    if (reaches(view_.offsets) && (far || reaches(part.edges_begin()))) return;
    view_.offsets = copy(view_.offsets, n + 1);
    const auto before = part.edges_begin() - view_.edges;
    if (!far) view_.edges = copy(part.edges_begin(), part.edges()) - before;
  }
  const ListView& view() const { return view_; }

 private:
  template <class T>
  const T* copy(const T* from, std::int64_t count) {
    const auto to = allocate<T>(count, {Memory::pinned});
    copy_async(to.data, from, to.bytes(), stream_);
    synchronize(stream_);
    owners_.push_back(to.owner);
    return to.data;
  }
  ListView view_;
  Stream stream_;
  std::vector<std::shared_ptr<void>> owners_;
};

/// On the way out, waits for what uses the objects that were made before it.
struct Ended {
  Stream stream;
  ~Ended() { drain(stream); }
};

struct Counted {
  explicit Counted(int members) : team(members), parts(std::size_t(members)), totals(std::size_t(members)) {}
  Team team;
  std::vector<std::unique_ptr<PartCounts>> parts;
  std::vector<std::int64_t> totals;
  TrianglesGpuResult
      result;  // written by the first member, except the counts, of which each writes its range
};

void count_part(Counted& all, GpuParts& g, int me, const TrianglesGpuOptions& options) {
  auto& own = *all.parts[std::size_t(me)];
  const auto stream = own.g.stream();
  const int members = g.count();
  const auto begin = Clock::now();
  const gpu::TriangleState state{
      .of_number = options.of_vertex && own.g.all_vertices() > 0 ? own.cells.data() : nullptr,
      .chunks = own.chunks.data(),
      .counts = own.counts.data()};
  fill_async(own.counts.data(), 0, own.counts.bytes(), stream);
  fill_async(own.cells.data(), 0, own.cells.bytes(), stream);
  gpu::TriangleCounts found;
  std::vector<std::unique_ptr<ListsFor>> lists;
  const Ended ended{stream};           // the kernels read the lists until the end
  for (int k = 0; k < members; ++k) {  // not all walk the lists of one GPU at once
    const auto& from = g.part((me + k) % members);
    lists.push_back(std::make_unique<ListsFor>(from, own.g));
    fill_async(&own.counts.data()->chunks, 0, 2 * sizeof(Index), stream);
    gpu::count_pair(lists.back()->view(), Index(from.first_vertex()), own.g.view(),
                    Index(own.g.first_vertex()), state, options.count, stream);
    if (me == 0) poll_interrupt();
  }
  copy_async(&found, own.counts.data(), sizeof found, stream);
  synchronize(stream);
  all.totals[std::size_t(me)] = static_cast<std::int64_t>(found.total);
  all.team.meet();
  const double seconds = since(begin);
  if (options.of_vertex) {
    const auto first = own.g.first_vertex(), count = own.g.vertices();
    for (int k = 1; k < members; ++k) {
      const auto& other = *all.parts[std::size_t((me + k) % members)];
      copy_async(own.arrived.data(), other.cells.data() + first, 8 * count, stream);
      gpu::add_counts(own.cells.data() + first, own.arrived.data(), count, stream);
    }
    copy_async(all.result.of_number.data + first, own.cells.data() + first, 8 * count, stream);
    synchronize(stream);
  }
  all.team.meet();  // from here on no member reads the memory of another
  if (me == 0) all.result.seconds = seconds, all.result.copy_seconds = since(begin) - seconds;
}

}  // namespace

TrianglesGpuResult count_triangles_parts(GpuParts& g, const TrianglesGpuOptions& options) {
  const GraphTurn turn(g, nullptr);
  Counted all(g.count());
  bool packed = true, raw = true;
  std::int64_t chunks = 1;
  for (int i = 0; i < g.count(); ++i) {
    const auto& part = g.part(i);
    const auto access = options.access ? part.access_or_best(options.access) : Access::aligned;
    require(access == Access::aligned || access == Access::packed,
            "triangles over several GPUs: access=\"" + std::string(name(access)) +
                "\" is for one GPU: choose \"aligned\" or \"packed\", or leave it out");
    (part.is_packed() ? raw : packed) = false;
    chunks = std::max(chunks, gpu::most_chunks(part.vertices(), part.edges()));
  }
  require(packed || raw, "triangles: the lists are packed on some GPUs only: choose one placement for all");
  for (int i = 0; i < g.count(); ++i) {
    auto& part = g.part(i);
    const auto counted = options.of_vertex ? 8 * (part.all_vertices() + part.vertices()) : 0;
    part.make_room(counted + 8 * chunks + std::int64_t(sizeof(gpu::TriangleCounts)));
    all.parts[std::size_t(i)] = std::make_unique<PartCounts>(part, chunks, options.of_vertex);
    if (options.cache) part.make_cache(-1);
    if (options.count) part.clear_counts(), synchronize(part.stream());
  }
  if (options.of_vertex) {
    const auto n = g.vertices();
    auto owner = reuse_bytes(8 * n, {Memory::pinned, 0});
    all.result.of_number = {static_cast<std::int64_t*>(owner.get()), n, {Memory::pinned, 0}, owner};
  }
  all.team.run([&](int me) {
    try {
      count_part(all, g, me, options);
    } catch (...) {
      drain(g.part(me).stream());
      throw;
    }
  });
  for (const auto total : all.totals) all.result.total += total;
  for (int i = 0; options.count && i < g.count(); ++i)
    for (int k = 0; k < 4; ++k) all.result.requests.requests[k] += g.part(i).counts().requests[k];
  return std::move(all.result);
}

}  // namespace penstock
