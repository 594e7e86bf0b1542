// Graphs that are shared out: searches, components, PageRank.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <optional>

#include "penstock/bind/dist/dist.hpp"
#include "penstock/bind/graph/graph.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/graph/bfs.hpp"
#include "penstock/dist/graph/components.hpp"
#include "penstock/dist/graph/pagerank.hpp"

namespace penstock::bind {
namespace {

using Vector = std::optional<ReadArray<double>>;

nb::tuple bound_bfs(DistGraph& out, DistGraph* in, GlobalIndex source, bool predecessors, int direction) {
  require(0 <= direction && direction <= 2, "dist_bfs: the direction is 0, 1 or 2");
  DistBfsResult r;
  {
    const nb::gil_scoped_release release;
    r = bfs(out, in, source,
            {.predecessors = predecessors, .direction = static_cast<DistBfsDirection>(direction)});
  }
  nb::dict info;
  info["reached"] = r.reached, info["depth"] = r.depth, info["bottom_up"] = r.bottom_up,
  info["missed"] = r.missed;
  return nb::make_tuple(as_result(r.levels), predecessors ? as_result(r.predecessors) : nb::none(), info);
}

DistPageRankVectors vectors_of(const Vector& personalization, const Vector& dangling, const Vector& start) {
  DistPageRankVectors v;
  if (personalization) v.personalization = span_of(*personalization);
  if (dangling) v.dangling = span_of(*dangling);
  if (start) v.start = span_of(*start);
  return v;
}

/// y = A^T x; for a symmetric pattern by A itself, whose rows are read in order.
template <class T, class V>
InwardProduct<T> inward(DistProduct<V>& product, bool symmetric) {
  return [&product, symmetric](std::span<const T> x, std::span<T> y) {
    if (symmetric) product.template multiply<PlusTimes<T>>(x, y);
    else product.template multiply_transposed<PlusTimes<T>>(x, y);
  };
}

nb::tuple bound_pagerank(const DistMatrix& a, const ReadArray<double>& out, const Vector& personalization,
                         const Vector& dangling, const Vector& start, double alpha, double tol,
                         std::int64_t max_iter, bool symmetric) {
  PageRankResult r;
  {
    const nb::gil_scoped_release release;
    visit(a, [&]<class V>(DistProduct<V>& product) {
      InwardProduct<float> quick;
      if constexpr (is_pattern<V>) quick = inward<float>(product, symmetric);
      const auto& d = product.matrix();
      require(std::ssize(span_of(out)) == d.rows(),
              "dist_pagerank: one weight for each vertex that is owned here");
      r = pagerank(*d.comm, d.all_rows(), span_of(out), vectors_of(personalization, dangling, start), quick,
                   inward<double>(product, symmetric),
                   {.alpha = alpha, .tol = tol, .max_iter = max_iter, .symmetric = symmetric});
    });
  }
  return nb::make_tuple(as_result(r.ranks), r.iterations, r.change, r.converged);
}

void bound_verify(const DistMatrix& a, const ReadArray<double>& out, const ReadArray<double>& ranks,
                  const Vector& personalization, const Vector& dangling, double alpha, double tol,
                  bool symmetric) {
  const nb::gil_scoped_release release;
  visit(a, [&]<class V>(DistProduct<V>& product) {
    const auto& d = product.matrix();
    require(std::ssize(span_of(out)) == d.rows(),
            "dist_pagerank_verify: one weight for each vertex that is owned here");
    pagerank_verify(*d.comm, d.all_rows(), span_of(out), span_of(ranks),
                    vectors_of(personalization, dangling, {}), inward<double>(product, symmetric),
                    {.alpha = alpha, .tol = tol});
  });
}

void make_graph(DistGraph* self, const DistMatrix& a, const std::string& algorithm) {
  const nb::gil_scoped_release release;
  visit(a, [&](const auto& product) {
    new (self) DistGraph(penstock::edges_of(aligned(product.matrix(), algorithm)));
  });
}

std::unique_ptr<DistGraph> bound_transpose(const DistGraph& g) {
  const nb::gil_scoped_release release;
  return std::make_unique<DistGraph>(transpose(g.edges()));
}

bool bound_symmetric(const DistGraph& g) {
  const nb::gil_scoped_release release;
  return has_symmetric_pattern(g.edges());
}

DistMatrix bound_pattern(const DistGraph& g, const DistMatrix& a) {
  const nb::gil_scoped_release release;
  const auto options = visit(a, [](const auto& product) { return product.options(); });
  return {std::make_shared<DistProduct<One>>(g.edges(), options), a.partition};
}

nb::dict bound_traffic(const DistGraph& g) {
  const auto t = g.traffic();
  nb::dict d;
  d["messages"] = t.messages, d["bytes"] = t.bytes, d["lists"] = t.lists, d["bitmaps"] = t.bitmaps;
  return d;
}

nb::object bound_components(const DistGraph& g) {
  DistComponents c;
  {
    const nb::gil_scoped_release release;
    c = connected_components(g.edges());
  }
  return nb::make_tuple(c.count, as_result(c.labels));
}

DistMatrix bound_aligned(const DistMatrix& a, const std::string& algorithm) {
  const nb::gil_scoped_release release;
  return visit(a, [&]<class V>(const DistProduct<V>& product) {
    auto same = aligned(product.matrix(), algorithm);
    if (same.col_owners == product.matrix().col_owners) return a;
    return DistMatrix{std::make_shared<DistProduct<V>>(std::move(same), product.options()), a.partition};
  });
}

nb::object bound_out_weights(const DistMatrix& a) {
  a.require_all_numbers("pagerank");
  Array<double> out;
  {
    const nb::gil_scoped_release release;
    out = visit(a, [](const auto& product) { return out_weights(product.matrix()); });
  }
  return as_result(out);
}

}  // namespace

void dist_graph(nb::module_& m) {
  using nb::arg;
  nb::class_<DistGraph>(m, "DistGraph", "What searches of one distributed graph share on this rank.")
      .def("__init__", make_graph, arg("a"), arg("what"), "`what` names the algorithm in errors.")
      .def("transpose", bound_transpose, "Every edge turned around, shared out by whole rows.")
      .def("has_symmetric_pattern", bound_symmetric)
      .def("pattern", bound_pattern, arg("a"), "The edges as a matrix of ones, multiplied as `a` is.")
      .def("traffic", bound_traffic, "Sent by this rank in all searches.");
  m.def("dist_bfs", bound_bfs, arg("out"), arg("incoming").none(), arg("source"), arg("predecessors"),
        arg("direction"), "(levels, predecessors or None, info)");
  m.def("dist_components", bound_components, arg("graph"), "(count, labels)");
  m.def("dist_aligned", bound_aligned, arg("a"), arg("what"),
        "The matrix with the owners of its rows for its columns too: itself where that is so.");
  m.def("dist_out_weights", bound_out_weights, arg("a"));
  m.def("dist_pagerank", bound_pagerank, arg("a"), arg("out"), arg("personalization").none(),
        arg("dangling").none(), arg("start").none(), arg("alpha"), arg("tol"), arg("max_iter"),
        arg("symmetric"), "(ranks, iterations, change, converged)");
  m.def("dist_pagerank_verify", bound_verify, arg("a"), arg("out"), arg("ranks"),
        arg("personalization").none(), arg("dangling").none(), arg("alpha"), arg("tol"), arg("symmetric"));
}

}  // namespace penstock::bind
