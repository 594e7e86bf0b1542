// Traversals of one graph over several GPUs.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <vector>

#include "penstock/bind/graph/graph_gpu.hpp"
#include "penstock/bind/graph/graph_packed.hpp"
#include "penstock/graph/bfs/bfs_parts.hpp"
#include "penstock/graph/cc/cc_parts.hpp"

namespace penstock::bind {
namespace {

/// The facts of all parts together, under the names of one GPU's facts, and those of each part.
nb::dict facts([[maybe_unused]] const BoundGpuParts& g) {
  nb::dict d;
  if constexpr (have_cuda) {
    GpuGraphFacts sum;
    nb::list parts, gpus;
    bool alike = true;
    for (int i = 0; i < g.graph->count(); ++i) {
      const auto& f = g.graph->part(i).facts();
      if (i == 0)
        sum = GpuGraphFacts{.gpu = f.gpu,
                            .placement = f.placement,
                            .packed_by = f.packed_by,
                            .sample_size = f.sample_size,
                            .sample_kind = f.sample_kind};
      alike = alike && f.placement == sum.placement;
      sum.vertices += f.vertices, sum.edges += f.edges, sum.budget += f.budget;
      sum.offset_bytes += f.offset_bytes, sum.edge_bytes += f.edge_bytes, sum.sample_bytes += f.sample_bytes;
      sum.cache_bytes += f.cache_bytes, sum.other_bytes += f.other_bytes, sum.cached_edges += f.cached_edges;
      sum.aside_bytes += f.aside_bytes;
      sum.lasting_bytes += f.lasting_bytes;
      sum.packed_bytes += f.packed_bytes, sum.far_bytes += f.far_bytes;
      if (f.packed_by == PackedBy::cpu) sum.packed_by = PackedBy::cpu;
      sum.pack_seconds = std::max(sum.pack_seconds, f.pack_seconds);
      sum.pack_link_bytes += f.pack_link_bytes;
      auto& most = sum.pack_parts;
      const auto& own = f.pack_parts;
      most = {.prepare = std::max(most.prepare, own.prepare),
              .look = std::max(most.look, own.look),
              .send = std::max(most.send, own.send),
              .sample = std::max(most.sample, own.sample),
              .wait = std::max(most.wait, own.wait),
              .finish = std::max(most.finish, own.finish)};
      sum.sample_size = std::min(sum.sample_size, f.sample_size);
      sum.sample_given = i == 0 ? f.sample_given : sum.sample_given && f.sample_given;
      sum.build_seconds = std::max(sum.build_seconds, f.build_seconds);
      sum.sample_seconds = std::max(sum.sample_seconds, f.sample_seconds);
      sum.cache_seconds = std::max(sum.cache_seconds, f.cache_seconds);
      gpus.append(f.gpu);
      parts.append(as_dict(f));
      parts[std::size_t(i)]["first_vertex"] = f.first_vertex;
    }
    d = as_dict(sum);
    if (!alike) d["placement"] = "mixed";
    d["gpus"] = gpus, d["parts"] = parts;
  }
  return d;
}

/// One sample of all vertices, where all parts have samples of one kind.
nb::object sample_of([[maybe_unused]] BoundGpuParts& g) {
  NeighbourSample whole;
  if constexpr (have_cuda) {
    const nb::gil_scoped_release release;
    const GraphTurn turn(*g.graph, nullptr);
    Array<std::uint32_t> slots;
    for (int i = 0; i < g.graph->count(); ++i) {
      auto& part = g.graph->part(i);
      const auto own = part.sample_on_host();
      if (i == 0) {
        whole = {own.size, own.kind, {}};
        slots = allocate<std::uint32_t>(g.graph->vertices() * own.size);
      }
      if (own.size == 0 || own.size != whole.size || own.kind != whole.kind) {
        whole.size = 0;
        break;
      }
      std::copy(own.slots.data, own.slots.data + own.slots.size, slots.data + part.first_vertex() * own.size);
    }
    whole.slots = slots;
  }
  return as_object(whole);
}

}  // namespace

void graph_gpu_parts(nb::module_& m) {
  nb::class_<BoundGpuParts>(m, "GpuParts", "One graph over several GPUs: a range of its vertices on each.")
      .def("facts", facts)
      .def(
          "packed_lists",
          [](BoundGpuParts& g, int part) -> nb::object {
            std::shared_ptr<const PackedLists> lists;
            if constexpr (have_cuda) {
              require(part >= 0 && part < g.graph->count(),
                      "part " + std::to_string(part) + " of " + std::to_string(g.graph->count()));
              const nb::gil_scoped_release release;
              const GraphTurn turn(*g.graph, nullptr);
              lists = g.graph->part(part).packed_lists();
            }
            if (!lists) return nb::none();
            return nb::cast(BoundPackedLists(std::move(lists)));
          },
          nb::arg("part"), "A copy of those that a GPU packed of its range, in host memory; else None.")
      .def("sample", sample_of, "As of GpuGraph, of all vertices; None where the parts differ.");
  m.def(
      "gpu_parts",
      [](const Matrix& a, const std::vector<int>& gpus, const std::string& placement,
         std::int64_t device_memory, const BoundGpuParts* like, const nb::object& sample,
         std::int64_t vertex_bytes, std::int64_t shared_vertex_bytes) {
        const GpuGraphOptions each{.placement = placement_named(placement),
                                   .device_memory = device_memory,
                                   .sample = sample_from(sample),
                                   .vertex_bytes = vertex_bytes,
                                   .shared_vertex_bytes = shared_vertex_bytes};
        return make_graph<GpuParts>(a, gpus, each, like ? like->graph.get() : nullptr);
      },
      nb::arg("a"), nb::arg("gpus"), nb::arg("placement") = "auto", nb::arg("device_memory") = 0,
      nb::arg("like").none() = nb::none(), nb::arg("sample").none() = nb::none(),
      nb::arg("vertex_bytes") = kVertexBytes, nb::arg("shared_vertex_bytes") = kSharedVertexBytes,
      "device_memory is the budget of each GPU in bytes, 0 what is free; `like`: cut where that graph is; "
      "sample: as for gpu_graph; vertex_bytes, shared_vertex_bytes: what packed lists leave for each vertex "
      "of a "
      "part, and for each of the graph.");
  def_search<GpuParts>(m, "bfs_parts", [](auto& out, auto* in, Index source, const BfsGpuOptions& options) {
    return bfs_parts_gpu(out, in, source, options);
  });
  def_components<GpuParts>(m, "components_parts", [](auto& out, auto* in, const CcGpuOptions& options) {
    return cc_parts_gpu(out, in, options);
  });
}

}  // namespace penstock::bind
