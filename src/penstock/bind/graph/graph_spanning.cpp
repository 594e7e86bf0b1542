// Minimum spanning forests.
#include <variant>

#include "penstock/bind/graph/graph.hpp"
#include "penstock/graph/cc/spanning.hpp"

namespace penstock::bind {

void graph_spanning(nb::module_& m) {
  m.def(
      "minimum_spanning_forest",
      [](const Matrix& m, bool mirrored) {
        return with_real(m, [&]<class V>(const Csr<V>& a) {
          SpanningForest<V> f;
          {
            const nb::gil_scoped_release release;
            f = minimum_spanning_forest(a, mirrored);
          }
          nb::object values = nb::none();
          if constexpr (!is_pattern<V>) values = as_result(f.values);
          return nb::make_tuple(as_result(f.row), as_result(f.col), values);
        });
      },
      nb::arg("a"), nb::arg("mirrored"), "(row, col, values or None for a pattern)");
  m.def(
      "minimum_spanning_forest_verify",
      [](const Matrix& m, const Matrix& forest) {
        with_real(m, [&]<class V>(const Csr<V>& a) {
          const auto& any = forest.any();
          const auto* f = std::get_if<Csr<V>>(&any);
          require(f != nullptr, "the forest's values must have the type of the graph's");
          check_on_host(f->indptr.place);
          const nb::gil_scoped_release release;
          minimum_spanning_forest_verify(a, *f);
        });
      },
      nb::arg("a"), nb::arg("forest"));
}

}  // namespace penstock::bind
