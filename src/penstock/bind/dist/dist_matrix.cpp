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
                                      rank_real_semirings() + " in float32 and float64, and " +
                                      rank_boolean_semirings());
}

/// The numbers of the entries of a vector that a rank owns; with rank < 0 those of all ranks, one rank after the other.
nb::object ids(const Ownership& o, int rank) {
  return as_numpy<GlobalIndex>(rank < 0 ? o.all_numbers() : o.numbers(rank));
}

template <class T>
nb::object list_of(const std::vector<T>& v) {
  auto out = allocate<T>(std::ssize(v));
  std::copy(v.begin(), v.end(), out.data);
  return as_numpy<T>(out);
}

nb::dict comm_plan_dict(const CommPlan& p) {
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

/// What a pass over the rows meets: rows with entries, or owned; rows with ghosts; the most ghosts of a row; rows whose length
/// differs from that of the row before.
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

/// A property: get(product) of the type that the matrix has.
template <class Get>
auto property(Get get) {
  return [get](const DistMatrix& a) { return visit(a, get); };
}

nb::object counts(const DistMatrix& a, bool of_x) {
  return visit(a, [&](const auto& p) {
    const auto& owners = of_x ? *p.matrix().col_owners : *p.matrix().row_owners;
    std::vector<std::int64_t> out;
    for (int r = 0; r < owners.ranks(); ++r) out.push_back(owners.count(r));
    return list_of(out);
  });
}

nb::object row_ids(const DistMatrix& a, bool all) {
  return visit(a, [&](const auto& p) {
    const auto& d = p.matrix();
    return ids(*d.row_owners, all ? -1 : d.comm->rank());
  });
}

nb::object col_ids(const DistMatrix& a, bool all) {
  return visit(a, [&](const auto& p) {
    const auto& d = p.matrix();
    return ids(*d.col_owners, all ? -1 : d.comm->rank());
  });
}

std::string prepare(const DistMatrix& a, const std::string& algorithm) {
  const auto wish = spmv_algorithm(algorithm);
  const nb::gil_scoped_release release;
  return std::string(name(visit(a, [&](auto& p) { return p.prepare(wish); })));
}

void clear_times(const DistMatrix& a) {
  visit(a, [](auto& p) { p.clear_times(); });
}

/// What the matrix is.
void add_facts(nb::class_<DistMatrix>& c) {
  c.def_prop_ro("comm", property([](const auto& p) { return p.matrix().comm; }));
  c.def_prop_ro("passes", passes);
  c.def_prop_ro("dtype", property([]<class V>(const DistProduct<V>&) { return dtype_name<V>(); }));
  c.def_prop_ro("shape", property([](const auto& p) {
                  return nb::make_tuple(p.matrix().all_rows(), p.matrix().all_cols());
                }));
  c.def_prop_ro("local_shape",
                property([](const auto& p) { return nb::make_tuple(p.matrix().rows(), p.matrix().cols()); }));
  c.def_prop_ro("local_nnz", property([](const auto& p) { return p.matrix().nnz(); }));
  c.def_prop_ro("halo_nnz", property([](const auto& p) { return p.matrix().halo.nnz(); }));
  c.def_prop_ro("nbytes",
                property([](const auto& p) { return p.matrix().local.bytes() + p.matrix().halo.bytes(); }));
  c.def_ro("partition", &DistMatrix::partition);
  c.def_prop_ro("listed", &DistMatrix::listed);
  c.def("require_all_numbers", &DistMatrix::require_all_numbers, nb::arg("what"));
  c.def("counts", counts, nb::arg("of_x"));
  c.def("row_ids", row_ids, nb::arg("all") = false);
  c.def("col_ids", col_ids, nb::arg("all") = false);
  c.def_prop_ro("plan", property([](const auto& p) { return comm_plan_dict(*p.matrix().plan); }));
  c.def_prop_ro("sums_plan", property([](const auto& p) { return comm_plan_dict(*p.matrix().sums); }));
}

/// How it is multiplied.
void add_product(nb::class_<DistMatrix>& c) {
  c.def_prop_ro("halo", property([](const auto& p) { return p.halo_name(); }));
  c.def_prop_ro("asked",
                property([](const auto& p) { return nb::make_tuple(p.options().halo, p.options().sums); }));
  c.def_prop_ro("schedule", property([](const auto& p) { return std::string(name(p.options().schedule)); }));
  c.def_prop_ro("algorithm", property([](const auto& p) { return std::string(name(p.prepared())); }));
  c.def("times", times);
  c.def("clear_times", clear_times);
  c.def("prepare", prepare, nb::arg("algorithm"));
}

}  // namespace

void dist_matrix(nb::module_& m) {
  using nb::arg;
  nb::class_<DistMatrix> c(m, "DistMatrix");
  add_facts(c);
  add_product(c);
  m.def("time_exchanges", time_exchanges, arg("a"), arg("x"), arg("times"),
        "Seconds of each of `times` exchanges of x in a row, without products, after a barrier. Collective.");
  m.def("dist_product", product, arg("a"), arg("x"), arg("y"), arg("semiring"), arg("alpha").none(),
        arg("beta").none(), arg("transposed"));
}

}  // namespace penstock::bind
