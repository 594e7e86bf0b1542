// Communities.
#include "penstock/bind/graph/graph.hpp"
#include "penstock/graph/community/community.hpp"

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

nb::object as_levels(const std::vector<std::vector<Index>>& levels) {
  nb::list list;
  for (const auto& level : levels) {
    const auto copy = allocate<Index>(static_cast<std::int64_t>(level.size()));
    std::ranges::copy(level, copy.data);
    list.append(as_result(copy));
  }
  return list;
}

}  // namespace

void graph_communities(nb::module_& m) {
  m.def(
      "louvain",
      [](const Matrix& m, bool unweighted, double resolution, double threshold, int levels,
         std::uint64_t seed, bool by_level) {
        const CommunityOptions o{
            .resolution = resolution, .threshold = threshold, .levels = levels, .seed = seed};
        const auto found =
            with_weights(m, unweighted, [&](const auto& a) { return louvain(a, o, by_level); });
        return nb::make_tuple(as_result(found.labels), as_levels(found.by_level));
      },
      nb::arg("a"), nb::arg("unweighted"), nb::arg("resolution"), nb::arg("threshold"), nb::arg("levels"),
      nb::arg("seed"), nb::arg("by_level"), "(labels, those after each level); a is symmetric");
  m.def(
      "leiden",
      [](const Matrix& m, bool unweighted, double resolution, double threshold, int levels, int iterations,
         std::uint64_t seed) {
        const CommunityOptions o{.resolution = resolution,
                                 .threshold = threshold,
                                 .levels = levels,
                                 .iterations = iterations,
                                 .seed = seed};
        return as_result(with_weights(m, unweighted, [&](const auto& a) { return leiden(a, o).labels; }));
      },
      nb::arg("a"), nb::arg("unweighted"), nb::arg("resolution"), nb::arg("threshold"), nb::arg("levels"),
      nb::arg("iterations"), nb::arg("seed"), "a is symmetric");
  m.def(
      "label_propagation",
      [](const Matrix& m, bool unweighted, int passes, std::uint64_t seed) {
        return as_result(
            with_weights(m, unweighted, [&](const auto& a) { return label_propagation(a, passes, seed); }));
      },
      nb::arg("a"), nb::arg("unweighted"), nb::arg("passes"), nb::arg("seed"), "a is symmetric");
  m.def(
      "modularity",
      [](const Matrix& m, const ReadArray<Index>& labels, bool unweighted, double resolution) {
        return with_weights(m, unweighted,
                            [&](const auto& a) { return modularity(a, span_of(labels), resolution); });
      },
      nb::arg("a"), nb::arg("labels"), nb::arg("unweighted"), nb::arg("resolution"),
      "a is symmetric, labels are at least 0 and below its rows");
  m.def(
      "connected_parts",
      [](const Matrix& m, const ReadArray<Index>& labels, bool unweighted) {
        return as_result(with_weights(
            m, unweighted, [&](const auto& a) { return connected_parts(a.view(), span_of(labels)); }));
      },
      nb::arg("a"), nb::arg("labels"), nb::arg("unweighted"));
}

}  // namespace penstock::bind
