// Samples of subgraphs on a GPU: what graph_neighbours.cpp binds, for arrays as addresses. The CPU is a device, too: GPU -1.
#include "penstock/bind/graph/graph.hpp"
#include "penstock/bind/on_gpu.hpp"
#include "penstock/graph/sample/device_graph.hpp"
#include "penstock/graph/sample/neighbours_gpu.hpp"
#include "penstock/graph/sample/walks_gpu.hpp"

namespace penstock::bind {
namespace {

using graph::DeviceGraph;
using graph::DeviceTable;

/// A graph, and the checks of its matrix.
struct BoundDeviceGraph {
  std::shared_ptr<DeviceGraph> graph;
  Guard guard;
};

BoundDeviceGraph device_graph(const Matrix& m, int gpu) {
  const nb::gil_scoped_release release;
  return std::visit(
      [&]<class V>(const Csr<V>& a) -> BoundDeviceGraph {
        if constexpr (std::is_same_v<V, Complex64> || std::is_same_v<V, Complex128>) {
          refuse_complex();
        } else {
          return {std::make_shared<DeviceGraph>(a, Where{gpu}), m.guard()};
        }
      },
      m.any(release));
}

/// Times where a GPU reads them: pinned arrays in place, and copies of others.
struct BoundTimes {
  graph::DeviceTimes times;
  ReadArray<std::int64_t> edges, seeds;  // those in place must stay
};

BoundTimes device_times(const ReadArray<std::int64_t>& edges, const ReadArray<std::int64_t>& seeds, int gpu,
                        std::uintptr_t stream_handle) {
  const Stream stream{reinterpret_cast<void*>(stream_handle), Where{gpu}};
  BoundTimes out{{}, edges, seeds};
  const auto there = [&](const ReadArray<std::int64_t>& some) -> Array<const std::int64_t> {
    const auto* const data = some.data();
    const auto n = static_cast<std::int64_t>(some.shape(0));
    const auto place = place_of(data);
    if (can_read(stream.where, place)) return {data, n, place, {}};
    const auto copy = graph::scratch<std::int64_t>(std::max<std::int64_t>(n, 1), stream);
    copy_async(copy.data, data, n * static_cast<std::int64_t>(sizeof *data), stream);
    return copy.slice(0, n);
  };
  const nb::gil_scoped_release release;
  const UseDevice use(stream.where);
  out.times = {there(edges), there(seeds)};
  synchronize(stream);
  return out;
}

/// A hop that stays on the device until all are there.
struct DeviceHop {
  graph::HopEdges edges;
  Stream stream;
};

void copy_to(std::uintptr_t to, const std::int64_t* from, std::int64_t n, Stream stream) {
  if (n > 0)
    copy_async(reinterpret_cast<void*>(to), from, n * static_cast<std::int64_t>(sizeof(std::int64_t)),
               stream);
}

DeviceHop bound_hop_on(const BoundDeviceGraph& m, const DeviceTable& from, std::int64_t first,
                       std::int64_t last, DeviceTable& to, std::int64_t fanout, bool replace, bool weighted,
                       std::uint64_t seed, std::uint64_t relation, const BoundTimes* times) {
  const auto& a = *m.graph;
  require(0 <= first && first <= last && last <= from.size(), "sample_hop_on: outside the table of vertices");
  require(a.rows == from.universe() && a.cols == to.universe() && from.disjoint() == to.disjoint(),
          "sample_hop_on: the tables are not for this matrix");
  require(!times || (times->times.edges.size == a.edges.size && from.disjoint()),
          "sample_hop_on: times are one an edge, for disjoint samples");
  m.guard.require_whole();
  const nb::gil_scoped_release release;
  const UseDevice use(a.where);
  const graph::HopOptions options{
      .fanout = fanout, .replace = replace, .weighted = weighted, .seed = seed, .relation = relation};
  return {
      graph::sample_hop_on(a, from, first, last, to, options, times ? times->times : graph::DeviceTimes{}),
      to.stream()};
}

void bound_walks_on(const BoundDeviceGraph& m, std::uintptr_t starts, std::int64_t n, bool wide, bool on_host,
                    std::int64_t length, double restart, bool weighted, double p, double q, bool symmetric,
                    std::uint64_t seed, std::uintptr_t out, bool out_on_host, std::uintptr_t stream_handle) {
  const auto& a = *m.graph;
  m.guard.require_whole();
  const graph::WalkOptions options{length, restart, weighted, p, q, symmetric, seed};
  const Stream stream{reinterpret_cast<void*>(stream_handle), a.where};
  auto* const to = reinterpret_cast<Index*>(out);
  const nb::gil_scoped_release release;
  const UseDevice use(a.where);
  const auto there = graph::scratch<Index>(out_on_host ? n * (length + 1) : 0, stream);
  const auto go = [&]<class Id>(const Id* from) {
    graph::random_walks_on(a, from, n, on_host, options, out_on_host ? there.data : to, stream);
  };
  if (wide) go(reinterpret_cast<const std::int64_t*>(starts));
  else go(reinterpret_cast<const std::int32_t*>(starts));
  if (!out_on_host || n == 0) return;
  copy_async(to, there.data, there.bytes(), stream);
  synchronize(stream);
}

void add_seeds_on(DeviceTable& t, std::uintptr_t ids, std::int64_t n, bool wide, bool on_host,
                  std::int64_t first_seed, std::int64_t expected) {
  const nb::gil_scoped_release release;
  const UseDevice use(t.stream().where);
  if (wide) t.add_seeds(reinterpret_cast<const std::int64_t*>(ids), n, on_host, first_seed, expected);
  else t.add_seeds(reinterpret_cast<const std::int32_t*>(ids), n, on_host, first_seed, expected);
}

}  // namespace

void graph_neighbours_gpu(nb::module_& m) {
  using nb::arg;
  nb::class_<BoundDeviceGraph>(m, "DeviceGraph", "A graph as a GPU samples it.")
      .def_prop_ro("has_largest",
                   [](const BoundDeviceGraph& m) {
                     const nb::gil_scoped_release release;
                     return m.graph->has_largest();
                   })
      .def(
          "keep_largest",
          [](BoundDeviceGraph& m, const ReadArray<double>& of_rows) {
            const Array<const double> given{
                of_rows.data(), static_cast<std::int64_t>(of_rows.shape(0)), {}, {}};
            const nb::gil_scoped_release release;
            m.graph->keep_largest(given);
          },
          arg("of_rows"), "Copies the largest weight of each row to the GPU.");
  m.def("device_graph", device_graph, arg("a"), arg("gpu"),
        "PlacementError for entries that the GPU cannot read. Offsets are copied to it.");
  nb::class_<DeviceTable>(
      m, "DeviceTable",
      "The vertices of a sample on a GPU, in the order in which they were found; all in the "
      "order of a stream.")
      .def(
          "__init__",
          [](DeviceTable* t, std::int64_t universe, bool disjoint, int gpu, std::uintptr_t stream) {
            new (t) DeviceTable(universe, disjoint, Stream{reinterpret_cast<void*>(stream), Where{gpu}});
          },
          arg("universe"), arg("disjoint"), arg("gpu"), arg("stream"))
      .def("add_seeds", add_seeds_on, arg("ids"), arg("n"), arg("wide"), arg("on_host"), arg("first_seed"),
           arg("expected"), "Seeds at an address, as int64, or as int32 unless `wide`.")
      .def_prop_ro("size", &DeviceTable::size)
      .def(
          "copy",
          [](const DeviceTable& t, std::uintptr_t vertices, std::uintptr_t seeds) {
            const nb::gil_scoped_release release;
            copy_to(vertices, t.vertices(), t.size(), t.stream());
            if (t.disjoint()) copy_to(seeds, t.seeds(), t.size(), t.stream());
          },
          arg("vertices"), arg("seeds"), "Queues copies to addresses of int64s.");
  nb::class_<BoundTimes>(m, "DeviceTimes", "Times of edges and of seeds where a GPU reads them.");
  m.def("device_times", device_times, arg("edges"), arg("seeds"), arg("gpu"), arg("stream"),
        "Arrays in pinned memory are read in place, others are copied; they must not change meanwhile.");
  nb::class_<DeviceHop>(m, "DeviceHop", "The edges of a hop on a GPU.")
      .def("__len__", [](const DeviceHop& h) { return h.edges.rows.size; })
      .def(
          "copy",
          [](const DeviceHop& h, std::uintptr_t rows, std::uintptr_t columns, std::uintptr_t edges) {
            const nb::gil_scoped_release release;
            copy_to(rows, h.edges.rows.data, h.edges.rows.size, h.stream);
            copy_to(columns, h.edges.columns.data, h.edges.columns.size, h.stream);
            copy_to(edges, h.edges.edges.data, h.edges.edges.size, h.stream);
          },
          arg("rows"), arg("columns"), arg("edges"), "Queues copies to addresses of int64s.");
  m.def("sample_hop_on", bound_hop_on, arg("a"), arg("table"), arg("first"), arg("last"), arg("into"),
        arg("fanout"), arg("replace"), arg("weighted"), arg("seed"), arg("relation"),
        arg("times").none() = nb::none(),
        "The edges drawn of the vertices [first, last), as sample_hop draws them.");
  m.def("random_walks_on", bound_walks_on, arg("a"), arg("starts"), arg("n"), arg("wide"), arg("on_host"),
        arg("length"), arg("restart"), arg("weighted"), arg("p"), arg("q"), arg("symmetric"), arg("seed"),
        arg("out"), arg("out_on_host"), arg("stream"),
        "The walks of random_walks, to an address of int32s; starts at address 0: every vertex.");
}

}  // namespace penstock::bind
