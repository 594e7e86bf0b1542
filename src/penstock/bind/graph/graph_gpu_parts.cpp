// Traversals of one graph over several GPUs.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include "penstock/bind/graph/graph_gpu.hpp"
#include "penstock/core/config.hpp"
#include "penstock/graph/bfs/bfs_parts.hpp"
#include "penstock/graph/cc/cc_parts.hpp"

namespace penstock::bind {
namespace {

/// GpuParts as Python holds it, like BoundGpuGraph.
struct BoundGpuParts {
  std::shared_ptr<GpuParts> graph;
};

BoundGpuParts make_parts([[maybe_unused]] const Matrix& m, [[maybe_unused]] const std::vector<int>& gpus,
                         [[maybe_unused]] const GpuGraphOptions& each,
                         [[maybe_unused]] const BoundGpuParts* like) {
  if constexpr (have_cuda) {
    const nb::gil_scoped_release release;
    return {std::visit(
        [&](const auto& a) {
          require(a.rows == a.cols, "a graph is a square matrix");
          return std::make_shared<GpuParts>(a.indptr, a.indices, gpus, each,
                                            like ? like->graph.get() : nullptr);
        },
        m.any(release))};
  } else {
    no_gpu_build("traversals");
  }
}

/// The facts of all parts together, under the names of one GPU's facts, and those of each part.
nb::dict facts([[maybe_unused]] const BoundGpuParts& g) {
  nb::dict d;
  if constexpr (have_cuda) {
    GpuGraphFacts sum;
    nb::list parts, gpus;
    bool alike = true;
    for (int i = 0; i < g.graph->count(); ++i) {
      const auto& f = g.graph->part(i).facts();
      if (i == 0) sum = GpuGraphFacts{.gpu = f.gpu, .placement = f.placement, .sample_size = f.sample_size};
      alike = alike && f.placement == sum.placement;
      sum.vertices += f.vertices, sum.edges += f.edges, sum.budget += f.budget;
      sum.offset_bytes += f.offset_bytes, sum.edge_bytes += f.edge_bytes, sum.sample_bytes += f.sample_bytes;
      sum.cache_bytes += f.cache_bytes, sum.other_bytes += f.other_bytes, sum.cached_edges += f.cached_edges;
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

nb::tuple bfs_in_parts([[maybe_unused]] BoundGpuParts& out, [[maybe_unused]] BoundGpuParts* in,
                       [[maybe_unused]] Index source, [[maybe_unused]] const BfsGpuOptions& options) {
  if constexpr (have_cuda) {
    BfsGpuResult r;
    {
      const nb::gil_scoped_release release;
      r = bfs_parts_gpu(*out.graph, in ? in->graph.get() : nullptr, source, options);
    }
    return as_tuple(r, options);
  } else {
    no_gpu_build("traversals");
  }
}

nb::tuple components_in_parts([[maybe_unused]] BoundGpuParts& out, [[maybe_unused]] BoundGpuParts* in,
                              [[maybe_unused]] const CcGpuOptions& options) {
  if constexpr (have_cuda) {
    CcGpuResult r;
    {
      const nb::gil_scoped_release release;
      r = cc_parts_gpu(*out.graph, in ? in->graph.get() : nullptr, options);
    }
    return as_tuple(r, options);
  } else {
    no_gpu_build("traversals");
  }
}

}  // namespace

void graph_gpu_parts(nb::module_& m) {
  nb::class_<BoundGpuParts>(m, "GpuParts", "One graph over several GPUs: a range of its vertices on each.")
      .def("facts", facts)
      .def("sample", sample_of, "As of GpuGraph, of all vertices; None where the parts differ.");
  m.def(
      "gpu_parts",
      [](const Matrix& a, const std::vector<int>& gpus, const std::string& placement,
         std::int64_t device_memory, const BoundGpuParts* like, const nb::object& sample) {
        return make_parts(a, gpus,
                          {.placement = placement_named(placement),
                           .device_memory = device_memory,
                           .sample = sample_from(sample)},
                          like);
      },
      nb::arg("a"), nb::arg("gpus"), nb::arg("placement") = "auto", nb::arg("device_memory") = 0,
      nb::arg("like").none() = nb::none(), nb::arg("sample").none() = nb::none(),
      "device_memory is the budget of each GPU in bytes, 0 what is free; `like`: cut where that graph is; "
      "sample: as for "
      "gpu_graph.");
  m.def(
      "bfs_parts",
      [](BoundGpuParts& out, BoundGpuParts* in, Index source, const std::string& method,
         const std::string& access, int sample, bool predecessors, bool count) {
        return bfs_in_parts(out, in, source, bfs_options(method, access, sample, predecessors, count));
      },
      nb::arg("out"), nb::arg("incoming").none(), nb::arg("source"), nb::arg("method") = "auto",
      nb::arg("access") = "auto", nb::arg("sample") = 4, nb::arg("predecessors") = false,
      nb::arg("count") = false, "(levels, predecessors or None, what was done)");
  m.def(
      "components_parts",
      [](BoundGpuParts& out, BoundGpuParts* in, const std::string& method, const std::string& access,
         int sample,
         bool count) { return components_in_parts(out, in, cc_options(method, access, sample, count)); },
      nb::arg("out"), nb::arg("incoming").none(), nb::arg("method") = "auto", nb::arg("access") = "auto",
      nb::arg("sample") = 4, nb::arg("count") = false, "(count, labels, what was done)");
}

}  // namespace penstock::bind
