#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/bind/product/product.hpp"
#include "penstock/schedule/stream_plan.hpp"

// A stream plan without the types of its matrix, and how one is made of each form of a matrix.
namespace penstock::bind {

struct AnyPlan {
  std::shared_ptr<StreamPlan> plan;
  /// The product over a semiring for vectors of a type; nothing where no kernel is compiled for them.
  std::function<std::optional<BlockProduct>(const std::string& semiring, nb::dlpack::dtype,
                                            const nb::object& alpha, const nb::object& beta)>
      product;
  std::string codec;
  std::vector<std::shared_ptr<void>> keeps;  // locked pages
  Guard guard;                               // of the matrix that it reads
};

template <class S, class V, class Source>
bool try_product_of(const std::shared_ptr<const Source>& source, const std::string& semiring,
                    nb::dlpack::dtype type, const nb::object& alpha, const nb::object& beta,
                    std::optional<BlockProduct>& out) {
  if (semiring != semiring_name<S>() || type != nb::dtype<typename S::value_type>()) return false;
  out = product_of<S>(source, scale_of<S>(alpha, beta));
  return true;
}

}  // namespace penstock::bind
