#pragma once
#include <concepts>
#include <string_view>

#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock::bind {

/// A semiring as Python names it; the type of its vectors is the dtype of x.
template <class S>
constexpr std::string_view semiring_name() {
  if constexpr (std::same_as<S, OrAnd>) return "or_and";
  else if constexpr (std::same_as<S, MinPlus<typename S::value_type>>) return "min_plus";
  else if constexpr (std::same_as<S, MaxTimes<typename S::value_type>>) return "max_times";
  else return "plus_times";
}

}  // namespace penstock::bind
