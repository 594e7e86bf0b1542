// Communities.
#include <utility>

#include "penstock/bind/graph/graph_gpu.hpp"
#include "penstock/bind/graph/graph_packed.hpp"
#include "penstock/graph/community/communities_gpu.hpp"
#include "penstock/graph/community/community.hpp"
#include "penstock/graph/community/device_level_run.hpp"

namespace penstock::bind {
namespace {

/// Calls f with a graph whose weights serve: its values, or ones where it is read as unweighted.
template <class F>
auto with_weights(const Matrix& m, bool unweighted, F&& f) {
  return with_real(m, [&]<class V>(const Csr<V>& a) {
    if (unweighted || is_pattern<V>) {
      const Csr<One> edges{a.rows, a.cols, a.indptr, a.indices, {}};
      const nb::gil_scoped_release release;
      return f(edges);
    }
    const nb::gil_scoped_release release;
    require_community_weights(a);
    return f(a);
  });
}

/// The same, or with packed lists of the matrix, if there are any.
template <class F>
auto with_graph(const Matrix& m, const BoundPackedLists* lists, bool unweighted, F&& f) {
  if (!lists) return with_weights(m, unweighted, std::forward<F>(f));
  const auto held = lists->any();
  const nb::gil_scoped_release release;
  return f(*held);
}
template <class V>
CsrView<V> edges_to_walk(const Csr<V>& a) {
  return a.view();
}
const PackedLists& edges_to_walk(const PackedLists& lists) { return lists; }

/// The weights of a matrix as a GPU that has its lists reads them; `readable` is the same matrix where the CPU reads it.
EdgeWeights edge_weights(const Matrix& m, const Matrix& readable, bool unweighted) {
  EdgeWeights out;
  if (unweighted) return out;
  out.factor = with_weights(readable, false, [](const auto& a) { return community::units_of_weights(a); });
  const nb::gil_scoped_release release;
  std::visit(
      [&]<class V>(const Csr<V>& a) {
        if constexpr (std::is_same_v<V, float> || std::is_same_v<V, double>) {
          const auto* const bytes = reinterpret_cast<const std::byte*>(a.values.data);
          out.bytes = {bytes, a.values.bytes(), a.values.place, a.values.owner};
          out.entry_bytes = sizeof(V);
        }
      },
      m.any(release));
  return out;
}

CommunityOptions leiden_options(double resolution, double threshold, int levels, int iterations,
                                std::uint64_t seed) {
  return {.resolution = resolution,
          .threshold = threshold,
          .levels = levels,
          .iterations = iterations,
          .seed = seed};
}

nb::object as_levels(const std::vector<std::vector<Index>>& levels) {
  nb::list list;
  for (const auto& level : levels) {
    const auto copy = allocate<Index>(static_cast<std::int64_t>(level.size()));
    std::ranges::copy(level, copy.data);
    list.append(as_result(copy));
  }
  return list;
}

void communities_on_device(nb::module_& m) {
  m.def("community_vertex_bytes", &community_vertex_bytes, nb::arg("refined"),
        "Bytes of a GPU that communities take for each vertex, beside its list; refined: those of leiden.");
  m.def("community_bytes", &community_bytes, nb::arg("vertices"), nb::arg("refined"),
        "The same of so many vertices.");
  m.def(
      "louvain_gpu",
      []([[maybe_unused]] BoundGpuGraph& g, [[maybe_unused]] const Matrix& m,
         [[maybe_unused]] const Matrix& readable, [[maybe_unused]] bool unweighted, double resolution,
         double threshold, int levels, std::uint64_t seed, [[maybe_unused]] bool by_level) -> nb::tuple {
        [[maybe_unused]] const CommunityOptions o{
            .resolution = resolution, .threshold = threshold, .levels = levels, .seed = seed};
        if constexpr (have_cuda) {
          const auto weights = edge_weights(m, readable, unweighted);
          Communities found;
          {
            const nb::gil_scoped_release release;
            found = louvain_gpu(*g.graph, weights, o, by_level);
          }
          return nb::make_tuple(as_result(found.labels), as_levels(found.by_level));
        } else {
          no_gpu_build("communities");
        }
      },
      nb::arg("graph"), nb::arg("a"), nb::arg("readable"), nb::arg("unweighted"), nb::arg("resolution"),
      nb::arg("threshold"), nb::arg("levels"), nb::arg("seed"), nb::arg("by_level"),
      "As louvain, on a GPU that has the lists of a; readable: the same where the CPU reads it");
  m.def(
      "leiden_gpu",
      []([[maybe_unused]] BoundGpuGraph& g, [[maybe_unused]] const Matrix& m,
         [[maybe_unused]] const Matrix& readable, [[maybe_unused]] bool unweighted, double resolution,
         double threshold, int levels, int iterations, std::uint64_t seed) -> nb::object {
        [[maybe_unused]] const auto o = leiden_options(resolution, threshold, levels, iterations, seed);
        if constexpr (have_cuda) {
          const auto weights = edge_weights(m, readable, unweighted);
          Array<Index> labels;
          {
            const nb::gil_scoped_release release;
            labels = leiden_gpu(*g.graph, weights, o).labels;
          }
          return as_result(labels);
        } else {
          no_gpu_build("communities");
        }
      },
      nb::arg("graph"), nb::arg("a"), nb::arg("readable"), nb::arg("unweighted"), nb::arg("resolution"),
      nb::arg("threshold"), nb::arg("levels"), nb::arg("iterations"), nb::arg("seed"),
      "As leiden, on a GPU as louvain_gpu");
  m.def(
      "label_propagation_gpu",
      []([[maybe_unused]] BoundGpuGraph& g, [[maybe_unused]] const Matrix& m,
         [[maybe_unused]] const Matrix& readable, [[maybe_unused]] bool unweighted,
         [[maybe_unused]] int passes, [[maybe_unused]] std::uint64_t seed) -> nb::object {
        if constexpr (have_cuda) {
          const auto weights = edge_weights(m, readable, unweighted);
          Array<Index> labels;
          {
            const nb::gil_scoped_release release;
            labels = label_propagation_gpu(*g.graph, weights, passes, seed);
          }
          return as_result(labels);
        } else {
          no_gpu_build("communities");
        }
      },
      nb::arg("graph"), nb::arg("a"), nb::arg("readable"), nb::arg("unweighted"), nb::arg("passes"),
      nb::arg("seed"));
  m.def(
      "louvain_twin",
      [](const Matrix& m, bool unweighted, double resolution, double threshold, int levels,
         std::uint64_t seed, bool by_level, std::int64_t room) {
        const CommunityOptions o{
            .resolution = resolution, .threshold = threshold, .levels = levels, .seed = seed};
        const auto found =
            with_weights(m, unweighted, [&](const auto& a) { return louvain_twin(a, o, by_level, room); });
        return nb::make_tuple(as_result(found.labels), as_levels(found.by_level));
      },
      nb::arg("a"), nb::arg("unweighted") = false, nb::arg("resolution") = 1.0, nb::arg("threshold") = 1e-7,
      nb::arg("levels") = 0, nb::arg("seed") = 0, nb::arg("by_level") = false,
      nb::arg("room") = std::int64_t{1} << 28,
      "What louvain_gpu finds, found by the CPU as the device, for tests; room: bytes that joining may take");
  m.def(
      "leiden_twin",
      [](const Matrix& m, bool unweighted, double resolution, double threshold, int levels, int iterations,
         std::uint64_t seed, std::int64_t room) {
        const auto o = leiden_options(resolution, threshold, levels, iterations, seed);
        return as_result(
            with_weights(m, unweighted, [&](const auto& a) { return leiden_twin(a, o, room).labels; }));
      },
      nb::arg("a"), nb::arg("unweighted") = false, nb::arg("resolution") = 1.0, nb::arg("threshold") = 1e-7,
      nb::arg("levels") = 0, nb::arg("iterations") = 2, nb::arg("seed") = 0,
      nb::arg("room") = std::int64_t{1} << 28,
      "What leiden_gpu finds, found by the CPU as the device, for tests; room: as for louvain_twin");
  m.def(
      "label_propagation_twin",
      [](const Matrix& m, bool unweighted, int passes, std::uint64_t seed) {
        return as_result(with_weights(m, unweighted, [&](const auto& a) {
          return label_propagation_twin(a, passes, seed, std::int64_t{1} << 28);
        }));
      },
      nb::arg("a"), nb::arg("unweighted") = false, nb::arg("passes") = 100, nb::arg("seed") = 0,
      "What label_propagation_gpu finds, found by the CPU as the device, for tests");
}

}  // namespace

void graph_communities(nb::module_& m) {
  m.def(
      "louvain",
      [](const Matrix& m, bool unweighted, double resolution, double threshold, int levels,
         std::uint64_t seed, bool by_level, const BoundPackedLists* lists) {
        const CommunityOptions o{
            .resolution = resolution, .threshold = threshold, .levels = levels, .seed = seed};
        const auto found =
            with_graph(m, lists, unweighted, [&](const auto& a) { return louvain(a, o, by_level); });
        return nb::make_tuple(as_result(found.labels), as_levels(found.by_level));
      },
      nb::arg("a"), nb::arg("unweighted"), nb::arg("resolution"), nb::arg("threshold"), nb::arg("levels"),
      nb::arg("seed"), nb::arg("by_level"), nb::arg("lists").none() = nb::none(),
      "(labels, those after each level); a is symmetric. Its packed `lists` are read instead, if there are "
      "any");
  m.def(
      "leiden",
      [](const Matrix& m, bool unweighted, double resolution, double threshold, int levels, int iterations,
         std::uint64_t seed, const BoundPackedLists* lists) {
        const auto o = leiden_options(resolution, threshold, levels, iterations, seed);
        return as_result(
            with_graph(m, lists, unweighted, [&](const auto& a) { return leiden(a, o).labels; }));
      },
      nb::arg("a"), nb::arg("unweighted"), nb::arg("resolution"), nb::arg("threshold"), nb::arg("levels"),
      nb::arg("iterations"), nb::arg("seed"), nb::arg("lists").none() = nb::none(), "as for louvain");
  m.def(
      "label_propagation",
      [](const Matrix& m, bool unweighted, int passes, std::uint64_t seed, const BoundPackedLists* lists) {
        return as_result(with_graph(m, lists, unweighted,
                                    [&](const auto& a) { return label_propagation(a, passes, seed); }));
      },
      nb::arg("a"), nb::arg("unweighted"), nb::arg("passes"), nb::arg("seed"),
      nb::arg("lists").none() = nb::none(), "as for louvain");
  communities_on_device(m);
  m.def(
      "modularity",
      [](const Matrix& m, const ReadArray<Index>& labels, bool unweighted, double resolution,
         const BoundPackedLists* lists) {
        return with_graph(m, lists, unweighted,
                          [&](const auto& a) { return modularity(a, span_of(labels), resolution); });
      },
      nb::arg("a"), nb::arg("labels"), nb::arg("unweighted"), nb::arg("resolution"),
      nb::arg("lists").none() = nb::none(),
      "a is symmetric, labels are at least 0 and below its rows; lists as for louvain");
  m.def(
      "connected_parts",
      [](const Matrix& m, const ReadArray<Index>& labels, bool unweighted, const BoundPackedLists* lists) {
        return as_result(with_graph(m, lists, unweighted, [&](const auto& a) {
          return connected_parts(edges_to_walk(a), span_of(labels));
        }));
      },
      nb::arg("a"), nb::arg("labels"), nb::arg("unweighted"), nb::arg("lists").none() = nb::none());
}

}  // namespace penstock::bind
