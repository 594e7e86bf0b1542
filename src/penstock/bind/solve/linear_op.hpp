#pragma once
#include <concepts>
#include <variant>

#include "penstock/bind/bind.hpp"
#include "penstock/solver/linear_op.hpp"

namespace penstock::bind {

/// An operator as Python holds it.
struct AnyOp {
  std::variant<LinearOp<float>, LinearOp<double>> op;
  Guard guard;  // of the matrix that it reads
};

template <class T>
constexpr const char* dtype_of() {
  return std::same_as<T, float> ? "float32" : "float64";
}

}  // namespace penstock::bind
