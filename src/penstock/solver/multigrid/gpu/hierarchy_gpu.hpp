#pragma once
#include "penstock/core/device.hpp"
#include "penstock/solver/multigrid/hierarchy.hpp"

namespace penstock {

/// As build_hierarchy for a symmetric A and a V or W cycle, with A and all levels in the memory of one device, where everything is
/// computed but the factors of the last level: the same aggregates, and levels that differ by rounding. Columns of A ascend, without
/// duplicates. `near_nullspace` is in host memory; where it is empty, the vectors are ones of each row of a block, and `vectors` is
/// o.block. Throws as build_hierarchy, and Error{out_of_memory}.
template <class T>
std::shared_ptr<const Hierarchy<T>> build_hierarchy_on(const Csr<T>& a,
                                                       const std::vector<double>& near_nullspace,
                                                       std::int64_t vectors, const AmgOptions& options,
                                                       Where where, const Hierarchy<T>* before = nullptr);

}  // namespace penstock
