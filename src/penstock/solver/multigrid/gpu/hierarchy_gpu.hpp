#pragma once
#include <string_view>

#include "penstock/core/device.hpp"
#include "penstock/solver/multigrid/gpu/setup_steps.hpp"
#include "penstock/solver/multigrid/hierarchy.hpp"

namespace penstock {

/// What to do where the levels of a matrix that is streamed do not fit.
inline constexpr std::string_view kRoomRemedy =
    "allow more (ps.options(device_memory=...)), let the plan keep less "
    "(A.prepare(schedule=ps.Streamed(keep=False))), take precision='float32', or call A.release(), and the "
    "CPU makes "
    "and applies the levels";

/// How a finest matrix that is not in the device's memory is used there. The device and the CPU both read it: it is in pinned memory.
template <class T>
struct StreamedFinest {
  DeviceOp<T> product;      // of a stream plan, with vectors on the device
  std::int64_t memory = 0;  // bytes that the levels and a cycle's vectors may take there; 0: what there is
  Offset block_nnz = 0;     // entries of A in a block of the set-up's products; 0: finest_block() chooses
};

/// As build_hierarchy, with A and all levels in the memory of one device. Where A is symmetric, everything is computed
/// there but the factors of the last level: the same aggregates, and levels that differ by rounding. Else a copy of A comes to
/// the CPU, which makes the levels. With `streamed`, A stays where it is: the set-up takes blocks of its rows to the device, and a
/// cycle multiplies by `streamed->product`. Columns of A ascend, without
/// duplicates. `near_nullspace` is in host memory; where it is empty, the vectors are ones of each row of a block, and `vectors` is
/// o.block. Throws as build_hierarchy, and Error{out_of_memory}.
template <class T>
std::shared_ptr<const Hierarchy<T>> build_hierarchy_on(const Csr<T>& a,
                                                       const std::vector<double>& near_nullspace,
                                                       std::int64_t vectors, const AmgOptions& options,
                                                       Where where, const Hierarchy<T>* before = nullptr,
                                                       const StreamedFinest<T>* streamed = nullptr);

/// Whether two matrices in the memory of the stream's device have entries at the same places. Waits for the stream.
template <class V>
bool same_pattern_on(const Csr<V>& a, const Csr<V>& b, Stream stream) {
  return a.rows == b.rows && a.cols == b.cols && a.nnz() == b.nnz() &&
         find_first(a.rows + 1, Differs<Offset>{a.indptr.data, b.indptr.data}, stream) == kNone &&
         find_first(a.nnz(), Differs<Index>{a.indices.data, b.indices.data}, stream) == kNone;
}

}  // namespace penstock
