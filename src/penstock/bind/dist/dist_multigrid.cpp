// Algebraic multigrid over ranks: a hierarchy made of a matrix that is shared out, and its cycle as a preconditioner.
#include "penstock/solver/multigrid/dist_hierarchy.hpp"

#include <array>
#include <cmath>

#include "penstock/bind/dist/dist.hpp"
#include "penstock/bind/solve/amg_options.hpp"
#include "penstock/bind/solve/linear_op.hpp"

namespace penstock::bind {
namespace {

struct AnyDistHierarchy {
  std::variant<std::shared_ptr<const DistHierarchy<float>>, std::shared_ptr<const DistHierarchy<double>>>
      levels;
  AnyOp op;

  /// The same options and vectors for a matrix with the same pattern.
  std::string kind, precision;
  std::vector<double> near_nullspace;
  std::int64_t vectors = 1;
  AmgOptions options;
};

/// The power of two that brings the largest diagonal entry of all ranks to 1: products of entries stay in the range of float32.
double scale_of(const DistProduct<double>& a) {
  const auto& local = a.local();
  std::array<double, 1> most{0};
  for (std::int64_t i = 0; i < local.rows; ++i)
    for (auto k = local.indptr.data[i]; k < local.indptr.data[i + 1]; ++k)
      if (local.indices.data[k] == i) most[0] = std::max(most[0], local.values.data[k]);
  a.matrix().comm->all_reduce(std::span<double>(most), Reduce::max);
  return most[0] > 0 && std::isfinite(most[0]) ? std::ldexp(1.0, -std::ilogb(most[0])) : 1;
}

template <class U, class T, class V>
void make(AnyDistHierarchy& made, const std::shared_ptr<DistProduct<V>>& a, double scale,
          const AnyDistHierarchy* before) {
  using Levels = std::shared_ptr<const DistHierarchy<T>>;
  const auto* kept = before ? std::get<Levels>(before->levels).get() : nullptr;
  auto h = build_dist_hierarchy<T, V>(a, scale, made.near_nullspace, made.vectors, made.options, kept);
  made.op.op = multigrid<U, T>(h, scale);
  made.levels = std::move(h);
}

AnyDistHierarchy built(const DistMatrix& m, AnyDistHierarchy made, const AnyDistHierarchy* before) {
  m.require_all_numbers("AMG");
  m.guard.require_whole();
  std::visit(
      [&]<class V>(const std::shared_ptr<DistProduct<V>>& a) {
        const nb::gil_scoped_release release;
        if (made.kind == "float32") return make<float, float>(made, a, 1, before);
        if (made.precision != "float32") return make<double, double>(made, a, 1, before);
        double scale = 1;
        if constexpr (std::is_same_v<V, double>) scale = scale_of(*a);
        make<double, float>(made, a, scale, before);
      },
      m.any);
  made.op.guard = m.guard;
  return made;
}

AnyDistHierarchy bound_dist_amg(const DistMatrix& m, const std::string& kind, const std::string& precision,
                                const ReadArray<double>& near_nullspace, std::int64_t vectors,
                                const nb::dict& d) {
  const auto* b = near_nullspace.data();
  return built(m,
               {.levels = {},
                .op = {},
                .kind = kind,
                .precision = precision,
                .near_nullspace = {b, b + near_nullspace.shape(0)},
                .vectors = vectors,
                .options = amg_options(d)},
               nullptr);
}

AnyDistHierarchy bound_update(const AnyDistHierarchy& before, const DistMatrix& m) {
  auto made = before;
  made.op = {};
  return built(m, std::move(made), &before);
}

/// (rows, nonzeros, ranks with rows) of all ranks, level by level.
nb::list levels_of(const AnyDistHierarchy& a) {
  nb::list out;
  std::visit(
      [&](const auto& h) {
        for (const auto& level : h->levels)
          out.append(nb::make_tuple(level.a->matrix().all_rows(), level.nnz, level.ranks));
      },
      a.levels);
  return out;
}

template <class F>
auto of_levels(F&& f) {
  return
      [f](const AnyDistHierarchy& a) { return std::visit([&](const auto& h) { return f(*h); }, a.levels); };
}

}  // namespace

void dist_multigrid(nb::module_& m) {
  nb::class_<AnyDistHierarchy>(m, "DistHierarchy", "The levels of algebraic multigrid over ranks.")
      .def_prop_ro("op", [](const AnyDistHierarchy& a) { return a.op; })
      .def_prop_ro("levels", levels_of)
      .def_prop_ro("bytes", of_levels([](const auto& h) { return h.bytes(); }))
      .def_prop_ro("factored", of_levels([](const auto& h) { return h.factored; }))
      .def("updated", bound_update, nb::arg("a"),
           "For other values, with the aggregates of these levels. Collective.");
  m.def("dist_amg", bound_dist_amg, nb::arg("a"), nb::arg("kind"), nb::arg("precision"),
        nb::arg("near_nullspace"), nb::arg("vectors"), nb::arg("options"), "Collective.");
}

}  // namespace penstock::bind
