// PageRank.
#include <nanobind/stl/optional.h>

#include <optional>

#include "penstock/bind/graph/graph_gpu.hpp"
#include "penstock/bind/solve/device_op.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/pagerank/pagerank_gpu.hpp"

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
  m.def(
      "pagerank_on_device", on_device, nb::arg("single").none(), nb::arg("incoming"), nb::arg("out"),
      nb::arg("personalization").none(), nb::arg("dangling").none(), nb::arg("start").none(),
      nb::arg("alpha"), nb::arg("tol"), nb::arg("max_iter"), nb::arg("symmetric"),
      nb::arg("to").none() = nb::none(),
      "As pagerank, with the vectors where `incoming` multiplies; to: memory there for the ranks, which are "
      "then None.");
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
