// Chooses the CPU's algorithm for a matrix, builds the plans that it needs, once each, and multiplies by them. The rule looks
// at the matrix alone: stencil if most entries lie in runs, otherwise blocked if gathers from x miss the caches.
#include "penstock/kernel/spmv/spmv_plan.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/kernel/spmv/spmv_binned.hpp"
#include "penstock/kernel/spmv/spmv_blocked.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"
#include "penstock/kernel/spmv/spmv_stencil.hpp"

namespace penstock {
namespace {

/// In the order of SpmvAlgorithm, after `automatic`.
constexpr Choice kAlgorithms[] = {
    {"balanced", "rows by nonzeros, the CSR arrays as they are"},
    {"blocked", "blocks in which x and y stay in cache"},
    {"binned", "products go to bins of rows and are then added up"},
    {"stencil", "runs of rows whose columns are the row above's, moved by one"},
};
constexpr double kStencilShare = 0.8;  // the share of the entries that must lie in runs
// With fewer entries, a product takes microseconds, most of which is the call.
constexpr std::int64_t kBlockedEntries = 1 << 16;
// Rows of a stretch, and how many stretches are looked at.
constexpr std::int64_t kStretch = 64, kStretches = 256;
constexpr std::int64_t kShortest = 3;  // entries of a row on average

/// Whether the rows of most stretches are short and alike, but not so short that rows cost more than entries. Blocks then took
/// 1.1 to 1.4 times as long as rows (circuits, meshes), and otherwise 0.3 to 0.9 of the time (FEM, webs, roads, random and
/// R-MAT).
template <class V>
bool short_and_alike(const CsrView<V>& a) {
  std::int64_t looked = 0, alike = 0;
  const auto step = std::max(kStretch, a.rows / kStretches / kStretch * kStretch);
  for (std::int64_t r = 0; r + kStretch <= a.rows; r += step) {
    const auto* rows = a.indptr + r;
    ++looked;
    alike += rows[kStretch] - rows[0] >= kShortest * kStretch && penstock::short_and_alike(rows, kStretch, 1);
  }
  return 2 * alike > looked;
}

template <class V>
SpmvAlgorithm rule(const CsrView<V>& a) {
  if (stencil_share(a) >= kStencilShare) return SpmvAlgorithm::stencil;
  if (a.nnz() < kBlockedEntries || short_and_alike(a)) return SpmvAlgorithm::balanced;
  return SpmvAlgorithm::blocked;
}

[[noreturn]] void refuse(SpmvAlgorithm wish) {
  throw Error(Errc::not_compiled,
              "algorithm '" + std::string(name(wish)) +
                  "' is built for plus_times where matrix and vector are both float32 or both "
                  "float64, or the matrix is a pattern: use balanced");
}

}  // namespace

std::span<const Choice> spmv_algorithms() { return kAlgorithms; }

std::string_view name(SpmvAlgorithm algorithm) {
  return algorithm == SpmvAlgorithm::automatic ? "auto" : kAlgorithms[static_cast<int>(algorithm) - 1].name;
}

SpmvAlgorithm spmv_algorithm(std::string_view wish) {
  if (wish == "auto") return SpmvAlgorithm::automatic;
  for (int i = 0; i < static_cast<int>(std::size(kAlgorithms)); ++i)
    if (kAlgorithms[i].name == wish) return static_cast<SpmvAlgorithm>(i + 1);
  throw Error(Errc::invalid_argument, "algorithm '" + std::string(wish) + "' is unknown: choose one of " +
                                          list_names(kAlgorithms, "auto"));
}

/// In a child that was forked while a thread of its parent changed the plans, these are forgotten, and built again where they
/// are needed. Their memory stays allocated, because they may be half made.
template <class V>
ForkLock::Held SpmvPlans<V>::locked() const {
  auto held = lock_.lock();
  if (held.orphaned()) new (&made_) Made;
  return held;
}

template <class V>
void SpmvPlans<V>::build(const CsrView<V>& a, SpmvAlgorithm algorithm) {
  if constexpr (can_plan<V>) {
    if (algorithm == SpmvAlgorithm::blocked && !made_.blocked)
      made_.blocked = std::make_shared<BlockedPlan<V>>(make_blocked(a));
    if (algorithm == SpmvAlgorithm::binned && !made_.binned)
      made_.binned = std::make_shared<BinnedPlan<V>>(make_binned(a));
    if (algorithm == SpmvAlgorithm::stencil && !made_.stencil)
      made_.stencil = std::make_shared<StencilPlan<V>>(make_stencil(a));
  }
}

template <class V>
SpmvAlgorithm SpmvPlans<V>::prepare(const CsrView<V>& a, SpmvAlgorithm wish) {
  const auto held = locked();
  if constexpr (can_plan<V>) {
    if (wish == SpmvAlgorithm::automatic) wish = rule(a);
  } else {
    if (wish != SpmvAlgorithm::automatic && wish != SpmvAlgorithm::balanced) refuse(wish);
    wish = SpmvAlgorithm::balanced;
  }
  build(a, wish);
  return chosen_ = wish;
}

template <class V>
std::int64_t SpmvPlans<V>::bytes() const {
  const auto held = locked();
  if constexpr (can_plan<V>)
    return (made_.blocked ? made_.blocked->bytes() : 0) + (made_.binned ? made_.binned->bytes() : 0) +
           (made_.stencil ? made_.stencil->bytes() : 0);
  else return 0;
}

template <class V>
std::shared_ptr<void> SpmvPlans<V>::kept(int gpu, const std::function<std::shared_ptr<void>()>& make) {
  const auto held = locked();
  auto& one = made_.kept[gpu];
  if (!one) one = make();
  return one;
}

template <class V>
SpmvAlgorithm SpmvPlans<V>::chosen() const {
  const auto held = locked();
  return chosen_;
}

template <class V>
template <Semiring S>
SpmvAlgorithm SpmvPlans<V>::multiply(SpmvAlgorithm wish, const CsrView<V>& a, const typename S::value_type* x,
                                     typename S::value_type* y, Scale<S> scale,
                                     ProductDots<typename S::value_type>* dots) {
  if constexpr (Plannable<S, V>) {
    auto held = locked();
    const auto algorithm = wish == SpmvAlgorithm::automatic ? chosen_ : wish;
    build(a, algorithm);
    const auto blocked = made_.blocked;
    const auto binned = made_.binned;
    const auto stencil = made_.stencil;
    held.release();
    if (algorithm == SpmvAlgorithm::stencil)
      return spmv_stencil<S, V>(*stencil, a, x, y, scale, dots), algorithm;
    if (algorithm == SpmvAlgorithm::blocked) spmv_blocked<S, V>(*blocked, x, y, scale);
    if (algorithm == SpmvAlgorithm::binned) spmv_binned<S, V>(*binned, x, y, scale);
    if (algorithm != SpmvAlgorithm::balanced) {
      if (dots) dots->pass(y, a.rows);
      return algorithm;
    }
  } else if (wish != SpmvAlgorithm::automatic && wish != SpmvAlgorithm::balanced) {
    refuse(wish);
  }
  cpu::spmv<S, V>(a, x, y, scale, dots);
  return SpmvAlgorithm::balanced;
}

template class SpmvPlans<One>;
template class SpmvPlans<float>;
template class SpmvPlans<double>;
template class SpmvPlans<Complex64>;
template class SpmvPlans<Complex128>;
#define X(S, V)                                                                                            \
  template SpmvAlgorithm SpmvPlans<V>::multiply<S>(SpmvAlgorithm, const CsrView<V>&, const S::value_type*, \
                                                   S::value_type*, Scale<S>, ProductDots<S::value_type>*);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock
