#pragma once
#include "penstock/core/device.hpp"
#include "penstock/schedule/device_op.hpp"
#include "penstock/solver/multigrid/smoothing.hpp"

// Of smoothing.hpp and level_checks.hpp what a set-up in the memory of the stream's device needs. Where nothing else is said, results are
// complete when the stream has come there. A matrix that is not in that memory has products `there`, and comes in blocks of rows with `block`
// entries (staged_rows.hpp).
namespace penstock {

template <class T>
Array<const T> inverse_diagonal_on(const Csr<T>& a, Stream stream, Offset block = 0);

template <class T>
Array<const T> inverse_row_sums_on(const Csr<T>& a, Stream stream, Offset block = 0);

/// A in float32, times `scale`, which is narrowing_scale() of its diagonal. Waits for the stream.
Csr<float> narrowed_on(const Csr<double>& a, double& scale, Stream stream);

/// Waits for the stream, as do all that follow. Throws as require_positive_diagonal.
template <class T>
void require_positive_diagonal_on(const Array<const T>& inverse, Stream stream);

/// Throws as require_symmetric. Products go by `there` where A is not in the device's memory.
template <class T>
void require_symmetric_on(const Csr<T>& a, Stream stream, const DeviceOp<T>* there = nullptr);

/// As largest_eigenvalue, of which it differs by rounding. Throws as that.
template <class T>
double largest_eigenvalue_on(const Csr<T>& a, const Array<const T>& inverse, Stream stream,
                             const DeviceOp<T>* there = nullptr, Offset block = 0);

}  // namespace penstock
