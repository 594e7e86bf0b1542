// Counts triangles on a GPU, by two kernels over all lists (triangles_lists_gpu.cu).
#include "penstock/graph/triangles/triangles_gpu.hpp"

#include "penstock/core/reuse.hpp"
#include "penstock/graph/gpu/taken.hpp"
#include "penstock/graph/triangles/triangles_gpu_state.hpp"

namespace penstock {
namespace {

class Drained {
 public:
  explicit Drained(Stream stream) : stream_(stream) {}
  ~Drained() { drain(stream_); }
  Drained(const Drained&) = delete;
  Drained& operator=(const Drained&) = delete;

 private:
  Stream stream_;
};

}  // namespace

TrianglesGpuResult count_triangles_gpu(GpuGraph& g, const TrianglesGpuOptions& options) {
  const GraphTurn turn(g, nullptr);
  const auto n = g.vertices();
  // An access that is asked for is one to whole lists.
  const bool incoming = options.incoming && options.incoming->lists.size > 0 && !options.of_vertex &&
                        !options.count && !options.access;
  TrianglesGpuResult r;
  const Taken<gpu::TriangleCounts> counts(g, 1, "counters");
  const auto most = incoming ? gpu::most_incoming_chunks(n, g.edges()) : gpu::most_chunks(n, g.edges());
  const Taken<gpu::ListPiece> chunks(g, most, "the chunks of long lists");
  const Taken<unsigned long long> cells(g, options.of_vertex ? n : 0, "the triangles of the vertices");
  const bool turned = options.of_vertex && options.number;
  const Taken<unsigned long long> by_vertex(g, turned ? n : 0, "the triangles of the vertices");
  if (options.cache) g.make_cache(-1);
  const auto stream = g.stream();
  const Drained drained(stream);
  if (options.count) g.clear_counts();
  const OwnedEvent begin(stream.where, true), end(stream.where, true), copied(stream.where, true);
  fill_async(counts.data(), 0, counts.bytes(), stream);
  if (options.of_vertex) fill_async(cells.data(), 0, cells.bytes(), stream);
  record(begin, stream);
  const gpu::TriangleState state{.of_number = options.of_vertex && n > 0 ? cells.data() : nullptr,
                                 .chunks = chunks.data(),
                                 .counts = counts.data(),
                                 .order = options.number};
  if (incoming) {
    const auto& in = *options.incoming;
    gpu::count_incoming({n, g.view().offsets, g.view().edges, in.offsets.data, in.lists.data}, state, stream);
  } else {
    gpu::count_triangles(g.view(), state, g.access_or_best(options.access), options.count, stream);
  }
  if (turned) gpu::counts_of_vertices(cells.data(), options.number, n, by_vertex.data(), stream);
  record(end, stream);
  gpu::TriangleCounts found;
  copy_async(&found, counts.data(), sizeof found, stream);
  if (options.of_vertex) {
    // Pinned memory that is used again: the copy comes at the speed of the link.
    auto owner = reuse_bytes(cells.bytes(), {Memory::pinned, 0});
    r.of_number = {static_cast<std::int64_t*>(owner.get()), n, {Memory::pinned, 0}, owner};
    copy_async(r.of_number.data, turned ? by_vertex.data() : cells.data(), cells.bytes(), stream);
  }
  record(copied, stream);
  synchronize(stream);
  r.total = static_cast<std::int64_t>(found.total);
  r.seconds = seconds(begin, end), r.copy_seconds = seconds(end, copied);
  if (options.count) r.requests = g.counts();
  return r;
}

}  // namespace penstock
