#pragma once
#include <string>
#include <variant>

#include "penstock/bind/bind.hpp"
#include "penstock/schedule/device_op.hpp"

namespace penstock::bind {

/// y = A x with vectors that live with a device, as Python holds it.
struct AnyDeviceOp {
  std::variant<DeviceOp<float>, DeviceOp<double>> op;
  Guard guard;  // of the matrix that it reads
};

}  // namespace penstock::bind
