#pragma once
#include <memory>
#include <variant>

#include "penstock/bind/bind.hpp"
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
  std::variant<std::shared_ptr<DistProduct<One>>, std::shared_ptr<DistProduct<float>>,
               std::shared_ptr<DistProduct<double>>>
      any;
  std::string partition;  // the name of its kind
  Guard guard;            // of a share that is a range of a mapped file
};

/// f(product) of the type that the matrix has.
template <class F>
decltype(auto) visit(const DistMatrix& a, F&& f) {
  a.guard.require_whole();
  return std::visit([&](const auto& product) -> decltype(auto) { return f(*product); }, a.any);
}

}  // namespace penstock::bind
