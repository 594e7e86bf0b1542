// Shortest paths on a GPU.
#include "penstock/bind/graph/graph_gpu.hpp"

#include "penstock/graph/sssp/sssp_gpu.hpp"

namespace penstock::bind {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

SsspMethod sssp_method(const std::string& text) {
  if (text == "auto" || text == "near_far") return SsspMethod::near_far;
  require(text == "bellman_ford",
          "method=\"" + text + "\" is unknown: choose auto, near_far or bellman_ford");
  return SsspMethod::bellman_ford;
}

/// As with_real, for kernels: any memory that the graph's GPU reads.
template <class F>
nb::tuple with_lengths(const Matrix& m, F&& f) {
  return std::visit(
      [&]<class V>(const Csr<V>& a) -> nb::tuple {
        if constexpr (std::is_same_v<V, Complex64> || std::is_same_v<V, Complex128>) refuse_complex();
        else return f(a);
      },
      m.any());
}

template <class T>
nb::dict told_of(const SsspGpuResult<T>& r, bool counted) {
  nb::list steps;
  for (const auto& s : r.steps) {
    nb::dict step;
    step["kind"] = std::string(kSsspStepKinds[static_cast<int>(s.kind)]);
    step["nearest"] = s.nearest, step["pending"] = s.pending, step["vertices"] = s.vertices;
    step["edges"] = s.edges, step["link_edges"] = s.link_edges;
    steps.append(step);
  }
  nb::dict told;
  told["steps"] = steps, told["delta"] = r.delta, told["weight_bytes"] = r.weight_bytes;
  told["prepare_seconds"] = r.prepare_seconds, told["seconds"] = r.seconds;
  told["tree_seconds"] = r.tree_seconds, told["copy_seconds"] = r.copy_seconds;
  told["read"] = counted ? nb::object(as_dict(r.requests)) : nb::object(nb::none());
  return told;
}

nb::tuple paths_on_gpu([[maybe_unused]] BoundGpuGraph& g, [[maybe_unused]] const Matrix& m,
                       [[maybe_unused]] const PathWeights& weights,
                       [[maybe_unused]] const ReadArray<Index>& sources,
                       [[maybe_unused]] const SsspGpuOptions& options) {
  if constexpr (have_cuda) {
    return with_lengths(m, [&]<class V>(const Csr<V>& a) {
      SsspGpuResult<Distance<V>> r;
      {
        const nb::gil_scoped_release release;
        r = sssp_gpu(*g.graph, a, weights, span_of(sources), options);
      }
      const bool tree = options.predecessors && !options.predecessors_to;
      return nb::make_tuple(options.distances_to ? nb::object(nb::none()) : as_result(r.distances),
                            tree ? as_result(r.predecessors) : nb::object(nb::none()),
                            told_of(r, options.count));
    });
  } else {
    no_gpu_build("shortest paths");
  }
}

}  // namespace

void graph_gpu_paths(nb::module_& m) {
  m.def(
      "symmetric_weights",
      [](const Matrix& m) {
        return with_real(m, [](const auto& a) {
          const nb::gil_scoped_release release;
          return symmetric_weights(a);
        });
      },
      nb::arg("a"), "Whether every (i, j) has as many (j, i) of the same value.");
  m.def(
      "sssp_gpu",
      [](BoundGpuGraph& g, const Matrix& a, const PathWeights& weights, const ReadArray<Index>& sources,
         const std::string& method, const std::string& access, double delta, double limit, bool predecessors,
         bool symmetric, std::int64_t cache_bytes, bool count, const GivenMemory& to, bool to_float64,
         const GivenMemory& tree_to) {
        return paths_on_gpu(g, a, weights, sources,
                            {.method = sssp_method(method),
                             .access = access_named(access),
                             .delta = delta,
                             .limit = limit,
                             .predecessors = predecessors,
                             .symmetric = symmetric,
                             .cache_bytes = cache_bytes,
                             .count = count,
                             .distances_to = result_to(to),
                             .predecessors_to = result_to(tree_to),
                             .to_float64 = to_float64});
      },
      nb::arg("graph"), nb::arg("a"), nb::arg("weights"), nb::arg("sources"), nb::arg("method") = "auto",
      nb::arg("access") = "auto", nb::arg("delta") = 0.0, nb::arg("limit") = kInfinite,
      nb::arg("predecessors") = false, nb::arg("symmetric") = false, nb::arg("cache_bytes") = -1,
      nb::arg("count") = false, nb::arg("to").none() = nb::none(), nb::arg("to_float64") = false,
      nb::arg("tree_to").none() = nb::none(),
      "(distances, predecessors or None, what was done); to, tree_to: memory on the GPU for the first two, "
      "which are then None");
}

}  // namespace penstock::bind
