#pragma once
#include <memory>

#include "penstock/solver/multigrid/hierarchy.hpp"

namespace penstock {

/// M = one cycle of levels in a device's memory (build_hierarchy_on). Its form for vectors there (LinearOp::on_device) queues
/// products and passes on the stream and waits for nothing, but for sums of a K cycle, and where the finest matrix is streamed; memory beside
/// the levels is taken when a solver first asks for it, and stays
/// for later ones. `apply` copies vectors in host memory there and back. With vectors of another type than T, which are scaled by a power
/// of two; `scale` M is applied.
template <class U, class T>
LinearOp<U> multigrid_on(std::shared_ptr<const Hierarchy<T>> hierarchy, double scale);

}  // namespace penstock
