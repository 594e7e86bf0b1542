#pragma once
#include <optional>
#include <string>

#include "penstock/schedule/device_op.hpp"
#include "penstock/solver/solve.hpp"

namespace penstock {

/// Whether cg_gpu can use this M with vectors on a device: null, a diagonal one, or one that lives there.
template <class T>
bool keeps_vectors_on_device(const LinearOp<T>* m, Where where) {
  return !m || m->diagonal.size == m->rows || (m->on_device.make && m->on_device.home == where);
}

/// Device memory that cg_gpu takes for its vectors, in bytes.
std::int64_t cg_gpu_bytes(std::int64_t rows, std::int64_t entry_bytes, bool with_m);

/// Conjugate gradients as `cg`, with all vectors where A computes: b goes there once, x comes back once (and after each
/// iteration where there is a callback). M is one of keeps_vectors_on_device(m, a.where). b and x are in host memory. The same
/// bits in every run. Where the device's memory does not hold the vectors, or states should be kept, it returns nothing and
/// leaves x as it was.
template <class T>
std::optional<SolveResult> cg_gpu(const DeviceOp<T>& a, const LinearOp<T>* m, std::span<const T> b,
                                  std::span<T> x, const SolveOptions& options);

/// b and x in the memory of the device where A computes, whose caller queues work on `stream`.
template <class T>
struct CgVectors {
  const T* b = nullptr;
  T* x = nullptr;            // gets the solution; begins at a multiple of 16 bytes
  const T* guess = nullptr;  // null: the first x is zero
  void* stream = nullptr;
};

/// Throw Error{invalid_argument} or Error{not_accessible} for what no method on a device can use, such as an x that overlaps b; `faults` is how many entries of a
/// vector are no finite numbers.
template <class T>
void check_operators(const DeviceOp<T>& a, const LinearOp<T>* m);
template <class T>
void check_vectors(const DeviceOp<T>& a, const CgVectors<T>& vectors);
void require_finite(double faults, const std::string& name);

/// The same with b and x on the device, which they never leave. What the caller's stream has been given comes before the solve,
/// and what it is given later comes after it; a callback finds x current there. Throws Error{invalid_argument} where an entry
/// of b or of the guess is no finite number, and Error{out_of_memory} where three more vectors (four with M) do not fit.
template <class T>
SolveResult cg_on_device(const DeviceOp<T>& a, const LinearOp<T>* m, const CgVectors<T>& vectors,
                         const SolveOptions& options);

/// The operator for methods whose vectors are in host memory: products are done by `a`.
template <class T>
LinearOp<T> with_host_vectors(const DeviceOp<T>& a);

}  // namespace penstock
