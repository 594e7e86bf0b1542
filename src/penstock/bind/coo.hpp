// Triples as Python holds them.
#pragma once
#include <string>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/format/coo.hpp"

namespace penstock::bind {

using AnyArray = nb::ndarray<nb::ro, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline CooIndices indices_of(const AnyArray& a, const char* name) {
  const bool wide = a.dtype() == nb::dtype<std::int64_t>();
  require(wide || a.dtype() == nb::dtype<std::int32_t>(),
          std::string(name) + " must be int32 or int64: convert it with astype");
  return {a.data(), wide};
}

inline Mirror mirror_of(const std::string& name) {
  if (name == "none") return Mirror::none;
  if (name == "symmetric") return Mirror::symmetric;
  if (name == "skew") return Mirror::skew;
  if (name == "hermitian") return Mirror::hermitian;
  throw Error(Errc::invalid_argument, "mirror \"" + name + "\" is not none, symmetric, skew or hermitian");
}

}  // namespace penstock::bind
