// Traversals on a GPU of graphs that may exceed its memory.
#include "penstock/bind/graph/graph_gpu.hpp"

#include "penstock/bind/graph/graph_packed.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/bfs/bfs_gpu.hpp"
#include "penstock/graph/sssp/packed_paths.hpp"

namespace penstock::bind {

void no_gpu_build(const std::string& task) { no_cuda(task + " on a GPU (device=\"cpu\" needs none)"); }

nb::dict as_dict(const GpuGraphFacts& f) {
  nb::dict d;
  d["gpu"] = f.gpu, d["placement"] = std::string(name(f.placement));
  d["vertices"] = f.vertices, d["edges"] = f.edges, d["budget"] = f.budget, d["used_bytes"] = f.used();
  d["room_bytes"] = f.room();
  d["offset_bytes"] = f.offset_bytes, d["edge_bytes"] = f.edge_bytes, d["sample_bytes"] = f.sample_bytes;
  d["cache_bytes"] = f.cache_bytes, d["table_bytes"] = f.table_bytes, d["other_bytes"] = f.other_bytes;
  d["aside_bytes"] = f.aside_bytes;
  d["lasting_bytes"] = f.lasting_bytes;
  d["sample_kind"] = f.sample_size > 0 ? nb::cast(std::string(name(f.sample_kind))) : nb::object(nb::none());
  d["sample_size"] = f.sample_size, d["sample_given"] = f.sample_given, d["cached_edges"] = f.cached_edges;
  d["packed_bytes"] = f.packed_bytes, d["far_bytes"] = f.far_bytes, d["lengths"] = f.lengths;
  const char* const packers[] = {nullptr, nullptr, "cpu", "gpu"};
  d["packed_by"] = packers[static_cast<int>(f.packed_by)], d["pack_seconds"] = f.pack_seconds;
  d["pack_link_bytes"] = f.pack_link_bytes;
  nb::dict parts;
  parts["prepare"] = f.pack_parts.prepare, parts["look"] = f.pack_parts.look,
  parts["send"] = f.pack_parts.send;
  parts["sample"] = f.pack_parts.sample, parts["wait"] = f.pack_parts.wait;
  parts["finish"] = f.pack_parts.finish;
  d["pack_parts"] = parts;
  d["build_seconds"] = f.build_seconds, d["sample_seconds"] = f.sample_seconds,
  d["cache_seconds"] = f.cache_seconds;
  return d;
}

namespace {

BfsMethod bfs_method(const std::string& text) {
  if (text == "auto") return BfsMethod::automatic;
  if (text == "top_down") return BfsMethod::top_down;
  require(text == "level_synchronous",
          "method=\"" + text + "\" is unknown: choose auto, top_down or level_synchronous");
  return BfsMethod::level_synchronous;
}

}  // namespace

BfsGpuOptions bfs_options(const std::string& method, const std::string& access, int sample, bool predecessors,
                          bool count) {
  return {.method = bfs_method(method),
          .access = access_named(access),
          .sample = sample,
          .predecessors = predecessors,
          .count = count};
}

nb::tuple as_tuple(const BfsGpuResult& r, const BfsGpuOptions& options) {
  nb::list steps;
  for (const auto& s : r.steps) {
    nb::dict step;
    step["kind"] = std::string(kBfsStepKinds[static_cast<int>(s.kind)]);
    step["first_level"] = s.first_level, step["levels"] = s.levels;
    step["frontier"] = s.frontier, step["edges"] = s.edges, step["open"] = s.open;
    step["seconds"] = s.seconds;
    steps.append(step);
  }
  nb::dict told;
  told["steps"] = steps, told["reached"] = r.reached, told["depth"] = r.depth, told["missed"] = r.missed;
  told["seconds"] = r.seconds, told["copy_seconds"] = r.copy_seconds;
  told["read"] = options.count ? nb::object(as_dict(r.requests)) : nb::object(nb::none());
  const bool tree = options.predecessors && !options.predecessors_to;
  return nb::make_tuple(options.levels_to ? nb::none() : as_result(r.levels),
                        tree ? as_result(r.predecessors) : nb::none(), told);
}

namespace {

nb::tuple search_many([[maybe_unused]] BoundGpuGraph& out, [[maybe_unused]] BoundGpuGraph* in,
                      [[maybe_unused]] const ReadArray<Index>& sources,
                      [[maybe_unused]] const BfsGpuOptions& options) {
  if constexpr (have_cuda) {
    const auto n = out.graph->vertices();
    const std::size_t k = sources.shape(0);
    Array<Index> levels;
    BfsManyResult r;
    {
      const nb::gil_scoped_release release;
      if (!options.levels_to) {
        auto owner = reuse_bytes(std::int64_t(k) * n * 4, {Memory::pinned, 0});
        levels = {static_cast<Index*>(owner.get()), std::int64_t(k) * n, {Memory::pinned, 0}, owner};
      }
      r = bfs_many_gpu(*out.graph, in ? in->graph.get() : nullptr, span_of(sources), levels.data, options);
    }
    nb::dict told;
    told["passes"] = r.passes, told["batch"] = r.batch;
    told["seconds"] = r.seconds, told["copy_seconds"] = r.copy_seconds;
    told["read"] = options.count ? nb::object(as_dict(r.requests)) : nb::object(nb::none());
    if (options.levels_to) return nb::make_tuple(nb::none(), told);
    return nb::make_tuple(as_result(levels).attr("reshape")(k, n), told);
  } else {
    no_gpu_build("traversals");
  }
}

nb::dict graph_room_of(std::int64_t vertices, std::int64_t edges, std::int64_t device_memory,
                       std::int64_t free_bytes, const std::string& placement, std::int64_t all_vertices,
                       std::int64_t packed_bytes, std::int64_t head_bytes, int sample, bool cache,
                       std::int64_t along_bytes, int distance_bytes, bool predecessors,
                       std::int64_t vertex_bytes, std::int64_t shared_vertex_bytes) {
  const auto budget = graph_budget(device_memory, free_bytes);
  const auto room = graph_room({.vertices = vertices,
                                .edges = edges,
                                .budget = budget,
                                .placement = placement_named(placement),
                                .all_vertices = all_vertices,
                                .packed_bytes = packed_bytes,
                                .head_bytes = head_bytes,
                                .sample = sample,
                                .cache = cache,
                                .each_vertex = vertex_bytes,
                                .shared_vertex = shared_vertex_bytes,
                                .along_bytes = along_bytes,
                                .distance_bytes = distance_bytes,
                                .predecessors = predecessors});
  nb::dict d;
  d["placement"] = std::string(name(room.placement)), d["budget"] = budget;
  d["offset_bytes"] = room.offset_bytes, d["list_bytes"] = room.list_bytes, d["far_bytes"] = room.far_bytes;
  d["sample_bytes"] = room.sample_bytes, d["cache_bytes"] = room.cache_bytes, d["sample_size"] = room.sample;
  d["vertex_bytes"] = room.vertex_bytes, d["used_bytes"] = room.used();
  return d;
}

}  // namespace

void graph_gpu(nb::module_& m) {
  nb::class_<BoundGpuGraph>(
      m, "GpuGraph", "What traversals of one graph on one GPU share: where its edges are, samples of them.")
      .def("facts", [](const BoundGpuGraph& g) { return as_dict(g.graph->facts()); })
      .def(
          "make_sample",
          [](BoundGpuGraph& g, int size, const std::string& kind) {
            const auto of = sample_named(kind);
            if constexpr (have_cuda) {
              const nb::gil_scoped_release release;
              const GraphTurn turn(*g.graph, nullptr);
              g.graph->make_sample(size, of);
            }
          },
          nb::arg("size") = 4, nb::arg("kind") = "highest_degree",
          "Keeps 4, 8 or 16 neighbours of every vertex in device memory, fewer where they do not fit.")
      .def(
          "sample",
          [](BoundGpuGraph& g) {
            NeighbourSample sample;
            if constexpr (have_cuda) {
              const nb::gil_scoped_release release;
              const GraphTurn turn(*g.graph, nullptr);
              sample = g.graph->sample_on_host();
            }
            return as_object(sample);
          },
          "(slots a vertex, kind, slots) copied to host memory, or None where none has been made.")
      .def(
          "packed_lists",
          [](BoundGpuGraph& g) -> nb::object {
            std::shared_ptr<const PackedLists> lists;
            if constexpr (have_cuda) {
              const nb::gil_scoped_release release;
              const GraphTurn turn(*g.graph, nullptr);
              lists = g.graph->packed_lists();
            }
            if (!lists) return nb::none();
            return nb::cast(BoundPackedLists(std::move(lists)));
          },
          "Its packed lists in host memory, copied if the GPU packed them; None where they are not packed.")
      .def(
          "make_cache",
          [](BoundGpuGraph& g, std::int64_t bytes) {
            if constexpr (have_cuda) {
              const nb::gil_scoped_release release;
              const GraphTurn turn(*g.graph, nullptr);
              g.graph->make_cache(bytes);
            }
          },
          nb::arg("bytes") = -1,
          "Keeps the longest lists in device memory; -1: as many as the budget has room for.");
  m.def(
      "gpu_graph",
      [](const Matrix& a, int gpu, const std::string& placement, std::int64_t device_memory,
         const nb::object& sample, const BoundPackedLists* packed, int distance_bytes,
         std::int64_t piece_bytes, std::int64_t vertex_bytes, const PathWeights* weights,
         const BoundListSample* list_sample, bool predecessors) {
        GpuGraphOptions options{.gpu = gpu,
                                .placement = placement_named(placement),
                                .device_memory = device_memory,
                                .sample = sample_from(sample),
                                .packed = packed ? packed->any() : nullptr,
                                .distance_bytes = distance_bytes,
                                .predecessors = predecessors,
                                .vertex_bytes = vertex_bytes,
                                .piece_bytes = piece_bytes};
        if (list_sample) options.list_sample = list_sample->sample;
        if (weights) {
          options.lengths = lengths_to_pack(*weights);
          options.pack_here = [edges = edges_of(a), weights = *weights] {
            return pack_weights(pack_lists(edges), edges, weights);
          };
        }
        return make_graph<GpuGraph>(a, options);
      },
      nb::arg("a"), nb::arg("gpu") = 0, nb::arg("placement") = "auto", nb::arg("device_memory") = 0,
      nb::arg("sample").none() = nb::none(), nb::arg("packed").none() = nb::none(),
      nb::arg("distance_bytes") = 0, nb::arg("piece_bytes") = 0, nb::arg("vertex_bytes") = kVertexBytes,
      nb::arg("weights").none() = nb::none(), nb::arg("list_sample").none() = nb::none(),
      nb::arg("predecessors") = true,
      "device_memory is the budget in bytes, 0 what is free; sample: of sample_neighbours(a), used where a "
      "traversal wants one of this size and kind; packed: pack_lists(a), for placement=\"packed\", which are "
      "made otherwise, by the GPU from pieces of so many bytes of columns (0: what is fastest); paths: these "
      "are for shortest paths alone, which leave more room for them, and with predecessors=False yet more; "
      "vertex_bytes: what packed lists leave "
      "for each vertex; weights: path_weights(a), which are packed with the lists; list_sample: "
      "sample_lists(a), "
      "if somebody has looked.");
  m.def(
      "search_vertex_bytes", [](bool predecessors) { return predecessors ? kVertexBytes : kLeanVertexBytes; },
      nb::arg("predecessors"), "What searches take on a GPU for each vertex, and components without.");
  m.def("cut_list_bytes", cut_list_bytes, nb::arg("edges"),
        "What searches of so many edges take on a GPU for pieces of long lists.");
  m.def("gpu_graph_room", graph_room_of, nb::arg("vertices"), nb::arg("edges"), nb::arg("device_memory"),
        nb::arg("free_bytes"), nb::kw_only(), nb::arg("placement") = "auto", nb::arg("all_vertices") = -1,
        nb::arg("packed_bytes") = 0, nb::arg("head_bytes") = 0, nb::arg("sample") = 0,
        nb::arg("cache") = false, nb::arg("along_bytes") = 0, nb::arg("distance_bytes") = 0,
        nb::arg("predecessors") = true, nb::arg("vertex_bytes") = kVertexBytes,
        nb::arg("shared_vertex_bytes") = kSharedVertexBytes,
        "What a graph, or a part of one of all_vertices, and a search of it take on a GPU, by the function "
        "that "
        "places graphs: bytes of offsets (or heads of packed lists), of lists there, of lists that are read "
        "over "
        "the link (far_bytes), of sample, cache and arrays of vertices.");
  def_search<GpuGraph>(m, "bfs_gpu", [](auto& out, auto* in, Index source, const BfsGpuOptions& options) {
    return bfs_gpu(out, in, source, options);
  });
  m.def(
      "bfs_many_gpu",
      [](BoundGpuGraph& out, BoundGpuGraph* in, const ReadArray<Index>& sources, const std::string& method,
         const std::string& access, int sample, bool count, const GivenMemory& to) {
        auto options = bfs_options(method, access, sample, false, count);
        options.levels_to = result_to(to);
        return search_many(out, in, sources, options);
      },
      nb::arg("out"), nb::arg("incoming").none(), nb::arg("sources"), nb::arg("method") = "auto",
      nb::arg("access") = "auto", nb::arg("sample") = 4, nb::arg("count") = false,
      nb::arg("to").none() = nb::none(),
      "(levels of shape (k, n), what was done); to: memory on the GPU for the levels, which are then None");
}

}  // namespace penstock::bind
