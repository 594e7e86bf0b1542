#pragma once
#include "penstock/solver/device_work.hpp"
#include "penstock/solver/precondition/preconditioners.hpp"

namespace penstock {

/// chebyshev() for vectors on a device: products and passes alone, nothing reaches the host. `inverse_diagonal` is on the
/// device; both it and `a` live as long as what is returned, which is applied on `stream`. Throws
/// Error{invalid_argument} as chebyshev().
template <class T>
DeviceM<T> device_chebyshev(const DeviceOp<T>& a, const T* inverse_diagonal, const ChebyshevOptions& options,
                            Stream stream);

}  // namespace penstock
