#pragma once
#include <functional>
#include <string>

#include "penstock/comm/comm.hpp"
#include "penstock/schedule/device_op.hpp"
#include "penstock/solver/device_work.hpp"
#include "penstock/solver/solve.hpp"

namespace penstock {

/// Where a solve runs: a.apply multiplies rows that the ranks of `comm` share, a.rows = a.cols are those owned here, and all
/// vectors are on this rank's device (a.where). Everything that the caller has queued on `stream` comes before; it is
/// waited for at the end. `give_up` (may be empty) is called before an error leaves: it ends what waits on the device
/// for a rank that will not come.
template <class T>
struct DeviceSolve {
  const DeviceOp<T>& a;
  Comm& comm;
  const DeviceM<T>& m;  // may be empty: the identity
  Stream stream = {};
  std::function<void()> give_up = {};
};

/// The methods of solve.hpp. b and x are on the device; x is the guess and the result. Only sums
/// reach the host, in one transfer for each reduction, and the ranks add them up there: the same result on all ranks, and the same bits
/// in every run. A callback finds the x of its iteration on the device; checkpoints copy the state to host memory, where it
/// is that of the methods of solve.hpp. Collective.
template <class T>
SolveResult dist_cg_gpu(const DeviceSolve<T>& s, const T* b, T* x, const SolveOptions& options);
template <class T>
SolveResult dist_pipelined_cg_gpu(const DeviceSolve<T>& s, const T* b, T* x, const SolveOptions& options);
template <class T>
SolveResult dist_bicgstab_gpu(const DeviceSolve<T>& s, const T* b, T* x, const SolveOptions& options);
/// options.restart vectors and three more on the device.
template <class T>
SolveResult dist_gmres_gpu(const DeviceSolve<T>& s, const T* b, T* x, const SolveOptions& options);

/// By name: "cg", "pipecg", "bicgstab", "gmres".
template <class T>
SolveResult dist_solve_gpu(const std::string& method, const DeviceSolve<T>& s, const T* b, T* x,
                           const SolveOptions& options);

/// W(a, comm, m, b, x, options, stream, vectors, sums) and run(W&), with give_up called where that throws.
template <class W, class T, class Run>
SolveResult run_on_device(const DeviceSolve<T>& s, const T* b, T* x, const SolveOptions& o, int vectors,
                          std::int64_t sums, Run&& run) {
  require(s.a.rows == s.a.cols,
          "a solver needs a square matrix whose rows and columns are shared out alike; here are " +
              std::to_string(s.a.rows) + " rows and " + std::to_string(s.a.cols) + " columns");
  W work(s.a, s.comm, s.m, b, x, o, s.stream, vectors, sums);
  try {
    work.aim_at_b();
    return run(work);
  } catch (...) {
    if (s.give_up) s.give_up();  // comes before the end of `work`, which waits for its stream
    throw;
  }
}

}  // namespace penstock
