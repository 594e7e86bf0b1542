#pragma once
#include <optional>
#include <string>

#include "penstock/solver/krylov/cg_gpu.hpp"

namespace penstock {

/// The methods of dist_solve_gpu.hpp for one process: a single rank has all rows. M is one of keeps_vectors_on_device(m, a.where).
/// b and x are in host memory: b goes to the device once, x comes back once, and after each iteration where there is a callback.
/// Where the device's memory does not hold the vectors, it returns nothing and leaves x as it was.
template <class T>
std::optional<SolveResult> lone_solve_gpu(const std::string& method, const DeviceOp<T>& a,
                                          const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
                                          const SolveOptions& options);

/// The same with b and x on the device, as cg_on_device. Throws as that.
template <class T>
SolveResult lone_solve_on_device(const std::string& method, const DeviceOp<T>& a, const LinearOp<T>* m,
                                 const CgVectors<T>& vectors, const SolveOptions& options);

}  // namespace penstock
