#pragma once
#include <memory>
#include <span>

#include "penstock/solver/linear_op.hpp"
#include "penstock/solver/precondition/level_triangle.hpp"

namespace penstock {

/// z = (L D U)^-1 r for vectors on a device, from the triangles as the host has them and the inverse of D. `owner` keeps all
/// three. A device holds a copy of both triangles by levels and, while a solver uses it, two vectors more.
template <class T>
DeviceForm<T> device_factors(std::shared_ptr<const void> owner, const HostTriangle<T>& lower,
                             const HostTriangle<T>& upper, std::span<const T> inverse);

}  // namespace penstock
