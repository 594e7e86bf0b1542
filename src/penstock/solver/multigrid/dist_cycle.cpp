// What a hierarchy over ranks costs, and its cycle: products that are collective, from one level's owners to the next level's.
#include <utility>

#include "penstock/solver/multigrid/dist_coarsest.hpp"
#include "penstock/solver/multigrid/dist_hierarchy.hpp"

namespace penstock {

template <class T>
std::int64_t DistHierarchy<T>::cycle_bytes() const {
  std::vector<LevelBytes> of;
  const auto bytes = [](const auto& product) {
    return product ? product->matrix().local.bytes() + product->matrix().halo.bytes() : std::int64_t(0);
  };
  for (const auto& level : levels)
    of.push_back({bytes(level.a), bytes(level.p), bytes(level.r), std::ssize(level.smoothing.steps)});
  const auto dense = coarsest ? coarsest->bytes() : std::int64_t(0);
  return bytes_of_cycle(of, factored ? dense : -1, cycle);
}

template <class T>
std::int64_t DistHierarchy<T>::bytes() const {
  std::int64_t sum = coarsest ? coarsest->bytes() : 0;
  for (const auto& level : levels) {
    for (const auto& product : {level.a, level.p, level.r})
      if (product) sum += product->matrix().local.bytes() + product->matrix().halo.bytes();
    sum += level.smoothing.weights.bytes() + level.aggregates.of.bytes();
  }
  return sum;
}

template <class U, class T>
LinearOp<U> multigrid(std::shared_ptr<const DistHierarchy<T>> hierarchy, double scale) {
  auto made = std::make_shared<CycleLevels<T>>();
  made->cycle = hierarchy->cycle;
  for (const auto& level : hierarchy->levels) {
    auto& l = made->levels.emplace_back();
    const auto times = [](std::shared_ptr<DistProduct<T>> a, Scale<PlusTimes<T>> how) {
      const auto in = at(a->matrix().cols()), out = at(a->matrix().rows());
      return [=](const T* x, T* y) {
        a->template multiply<PlusTimes<T>>(std::span<const T>(x, in), std::span<T>(y, out), how);
      };
    };
    l.rows = level.a->matrix().rows(), l.smoothing = level.smoothing;
    l.product = times(level.a, {});
    if (!level.p) continue;
    l.restrict = times(level.r, {});
    l.prolong = times(level.p, Scale<PlusTimes<T>>::accumulate());
  }
  const auto& last = hierarchy->levels.back().a->matrix();
  made->ranks.comm = last.comm;
  if (hierarchy->factored)
    made->coarsest = solve_on_first<T>(last.comm, *last.row_owners, hierarchy->coarsest);
  return cycle_op<U, T>(std::move(made), scale, [hierarchy] { return hierarchy->cycle_bytes(); });
}

template struct DistHierarchy<float>;
template struct DistHierarchy<double>;
template LinearOp<float> multigrid(std::shared_ptr<const DistHierarchy<float>>, double);
template LinearOp<double> multigrid(std::shared_ptr<const DistHierarchy<double>>, double);
template LinearOp<double> multigrid(std::shared_ptr<const DistHierarchy<float>>, double);

}  // namespace penstock
