// What a hierarchy in one process costs, and its cycle.
#include <complex>
#include <functional>
#include <utility>
#include <vector>

#include "penstock/solver/complex_form.hpp"
#include "penstock/solver/multigrid/hierarchy.hpp"

namespace penstock {

namespace {

/// to = A from, or to += A from, of vectors given by their parts.
template <class T>
std::function<void(const T* from, T* to)> complex_product(const Csr<T>& parts, LevelBytes& bytes,
                                                          std::int64_t LevelBytes::*of, bool adds) {
  using C = std::complex<T>;
  const auto a = complex_of_parts(parts);
  bytes.*of = a.bytes();
  const auto scale = adds ? Scale<PlusTimes<C>>::accumulate() : Scale<PlusTimes<C>>{};
  return [a, scale](const T* from, T* to) {
    cpu::spmv<PlusTimes<C>, C>(a.view(), reinterpret_cast<const C*>(from), reinterpret_cast<C*>(to), scale);
  };
}

template <class U, class T>
LinearOp<U> complex_multigrid(std::shared_ptr<const Hierarchy<T>> hierarchy, double scale) {
  auto made = std::make_shared<CycleLevels<T>>();
  made->cycle = hierarchy->cycle;
  std::vector<LevelBytes> of;
  for (const auto& level : hierarchy->levels) {
    auto& l = made->levels.emplace_back();
    auto& bytes = of.emplace_back(LevelBytes{.steps = std::ssize(level.smoothing.steps)});
    l.rows = level.a.rows, l.smoothing = level.smoothing;
    l.product = complex_product(level.a, bytes, &LevelBytes::a, false);
    if (level.p.indptr.data == nullptr) continue;
    l.restrict = complex_product(level.r, bytes, &LevelBytes::r, false);
    l.prolong = complex_product(level.p, bytes, &LevelBytes::p, true);
  }
  if (hierarchy->coarsest)
    made->coarsest = [hierarchy](const T* b, T* z) { hierarchy->coarsest->apply(b, z); };
  const auto dense = hierarchy->coarsest ? hierarchy->coarsest->bytes() : -1;
  const auto read = bytes_of_cycle(of, dense, hierarchy->cycle);
  return cycle_op<U, T>(std::move(made), scale, [read] { return read; });
}

}  // namespace

template <class U, class T>
LinearOp<U> multigrid(std::shared_ptr<const Hierarchy<T>> hierarchy, double scale, bool complex) {
  if (complex) return complex_multigrid<U, T>(std::move(hierarchy), scale);
  auto made = std::make_shared<CycleLevels<T>>();
  made->cycle = hierarchy->cycle;
  for (const auto& level : hierarchy->levels) {
    auto& l = made->levels.emplace_back();
    l.rows = level.a.rows, l.smoothing = level.smoothing;
    l.product = [a = level.a, plans = level.plans](const T* x, T* y) {
      plans->template multiply<PlusTimes<T>>(SpmvAlgorithm::automatic, a.view(), x, y, {});
    };
    if (level.p.indptr.data == nullptr) continue;
    l.restrict = [r = level.r](const T* x, T* b) { cpu::spmv<PlusTimes<T>, T>(r.view(), x, b, {}); };
    l.prolong = [p = level.p](const T* e, T* z) {
      cpu::spmv<PlusTimes<T>, T>(p.view(), e, z, Scale<PlusTimes<T>>::accumulate());
    };
  }
  if (hierarchy->coarsest)
    made->coarsest = [hierarchy](const T* b, T* z) { hierarchy->coarsest->apply(b, z); };
  return cycle_op<U, T>(std::move(made), scale, [hierarchy] { return hierarchy->cycle_bytes(); });
}

std::int64_t bytes_of_cycle(const std::vector<LevelBytes>& levels, std::int64_t dense, AmgCycle cycle) {
  std::int64_t sum = 0, before = 1;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const auto& level = levels[l];
    const bool last = l + 1 == levels.size();
    // How often a cycle comes to the level, at most.
    const auto visits = l > 0 && !last && cycle != AmgCycle::v ? 2 * before : before;
    auto products = 2 * level.steps;
    if (last) products = dense >= 0 ? 0 : level.steps - 1;
    sum += visits * (products * level.a + level.p + level.r + (last && dense >= 0 ? dense : 0));
    // A second visit begins with the residual of the first; a K cycle multiplies after each.
    if (visits > before) sum += (cycle == AmgCycle::k ? visits : visits / 2) * level.a;
    before = visits;
  }
  return sum;
}

template <class T>
std::int64_t Hierarchy<T>::cycle_bytes() const {
  std::vector<LevelBytes> of;
  for (const auto& level : levels)
    of.push_back({level.a.bytes(), level.p.bytes(), level.r.bytes(), std::ssize(level.smoothing.steps)});
  return bytes_of_cycle(of, factored() ? inverse.bytes() + (coarsest ? coarsest->bytes() : 0) : -1, cycle);
}

template <class T>
std::int64_t Hierarchy<T>::bytes() const {
  std::int64_t sum = inverse.bytes() + (coarsest ? coarsest->bytes() : 0);
  for (const auto& level : levels)
    sum += level.a.bytes() + level.p.bytes() + level.r.bytes() + (level.plans ? level.plans->bytes() : 0) +
           level.smoothing.weights.size * static_cast<std::int64_t>(sizeof(T)) +
           level.aggregates.of.size * static_cast<std::int64_t>(sizeof(Index));
  return sum;
}

template <class T>
std::int64_t Hierarchy<T>::device_bytes() const {
  constexpr auto kEntry = static_cast<std::int64_t>(sizeof(T));
  auto sum = inverse.bytes();
  if (kEntry == 4) sum += 2 * kEntry * levels.front().a.rows;  // for vectors in float64
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const auto& level = levels[l];
    if (l > 0 || !streamed()) sum += level.a.bytes();
    sum += level.p.bytes() + level.r.bytes() + level.aggregates.of.bytes() +
           kEntry *
               (level.smoothing.weights.size +
                level.a.rows * (l == 0 ? kOwnVectors : kOwnVectors + kAskedVectors + (cycle == AmgCycle::k)));
  }
  return sum;
}

template struct Hierarchy<float>;
template struct Hierarchy<double>;

template LinearOp<float> multigrid(std::shared_ptr<const Hierarchy<float>>, double, bool);
template LinearOp<double> multigrid(std::shared_ptr<const Hierarchy<double>>, double, bool);
template LinearOp<double> multigrid(std::shared_ptr<const Hierarchy<float>>, double, bool);

}  // namespace penstock
