// Algebraic multigrid: a hierarchy made of a matrix, and its cycle as a preconditioner.
#include "penstock/solver/multigrid/hierarchy.hpp"

#include <cmath>

#include "penstock/bind/solve/amg_options.hpp"
#include "penstock/bind/solve/linear_op.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::bind {
namespace {

struct AnyHierarchy {
  std::variant<std::shared_ptr<const Hierarchy<float>>, std::shared_ptr<const Hierarchy<double>>> levels;
  AnyOp op;

  /// The same options and vectors for a matrix with the same pattern.
  std::string precision;
  std::vector<double> near_nullspace;
  std::int64_t vectors = 1;
  AmgOptions options;
};

/// A in float32, times the power of two that brings its largest diagonal entry to 1: products of entries stay in range.
Csr<float> narrowed(const Csr<double>& a, double& scale) {
  double most = 0;
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k)
      if (a.indices.data[k] == i) most = std::max(most, a.values.data[k]);
  scale = most > 0 && std::isfinite(most) ? std::ldexp(1.0, -std::ilogb(most)) : 1;
  const auto values = allocate<float>(std::max<Offset>(a.nnz(), 1));
  constexpr std::int64_t kEntries = 1 << 16;
  parallel_ranges(a.nnz(), kEntries, [&](std::int64_t first, std::int64_t last) {
    for (auto k = first; k < last; ++k) values.data[k] = static_cast<float>(scale * a.values.data[k]);
  });
  return {a.rows, a.cols, a.indptr, a.indices, values.slice(0, a.nnz())};
}

template <class T>
const Hierarchy<T>* hierarchy_of(const AnyHierarchy* any) {
  using Levels = std::shared_ptr<const Hierarchy<T>>;
  return any ? std::get<Levels>(any->levels).get() : nullptr;
}

/// `made` with its levels, of which those of `before` lend their aggregates.
AnyHierarchy built(const Matrix& m, AnyHierarchy made, const AnyHierarchy* before) {
  m.guard().look();
  const auto& any = m.any();
  const auto* f = std::get_if<Csr<float>>(&any);
  const auto* w = std::get_if<Csr<double>>(&any);
  require(f || w, "AMG works on real matrices in float32 or float64");
  if (f) require_host(*f, "AMG");
  else require_host(*w, "AMG");
  {
    const nb::gil_scoped_release release;
    const auto& b = made.near_nullspace;
    if (f) {
      auto h = build_hierarchy<float>(*f, b, made.vectors, made.options, hierarchy_of<float>(before));
      made.op.op = multigrid<float, float>(h, 1);
      made.levels = std::move(h);
    } else if (made.precision == "float32") {
      double scale = 1;
      auto h = build_hierarchy<float>(narrowed(*w, scale), b, made.vectors, made.options,
                                      hierarchy_of<float>(before));
      made.op.op = multigrid<double, float>(h, scale);
      made.levels = std::move(h);
    } else {
      auto h = build_hierarchy<double>(*w, b, made.vectors, made.options, hierarchy_of<double>(before));
      made.op.op = multigrid<double, double>(h, 1);
      made.levels = std::move(h);
    }
  }
  made.op.guard = m.guard();
  return made;
}

AnyHierarchy bound_amg(const Matrix& m, const std::string& precision, const ReadArray<double>& near_nullspace,
                       std::int64_t vectors, const nb::dict& d) {
  const auto o = amg_options(d);
  const auto* f = std::get_if<Csr<float>>(&m.any());
  const auto* w = std::get_if<Csr<double>>(&m.any());
  require(f || w, "AMG works on real matrices in float32 or float64");
  require(vectors >= 1 && std::int64_t(near_nullspace.shape(0)) == (f ? f->rows : w->rows) * vectors,
          "AMG: near_nullspace needs a row for each row of A");
  return built(m,
               {.levels = {},
                .op = {},
                .precision = precision,
                .near_nullspace = {near_nullspace.data(), near_nullspace.data() + near_nullspace.shape(0)},
                .vectors = vectors,
                .options = o},
               nullptr);
}

AnyHierarchy bound_update(const AnyHierarchy& before, const Matrix& m) {
  AnyHierarchy made{.levels = {},
                    .op = {},
                    .precision = before.precision,
                    .near_nullspace = before.near_nullspace,
                    .vectors = before.vectors,
                    .options = before.options};
  return built(m, std::move(made), &before);
}

template <class F>
auto at_level(const AnyHierarchy& a, std::int64_t number, F&& f) {
  return std::visit(
      [&](const auto& h) {
        require(number >= 0 && number < std::ssize(h->levels), "AMG: there is no such level");
        return f(h->levels[at(number)]);
      },
      a.levels);
}

}  // namespace

void multigrid(nb::module_& m) {
  nb::class_<AnyHierarchy>(m, "Hierarchy", "The levels of algebraic multigrid.")
      .def_prop_ro("op", [](const AnyHierarchy& a) { return a.op; })
      .def_prop_ro("levels",
                   [](const AnyHierarchy& a) {
                     return std::visit([](const auto& h) { return std::ssize(h->levels); }, a.levels);
                   })
      .def_prop_ro("bytes",
                   [](const AnyHierarchy& a) {
                     return std::visit([](const auto& h) { return h->bytes(); }, a.levels);
                   })
      .def("updated", bound_update, nb::arg("a"), "For other values, with the aggregates of these levels.")
      .def_prop_ro("factored",
                   [](const AnyHierarchy& a) {
                     return std::visit([](const auto& h) { return h->coarsest.has_value(); }, a.levels);
                   })
      .def(
          "matrix",
          [](const AnyHierarchy& a, std::int64_t l) {
            return at_level(a, l, [](const auto& level) { return Matrix(AnyCsr(level.a)); });
          },
          nb::arg("level"))
      .def(
          "prolongator",
          [](const AnyHierarchy& a, std::int64_t l) {
            return at_level(a, l, [](const auto& level) {
              require(level.p.indptr.data != nullptr, "AMG: the last level has no prolongator");
              return Matrix(AnyCsr(level.p));
            });
          },
          nb::arg("level"))
      .def(
          "aggregates",
          [](const AnyHierarchy& a, std::int64_t l) {
            return at_level(a, l, [](const auto& level) { return as_numpy(level.aggregates.of); });
          },
          nb::arg("level"))
      .def(
          "largest_eigenvalue",
          [](const AnyHierarchy& a, std::int64_t l) {
            return at_level(a, l, [](const auto& level) { return level.largest; });
          },
          nb::arg("level"));
  m.def("amg", bound_amg, nb::arg("a"), nb::arg("precision"), nb::arg("near_nullspace"), nb::arg("vectors"),
        nb::arg("options"));
}

}  // namespace penstock::bind
