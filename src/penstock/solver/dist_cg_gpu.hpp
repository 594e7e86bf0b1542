#pragma once
#include <functional>

#include "penstock/comm/comm.hpp"
#include "penstock/schedule/device_op.hpp"
#include "penstock/solver/solve.hpp"

namespace penstock {

/// Conjugate gradients as `cg` over rows that the ranks of `comm` share, with all vectors on this rank's device (a.where).
/// a.apply multiplies, a.rows = a.cols are the rows owned here. b, x and `diagonal` (of M; may be null) are on the device;
/// x is the guess and the result. What reaches the host of a vector are two sums an iteration and rank, which the ranks
/// add up there. Everything that the caller has queued on `stream` comes before; it is waited for at the end. The same
/// result on all ranks, and the same bits in every run. `give_up` (may be empty) is called before an error leaves: it ends
/// what waits on the device for a rank that will not come. Collective.
template <class T>
SolveResult dist_cg_gpu(const DeviceOp<T>& a, Comm& comm, const T* diagonal, const T* b, T* x,
                        const SolveOptions& options, Stream stream,
                        const std::function<void()>& give_up = {});

}  // namespace penstock
