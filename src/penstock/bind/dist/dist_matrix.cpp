// Distributed matrices: what they are and their products.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>

#include "penstock/bind/dist/dist.hpp"
#include "penstock/bind/product/product.hpp"
#include "penstock/core/error.hpp"

namespace penstock::bind {
namespace {

using AnyVectors = nb::ndarray<nb::ro, nb::numpy, nb::c_contig, nb::device::cpu>;

/// One vector, or several side by side.
template <class T, class A>
DenseView<T> as_view(const A& a) {
  const auto rows = static_cast<std::int64_t>(a.shape(0));
  const auto columns = a.ndim() == 1 ? 1 : static_cast<std::int64_t>(a.shape(1));
  return {static_cast<T*>(a.data()), rows, columns, columns, 1};
}

template <class S, class V>
bool try_product(const DistMatrix& m, const AnyVectors& x, const nb::object& y, std::string_view semiring,
                 const nb::object& alpha, const nb::object& beta, bool transposed) {
  using T = typename S::value_type;
  const auto* a = std::get_if<std::shared_ptr<DistProduct<V>>>(&m.any);
  if (!a || semiring != semiring_name<S>() || x.dtype() != nb::dtype<T>()) return false;
  const auto out = nb::cast<nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu>>(y);
  const auto scale = scale_of<S>(alpha, beta);
  const auto xs = as_view<const T>(x);
  const auto ys = as_view<T>(out);
  const nb::gil_scoped_release release;
  if (transposed) (*a)->template multiply_columns_transposed<S>(xs, ys, scale);
  else (*a)->template multiply_columns<S>(xs, ys, scale);
  return true;
}

void product(const DistMatrix& a, const AnyVectors& x, const nb::object& y, const std::string& semiring,
             const nb::object& alpha, const nb::object& beta, bool transposed) {
  require(x.ndim() == 1 || x.ndim() == 2, "x has one dimension, or two");
#define X(S, V) \
  if (try_product<S, V>(a, x, y, semiring, alpha, beta, transposed)) return;
  PENSTOCK_FOR_EACH_DIST(X)
#undef X
  throw Error(Errc::not_compiled, "no distributed product for semiring " + semiring +
                                      " with these value types: there are plus_times and " +
                                      rank_real_semirings() + " in float32 and float64, and or_and");
}

/// The numbers of a rank's entries of a vector; of all ranks', one after the other, where rank < 0.
nb::object ids(const Ownership& o, int rank) {
  return as_numpy<GlobalIndex>(rank < 0 ? o.all_numbers() : o.numbers(rank));
}

template <class T>
nb::object list_of(const std::vector<T>& v) {
  auto out = allocate<T>(std::ssize(v));
  std::copy(v.begin(), v.end(), out.data);
  return as_numpy<T>(out);
}

nb::dict as_dict(const CommPlan& p) {
  nb::dict d;
  d["send_ranks"] = list_of(p.send_ranks), d["send_offsets"] = list_of(p.send_offsets);
  d["receive_ranks"] = list_of(p.receive_ranks), d["receive_offsets"] = list_of(p.receive_offsets);
  d["send_indices"] = as_numpy<Index>(p.send_indices);
  return d;
}

nb::dict times(const DistMatrix& a) {
  return visit(a, [](const auto& p) {
    const auto& t = p.times();
    nb::dict d;
    d["local"] = t.local, d["halo"] = t.halo, d["exchange"] = t.exchange, d["wait"] = t.wait;
    d["seconds"] = t.seconds, d["setup"] = t.setup, d["products"] = t.products;
    d["sent_bytes"] = t.sent_bytes, d["received_bytes"] = t.received_bytes, d["messages"] = t.messages;
    return d;
  });
}

/// Rows with entries, or owned; those with ghosts; the most ghosts of a row; rows that are not as long as the one before.
nb::tuple passes(const DistMatrix& a) {
  return visit(a, [](const auto& p) {
    const auto &own = p.matrix().local.indptr, &halo = p.matrix().halo.indptr;
    std::int64_t rows = 0, most = 0, uneven = 0, before = 0, ghosts_before = 0;
    for (std::int64_t r = 0; r < p.matrix().halo.rows; ++r) {
      const std::int64_t length = own.data[r + 1] - own.data[r], ghosts = halo.data[r + 1] - halo.data[r];
      uneven += r > 0 && length != before, before = length;
      if (ghosts == 0) continue;
      uneven += rows > 0 && ghosts != ghosts_before, ghosts_before = ghosts;
      ++rows, most = std::max(most, ghosts);
    }
    return nb::make_tuple(p.matrix().halo.rows, rows, most, uneven);
  });
}

double time_exchanges(const DistMatrix& a,
                      const nb::ndarray<const double, nb::numpy, nb::ndim<1>, nb::c_contig>& x, int times) {
  require(times > 0, "time_exchanges: times = " + std::to_string(times) + "; give at least 1");
  const nb::gil_scoped_release release;
  return visit(a, [&](auto& p) {
    require(std::int64_t(x.shape(0)) == p.matrix().cols(),
            "time_exchanges: x needs an entry for each column owned here");
    p.matrix().comm->barrier();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) p.exchange(x.data(), sizeof(double));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
  });
}

}  // namespace

