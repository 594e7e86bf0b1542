// Triangles on a GPU, over edges that the CPU or the GPU has oriented.
#include <nanobind/stl/optional.h>

#include <algorithm>

#include "penstock/bind/graph/graph_gpu.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/triangles/triangles_gpu.hpp"
#include "penstock/graph/triangles/triangles_orient_gpu.hpp"
#include "penstock/graph/triangles/triangles_packed_gpu.hpp"
#include "penstock/graph/triangles/triangles_parts.hpp"

namespace penstock::bind {
namespace {

nb::tuple as_tuple(const TrianglesGpuResult& r, const TrianglesGpuOptions& options) {
  nb::dict told;
  told["seconds"] = r.seconds, told["copy_seconds"] = r.copy_seconds;
  told["read"] = options.count ? nb::object(as_dict(r.requests)) : nb::object(nb::none());
  return nb::make_tuple(r.total, options.of_vertex ? as_result(r.of_number) : nb::none(), told);
}

/// `edges` says which vertex has which number.
nb::tuple triangles_of([[maybe_unused]] BoundGpuGraph& g, [[maybe_unused]] const OrientedEdges& edges,
                       [[maybe_unused]] const TrianglesGpuOptions& options) {
  if constexpr (have_cuda) {
    TrianglesGpuResult r;
    {
      const nb::gil_scoped_release release;
      require(edges.size() == g.graph->vertices(), "triangles: the oriented edges are of another graph");
      r = count_triangles_gpu(*g.graph, options);
      if (options.of_vertex && edges.vertex.size > 0) {
        const auto by_vertex = allocate<std::int64_t>(edges.size());
        parallel_ranges(edges.size(), 16 << 10, [&](std::int64_t first, std::int64_t last) {
          for (auto u = first; u < last; ++u) by_vertex.data[edges.vertex.data[u]] = r.of_number.data[u];
        });
        r.of_number = by_vertex;
      }
    }
    return as_tuple(r, options);
  } else {
    no_gpu_build("triangles");
  }
}

nb::tuple triangles_of([[maybe_unused]] BoundGpuGraph& g, [[maybe_unused]] const OrientedOnGpu& edges,
                       [[maybe_unused]] TrianglesGpuOptions options) {
  if constexpr (have_cuda) {
    TrianglesGpuResult r;
    {
      const nb::gil_scoped_release release;
      require(edges.lists.rows == g.graph->vertices() && edges.lists.nnz() == g.graph->edges(),
              "triangles: the oriented edges are of another graph");
      if (edges.number.size > 0) options.number = edges.number.data;
      options.incoming = &edges.incoming;
      r = count_triangles_gpu(*g.graph, options);
    }
    return as_tuple(r, options);
  } else {
    no_gpu_build("triangles");
  }
}

/// The number of each vertex in host memory; none where numbers are the vertices.
Array<const Index> numbers_of(const OrientedOnGpu& e) {
  if (e.number.size == 0) return {};
  const auto copy = allocate<Index>(e.number.size);
  const OwnedStream stream(Where{e.number.place.ordinal});
  copy_async(copy.data, e.number.data, copy.bytes(), stream);
  synchronize(stream);
  return copy;
}
/// Takes the lists to pinned memory, where several GPUs read them; what one GPU counts with besides goes.
void take_to_host(OrientedOnGpu& e) {
  if (e.lists.indptr.place.memory != Memory::device) return;
  const OwnedStream stream(Where{e.lists.indptr.place.ordinal});
  const auto offsets = allocate<Offset>(e.lists.indptr.size, {Memory::pinned});
  const auto ends = allocate<Index>(e.lists.indices.size, {Memory::pinned});
  copy_async(offsets.data, e.lists.indptr.data, offsets.bytes(), stream);
  copy_async(ends.data, e.lists.indices.data, ends.bytes(), stream);
  synchronize(stream);
  e.lists = {e.lists.rows, e.lists.cols, offsets, ends, {}};
  e.incoming = {};
}
Array<const Index> numbers_of(const OrientedEdges& e) {
  if (e.vertex.size == 0) return {};
  const auto number = allocate<Index>(e.vertex.size);
  parallel_ranges(e.size(), 16 << 10, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) number.data[e.vertex.data[u]] = Index(u);
  });
  return number;
}

template <class Edges>
nb::tuple triangles_over([[maybe_unused]] BoundGpuParts& g, [[maybe_unused]] const Edges& edges,
                         [[maybe_unused]] const TrianglesGpuOptions& options) {
  if constexpr (have_cuda) {
    TrianglesGpuResult r;
    {
      const nb::gil_scoped_release release;
      r = count_triangles_parts(*g.graph, options);
      const auto number = options.of_vertex ? numbers_of(edges) : Array<const Index>();
      if (number.size > 0) {
        require(number.size == r.of_number.size, "triangles: the oriented edges are of another graph");
        const auto by_vertex = allocate<std::int64_t>(number.size);
        parallel_ranges(number.size, 16 << 10, [&](std::int64_t first, std::int64_t last) {
          for (auto v = first; v < last; ++v) by_vertex.data[v] = r.of_number.data[number.data[v]];
        });
        r.of_number = by_vertex;
      }
    }
    return as_tuple(r, options);
  } else {
    no_gpu_build("triangles");
  }
}

