#pragma once
#include <span>

#include "penstock/format/csr.hpp"
#include "penstock/solver/linear_op.hpp"

namespace penstock {

/// Where the entries of a subdomain come from, in host memory.
template <class T>
struct SubdomainParts {
  std::int64_t rows = 0;
  std::span<const Index> owned, ghosts;  // where each owned entry of a vector, and each ghost, lies in it
  std::span<const T> weights;            // of the subdomain's rows; may be empty
  bool adds = false;                     // whether entries of z for ghosts go back to their owners
};

/// additive_schwarz() for vectors on a device, around the form of its inner solver. `owner` keeps the parts.
template <class T>
DeviceForm<T> device_schwarz(std::shared_ptr<const void> owner, const SubdomainParts<T>& parts,
                             const DeviceForm<T>& inner);

}  // namespace penstock
