// Connected components and betweenness on a GPU.
#include <algorithm>

#include "penstock/bind/graph/graph_gpu.hpp"
#include "penstock/graph/betweenness/betweenness_parts.hpp"
#include "penstock/graph/cc/cc_gpu.hpp"

namespace penstock::bind {
namespace {

CcMethod cc_method(const std::string& text) {
  if (text == "auto" || text == "afforest") return CcMethod::afforest;
  require(text == "label_propagation",
          "method=\"" + text + "\" is unknown: choose auto, afforest or label_propagation");
  return CcMethod::label_propagation;
}

}  // namespace

CcGpuOptions cc_options(const std::string& method, const std::string& access, int sample, bool count) {
  return {.method = cc_method(method), .access = access_named(access), .sample = sample, .count = count};
}

nb::tuple as_tuple(const CcGpuResult& r, const CcGpuOptions& options) {
  nb::dict told;
  told["rounds"] = r.rounds, told["lists"] = r.lists, told["entries"] = r.entries, told["missed"] = r.missed;
  told["seconds"] = r.seconds, told["copy_seconds"] = r.copy_seconds;
  told["read"] = options.count ? nb::object(as_dict(r.requests)) : nb::object(nb::none());
  return nb::make_tuple(r.count, options.labels_to ? nb::none() : as_result(r.labels), told);
}

namespace {

/// The second result has the sources whose sums do not fit into double; the caller adds those. `run(graph, sources, options)`.
template <class Graph, class Run>
void def_betweenness(nb::module_& m, const char* name, Run run) {
  m.def(
      name,
      [run](BoundGraph<Graph>& g, const ReadArray<Index>& sources, bool endpoints, const std::string& access,
            bool cache, bool count, double scale) {
        if constexpr (have_cuda) {
          const BetweennessGpuOptions options{.endpoints = endpoints,
                                              .access = access_named(access),
                                              .cache = cache,
                                              .count = count,
                                              .scale = scale};
          const auto r = [&] {
            const nb::gil_scoped_release release;
            return run(*g.graph, span_of(sources), options);
          }();
          const auto left = allocate<Index>(std::ssize(r.left));
          std::copy(r.left.begin(), r.left.end(), left.data);
          nb::dict told;
          told["levels"] = r.levels, told["seconds"] = r.seconds, told["copy_seconds"] = r.copy_seconds;
          told["read"] = count ? nb::object(as_dict(r.requests)) : nb::object(nb::none());
          return nb::make_tuple(as_result(r.sums), as_result(left), told);
        } else {
          no_gpu_build("betweenness");
          return nb::make_tuple();
        }
      },
      nb::arg("graph"), nb::arg("sources"), nb::arg("endpoints"), nb::arg("access") = "auto",
      nb::arg("cache") = true, nb::arg("count") = false, nb::arg("scale") = 1.0,
      "(sums times scale, sources with too many paths for them, what was done)");
}

}  // namespace

void graph_gpu_components(nb::module_& m) {
  def_components<GpuGraph>(m, "components_gpu", [](auto& out, auto* in, const CcGpuOptions& options) {
    return connected_components_gpu(out, in, options);
  });
  m.def(
      "betweenness_vertex_bytes", [] { return kCentralityVertexBytes; },
      "Bytes of device memory that betweenness takes for each vertex.");
  m.def(
      "betweenness_part_bytes", [] { return nb::make_tuple(kCentralityPartBytes, kCentralitySharedBytes); },
      "The same over several GPUs: for each vertex of a part, and for each of the graph.");
  def_betweenness<GpuGraph>(m, "betweenness_gpu",
                            [](auto& g, auto... how) { return betweenness_gpu(g, how...); });
  def_betweenness<GpuParts>(m, "betweenness_parts",
                            [](auto& g, auto... how) { return betweenness_parts_gpu(g, how...); });
}

}  // namespace penstock::bind