template <class Edges>
void def_triangles(nb::module_& m, const char* lists) {
  m.def(
      "triangles_gpu",
      [](BoundGpuGraph& g, const Edges& edges, bool of_vertex, const std::string& access, bool cache,
         bool count) {
        return triangles_of(
            g, edges,
            TrianglesGpuOptions{
                .of_vertex = of_vertex, .access = access_named(access), .cache = cache, .count = count});
      },
      nb::arg("lists"), nb::arg("edges"), nb::arg("of_vertex"), nb::arg("access") = "auto",
      nb::arg("cache") = true, nb::arg("count") = false, lists);
  m.def(
      "triangles_parts",
      [](BoundGpuParts& g, const Edges& edges, bool of_vertex, const std::string& access, bool cache,
         bool count) {
        return triangles_over(
            g, edges,
            TrianglesGpuOptions{
                .of_vertex = of_vertex, .access = access_named(access), .cache = cache, .count = count});
      },
      nb::arg("lists"), nb::arg("edges"), nb::arg("of_vertex"), nb::arg("access") = "auto",
      nb::arg("cache") = true, nb::arg("count") = false,
      "The same over several GPUs, with a range of the lists on each.");
}

std::optional<OrientedOnGpu> oriented([[maybe_unused]] const Matrix& m, [[maybe_unused]] int gpu,
                                      [[maybe_unused]] std::int64_t memory, [[maybe_unused]] bool symmetric) {
  if constexpr (have_cuda) {
    const nb::gil_scoped_release release;
    const auto a = std::visit(
        [](const auto& any) {
          return Csr<One>{any.rows, any.cols, any.indptr, any.indices, {}};
        },
        m.any(release));
    const auto free = device_memory(Where{gpu}).free;
    const auto budget = std::min(graph_budget(memory, free), free);
    return orient_edges_gpu(a, {.gpu = gpu, .memory = budget, .symmetric = symmetric});
  } else {
    no_gpu_build("triangles");
  }
}

std::optional<OrientedOnGpu> oriented_packed([[maybe_unused]] const BoundGpuGraph& g,
                                             [[maybe_unused]] bool to_host) {
  if constexpr (have_cuda) {
    const nb::gil_scoped_release release;
    return orient_packed_gpu(*g.graph, to_host);
  } else {
    no_gpu_build("triangles");
  }
}

}  // namespace

void graph_gpu_triangles(nb::module_& m) {
  nb::class_<OrientedOnGpu>(m, "OrientedOnGpu",
                            "The edges of a graph, each once, in a GPU's memory or where it reads them.")
      .def_prop_ro(
          "lists", [](const OrientedOnGpu& e) { return Matrix(e.lists); },
          "Row u has the ends of number u, ascending.")
      .def_prop_ro(
          "numbers",
          [](const OrientedOnGpu& e) -> nb::object {
            const auto numbers = numbers_of(e);
            return numbers.size == 0 ? nb::object(nb::none()) : as_result(numbers);
          },
          "The number of each vertex, copied to host memory; None where numbers are the vertices.")
      .def(
          "take_to_host",
          [](OrientedOnGpu& e) {
            const nb::gil_scoped_release release;
            take_to_host(e);
          },
          "Moves the lists to pinned memory.")
      .def_ro("simple", &OrientedOnGpu::simple, "Whether the matrix was simple and symmetric as it came.")
      .def_prop_ro("facts", [](const OrientedOnGpu& e) {
        nb::dict d;
        d["renumbered"] = e.number.size > 0, d["simple"] = e.simple, d["bytes"] = e.bytes;
        d["incoming"] = e.incoming.lists.size > 0;
        d["upload_seconds"] = e.upload_seconds, d["seconds"] = e.seconds;
        return d;
      });
  m.def(
      "orient_edges_gpu", &oriented, nb::arg("a"), nb::arg("gpu") = 0, nb::arg("device_memory") = 0,
      nb::arg("symmetric") = false,
      "Of any square matrix, symmetric or not; None where device_memory (0: what is free) does not suffice.");
  m.def("orient_packed_gpu", &oriented_packed, nb::arg("graph"), nb::arg("to_host") = false,
        "Of the packed lists of a simple, symmetric graph, in its budget; in pinned memory where that has no "
        "room for them; None where it does not suffice at all.");
  m.def(
      "oriented_lists",
      [](const OrientedEdges& edges) {
        const nb::gil_scoped_release release;
        return Matrix(oriented_lists(edges));
      },
      nb::arg("edges"), "Row u has the ends of number u, ascending: what triangles_gpu reads.");
  def_triangles<OrientedEdges>(
      m, "(total, one count a vertex or None, what was done); lists: oriented_lists(edges) on a GPU");
  def_triangles<OrientedOnGpu>(
      m, "(total, one count a vertex or None, what was done); lists: edges.lists as a graph of that GPU");
}

}  // namespace penstock::bind
