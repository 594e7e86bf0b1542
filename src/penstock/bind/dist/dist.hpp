#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/product/product.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/product/dist_product.hpp"

namespace penstock::bind {

/// A distributed matrix as Python holds it: with its products, so that exchanges and plans are made once.
struct DistMatrix {
  template <class V>
  DistMatrix(std::shared_ptr<DistProduct<V>> product, std::string kind)
      : any(product), partition(std::move(kind)) {
    const auto& a = product->matrix();
    guard = Guard::of(a.local.indptr, a.local.indices, a.local.values, a.halo.indptr, a.halo.indices,
                      a.halo.values);
  }
  bool listed() const {
    return std::visit(
        [](const auto& p) {
          return p->matrix().row_owners->is_listed() || p->matrix().col_owners->is_listed();
        },
        any);
  }
  /// For what takes a matrix as a whole, its empty rows included.
  void require_all_numbers(const std::string& what) const {
    require(!listed(), [&] {
      return what +
             ": this matrix has more than 2^31 - 1 rows or columns, and ranks hold those alone that have "
             "entries. "
             "Products, bfs and connected_components take it; renumber it for others, with ps.from_edges or "
             "D.rows";
    });
  }
  std::variant<std::shared_ptr<DistProduct<One>>, std::shared_ptr<DistProduct<float>>,
               std::shared_ptr<DistProduct<double>>>
      any;
  std::string partition;  // the name of its kind
  Guard guard;            // of a share that is a range of a mapped file
};

/// What the products of a distributed matrix go by, as Python names it.
struct ProductSettings {
  std::string halo, sums, algorithm;
  std::optional<AnySchedule> schedule;

  DistProductOptions options() const {
    DistProductOptions o{.halo = halo, .sums = sums, .algorithm = spmv_algorithm(algorithm)};
    if (schedule) o.schedule = schedule->value;
    return o;
  }
};

/// f(product) of the type that the matrix has.
template <class F>
decltype(auto) visit(const DistMatrix& a, F&& f) {
  a.guard.require_whole();
  return std::visit([&](const auto& product) -> decltype(auto) { return f(*product); }, a.any);
}

}  // namespace penstock::bind
