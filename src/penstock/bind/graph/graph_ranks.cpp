// PageRank.
#include <nanobind/stl/optional.h>

#include <optional>

#include "penstock/bind/graph/graph_gpu.hpp"
#include "penstock/bind/solve/device_op.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/pagerank/pagerank_gpu.hpp"
#include "penstock/graph/pagerank/pagerank_lists.hpp"
#include "penstock/graph/pagerank/personalized_gpu.hpp"

namespace penstock::bind {
namespace {

using Vector = std::optional<ReadArray<double>>;

std::span<const double> span_if_given(const Vector& v) {
  return v ? bind::span_of(*v) : std::span<const double>();
}

nb::tuple bound_pagerank(const Matrix& m, const ReadArray<double>& out, const Vector& personalization,
                         const Vector& dangling, const Vector& start, double alpha, double tol,
                         std::int64_t max_iter, bool symmetric) {
  return with_real(m, [&]<class V>(const Csr<V>& in) {
    PageRankResult r;
    {
      const nb::gil_scoped_release release;
      r = pagerank(in, std::get<SpmvPlans<V>>(*m.plans), bind::span_of(out),
                   {span_if_given(personalization), span_if_given(dangling), span_if_given(start)},
                   {.alpha = alpha, .tol = tol, .max_iter = max_iter, .symmetric = symmetric});
    }
    return nb::make_tuple(as_result(r.ranks), r.iterations, r.change, r.converged);
  });
}

nb::tuple bound_personalized(const Matrix& m, const ReadArray<double>& out, const ReadArray<Index>& sources,
                             double alpha, double tol, std::int64_t max_iter) {
  return with_real(m, [&]<class V>(const Csr<V>& in) {
    PageRankResult r;
    {
      const nb::gil_scoped_release release;
      r = personalized_pagerank(in, bind::span_of(out), bind::span_of(sources),
                                {.alpha = alpha, .tol = tol, .max_iter = max_iter});
    }
    return nb::make_tuple(as_result(r.ranks), r.iterations, r.change, r.converged);
  });
}

nb::tuple bound_personalized_on(const Matrix& m, const ReadArray<double>& out,
                                const ReadArray<Index>& sources, double alpha, double tol,
                                std::int64_t max_iter, int gpu, std::int64_t room) {
  PageRankResult r;
  {
    const nb::gil_scoped_release release;
    std::visit(
        [&]<class V>(const Csr<V>& in) {
          if constexpr (is_pattern<V> || std::is_same_v<V, float> || std::is_same_v<V, double>)
            r = personalized_pagerank_on(in, bind::span_of(out), bind::span_of(sources),
                                         {.alpha = alpha, .tol = tol, .max_iter = max_iter}, Where{gpu},
                                         room);
          else refuse_complex();
        },
        m.any(release));
  }
  return nb::make_tuple(as_result(r.ranks), r.iterations, r.change, r.converged);
}

nb::tuple on_device(const AnyDeviceOp* single, const AnyDeviceOp& in, const ReadArray<double>& out,
                    const Vector& personalization, const Vector& dangling, const Vector& start, double alpha,
                    double tol, std::int64_t max_iter, bool symmetric, const GivenMemory& to) {
  const auto* full = std::get_if<DeviceOp<double>>(&in.op);
  const auto* quick = single ? std::get_if<DeviceOp<float>>(&single->op) : nullptr;
  require(full && (quick || !single), "pagerank_on_device: `incoming` is in float64, `single` in float32");
  PageRankResult r;
  {
    const nb::gil_scoped_release release;
    r = pagerank_gpu(quick, *full, bind::span_of(out),
                     {span_if_given(personalization), span_if_given(dangling), span_if_given(start)},
                     {.alpha = alpha, .tol = tol, .max_iter = max_iter, .symmetric = symmetric},
                     result_to(to));
  }
  return nb::make_tuple(to ? nb::object(nb::none()) : as_result(r.ranks), r.iterations, r.change,
                        r.converged);
}

/// PageRank over the lists of one GPU or several; `run(graph, out, vectors, options, how, to)`.
template <class Graph, class Run>
void def_over_lists(nb::module_& m, const char* name, Run run) {
  m.def(
      name,
      [run](BoundGraph<Graph>& g, const ReadArray<double>& out, const Vector& personalization,
            const Vector& dangling, const Vector& start, double alpha, double tol, std::int64_t max_iter,
            bool symmetric, const std::string& access, bool count, const GivenMemory& to) {
        if constexpr (have_cuda) {
          const RankListsResult r = [&] {
            const RankListsOptions how{.access = access_named(access), .count = count};
            const PageRankVectors given{span_if_given(personalization), span_if_given(dangling),
                                        span_if_given(start)};
            const PageRankOptions options{
                .alpha = alpha, .tol = tol, .max_iter = max_iter, .symmetric = symmetric};
            const nb::gil_scoped_release release;
            return run(*g.graph, bind::span_of(out), given, options, how, result_to(to));
          }();
          nb::dict told;
          told["seconds"] = r.seconds, told["steps"] = r.ranks.iterations;
          told["read"] = count ? nb::object(as_dict(r.requests)) : nb::object(nb::none());
          return nb::make_tuple(to ? nb::object(nb::none()) : as_result(r.ranks.ranks), r.ranks.iterations,
                                r.ranks.change, r.ranks.converged, told);
        } else {
          no_gpu_build("PageRank");
          return nb::make_tuple();
        }
      },
      nb::arg("incoming"), nb::arg("out"), nb::arg("personalization").none(), nb::arg("dangling").none(),
      nb::arg("start").none(), nb::arg("alpha"), nb::arg("tol"), nb::arg("max_iter"), nb::arg("symmetric"),
      nb::arg("access") = "auto", nb::arg("count") = false, nb::arg("to").none() = nb::none(),
      "As pagerank_on_device, over the lists of a pattern's reversed edges, and what was done; the vectors "
      "are on "
      "the (first) GPU.");
}

}  // namespace

void graph_ranks(nb::module_& m) {
  m.def(
      "out_weights",
      [](const Matrix& m) {
        return with_real(m, [](const auto& a) {
          Array<double> r;
          {
            const nb::gil_scoped_release release;
            r = out_weights(a);
          }
          return as_result(r);
        });
      },
      nb::arg("a"));
  m.def("pagerank", bound_pagerank, nb::arg("incoming"), nb::arg("out"), nb::arg("personalization").none(),
        nb::arg("dangling").none(), nb::arg("start").none(), nb::arg("alpha"), nb::arg("tol"),
        nb::arg("max_iter"), nb::arg("symmetric"), "(ranks, iterations, change, converged)");
  m.def("personalized_pagerank", bound_personalized, nb::arg("incoming"), nb::arg("out"), nb::arg("sources"),
        nb::arg("alpha"), nb::arg("tol"), nb::arg("max_iter"),
        "(ranks of all sources side by side, iterations, change, converged)");
  m.def("personalized_pagerank_on", bound_personalized_on, nb::arg("incoming"), nb::arg("out"),
        nb::arg("sources"), nb::arg("alpha"), nb::arg("tol"), nb::arg("max_iter"), nb::arg("gpu"),
        nb::arg("room"),
        "As personalized_pagerank, with vectors on a GPU that reads the matrix, in so many bytes; GPU -1 is "
        "the CPU.");
  m.def(
      "pagerank_on_device", on_device, nb::arg("single").none(), nb::arg("incoming"), nb::arg("out"),
      nb::arg("personalization").none(), nb::arg("dangling").none(), nb::arg("start").none(),
      nb::arg("alpha"), nb::arg("tol"), nb::arg("max_iter"), nb::arg("symmetric"),
      nb::arg("to").none() = nb::none(),
      "As pagerank, with the vectors where `incoming` multiplies; to: memory there for the ranks, which are "
      "then None.");
  def_over_lists<GpuGraph>(m, "pagerank_lists",
                           [](auto& g, const auto&... how) { return pagerank_lists(g, how...); });
  def_over_lists<GpuParts>(m, "pagerank_parts",
                           [](auto& g, const auto&... how) { return pagerank_parts(g, how...); });
  m.def(
      "rank_vertex_bytes", &rank_vertex_bytes, nb::arg("tol"), nb::arg("based"),
      "Bytes of device memory that PageRank of a pattern takes for each vertex; based: with distributions.");
  m.def(
      "pagerank_verify",
      [](const Matrix& m, const ReadArray<double>& ranks, const Vector& personalization,
         const Vector& dangling, double alpha, double tol) {
        with_real(m, [&](const auto& a) {
          const nb::gil_scoped_release release;
          pagerank_verify(a, bind::span_of(ranks),
                          {span_if_given(personalization), span_if_given(dangling), {}},
                          {.alpha = alpha, .tol = tol});
        });
      },
      nb::arg("a"), nb::arg("ranks"), nb::arg("personalization").none(), nb::arg("dangling").none(),
      nb::arg("alpha"), nb::arg("tol"));
}

}  // namespace penstock::bind