void dist_matrix(nb::module_& m) {
  using nb::arg;
  nb::class_<DistMatrix>(m, "DistMatrix")
      .def_prop_ro(
          "comm", [](const DistMatrix& a) { return visit(a, [](const auto& p) { return p.matrix().comm; }); })
      .def_prop_ro("passes", passes)
      .def_prop_ro("dtype",
                   [](const DistMatrix& a) {
                     return visit(a, []<class V>(const DistProduct<V>&) { return dtype_name<V>(); });
                   })
      .def_prop_ro("shape",
                   [](const DistMatrix& a) {
                     return visit(a, [](const auto& p) {
                       return nb::make_tuple(p.matrix().all_rows(), p.matrix().all_cols());
                     });
                   })
      .def_prop_ro("local_shape",
                   [](const DistMatrix& a) {
                     return visit(a, [](const auto& p) {
                       return nb::make_tuple(p.matrix().rows(), p.matrix().cols());
                     });
                   })
      .def_prop_ro(
          "local_nnz",
          [](const DistMatrix& a) { return visit(a, [](const auto& p) { return p.matrix().nnz(); }); })
      .def_prop_ro(
          "halo_nnz",
          [](const DistMatrix& a) { return visit(a, [](const auto& p) { return p.matrix().halo.nnz(); }); })
      .def(
          "counts",
          [](const DistMatrix& a, bool of_x) {
            return visit(a, [&](const auto& p) {
              const auto& owners = of_x ? *p.matrix().col_owners : *p.matrix().row_owners;
              std::vector<std::int64_t> counts;
              for (int r = 0; r < owners.ranks(); ++r) counts.push_back(owners.count(r));
              return list_of(counts);
            });
          },
          arg("of_x"))
      .def_prop_ro("nbytes",
                   [](const DistMatrix& a) {
                     return visit(
                         a, [](const auto& p) { return p.matrix().local.bytes() + p.matrix().halo.bytes(); });
                   })
      .def_ro("partition", &DistMatrix::partition)
      .def_prop_ro("halo",
                   [](const DistMatrix& a) { return visit(a, [](const auto& p) { return p.halo_name(); }); })
      .def_prop_ro("asked",
                   [](const DistMatrix& a) {
                     return visit(
                         a, [](const auto& p) { return nb::make_tuple(p.options().halo, p.options().sums); });
                   })
      .def_prop_ro("schedule",
                   [](const DistMatrix& a) {
                     return visit(a, [](const auto& p) { return std::string(name(p.options().schedule)); });
                   })
      .def_prop_ro("algorithm",
                   [](const DistMatrix& a) {
                     return visit(a, [](const auto& p) { return std::string(name(p.prepared())); });
                   })
      .def(
          "row_ids",
          [](const DistMatrix& a, bool all) {
            return visit(a, [&](const auto& p) {
              return ids(*p.matrix().row_owners, all ? -1 : p.matrix().comm->rank());
            });
          },
          arg("all") = false)
      .def(
          "col_ids",
          [](const DistMatrix& a, bool all) {
            return visit(a, [&](const auto& p) {
              return ids(*p.matrix().col_owners, all ? -1 : p.matrix().comm->rank());
            });
          },
          arg("all") = false)
      .def_prop_ro("plan",
                   [](const DistMatrix& a) {
                     return visit(a, [](const auto& p) { return as_dict(*p.matrix().plan); });
                   })
      .def_prop_ro("sums_plan",
                   [](const DistMatrix& a) {
                     return visit(a, [](const auto& p) { return as_dict(*p.matrix().sums); });
                   })
      .def("times", times)
      .def("clear_times", [](const DistMatrix& a) { visit(a, [](auto& p) { p.clear_times(); }); })
      .def(
          "prepare",
          [](const DistMatrix& a, const std::string& algorithm) {
            const auto wish = spmv_algorithm(algorithm);
            const nb::gil_scoped_release release;
            return std::string(name(visit(a, [&](auto& p) { return p.prepare(wish); })));
          },
          arg("algorithm"));
  m.def("time_exchanges", time_exchanges, arg("a"), arg("x"), arg("times"),
        "Seconds of each of `times` exchanges of x in a row, without products, after a barrier. Collective.");
  m.def("dist_product", product, arg("a"), arg("x"), arg("y"), arg("semiring"), arg("alpha").none(),
        arg("beta").none(), arg("transposed"));
}

}  // namespace penstock::bind
