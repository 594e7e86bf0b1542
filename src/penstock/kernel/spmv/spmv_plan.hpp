#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>

#include "penstock/core/choice.hpp"
#include "penstock/core/locks.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// How the CPU walks a matrix in memory. `balanced` needs only the CSR arrays; the others need a plan.
enum class SpmvAlgorithm { automatic, balanced, blocked, binned, stencil };
std::string_view name(SpmvAlgorithm);
std::span<const Choice> spmv_algorithms();            // the list, without "auto"
SpmvAlgorithm spmv_algorithm(std::string_view name);  // throws Error{invalid_argument} listing the names

template <class V>
struct BlockedPlan;
template <class V>
struct BinnedPlan;
template <class V>
struct StencilPlan;

/// Which products have blocked, binned and stencil kernels: plus_times in float or double, with values of that type
/// or none.
template <class S, class V>
concept Plannable = (std::same_as<S, PlusTimes<float>> && (is_pattern<V> || std::same_as<V, float>)) ||
                    (std::same_as<S, PlusTimes<double>> && (is_pattern<V> || std::same_as<V, double>));
template <class V>
inline constexpr bool can_plan = is_pattern<V> || std::same_as<V, float> || std::same_as<V, double>;

/// The plans of one matrix. Each is built once, when it is first asked for. Several threads may use them, and so may a child
/// that was forked while one of them built a plan. A plan holds a second copy of the entries in its own order (stencil: only of
/// those that its runs cannot share).
template <class V>
class SpmvPlans {
 public:
  /// Builds the plan of `wish`. `automatic` looks at the matrix: it builds stencil if rows repeat, blocked if gathers miss the
  /// caches, and otherwise nothing. Returns the algorithm that products use from now on.
  SpmvAlgorithm prepare(const CsrView<V>& a, SpmvAlgorithm wish);

  /// y = alpha A x + beta y by `wish`, whose plan is built if it is missing. `automatic` is what was prepared last, or else
  /// balanced. Returns the algorithm that was used. Throws Error{not_compiled} if `wish` has no kernel for these types. `dots`
  /// (may be null; float and double) gets inner products of y, while the rows are computed if the kernel can do that.
  template <Semiring S>
  SpmvAlgorithm multiply(SpmvAlgorithm wish, const CsrView<V>& a, const typename S::value_type* x,
                         typename S::value_type* y, Scale<S> scale,
                         ProductDots<typename S::value_type>* dots = nullptr);
  std::int64_t bytes() const;  // the memory that the plans hold
  SpmvAlgorithm chosen() const;

  /// What another library keeps of the matrix on a GPU. It is made when it is first asked for.
  std::shared_ptr<void> kept(int gpu, const std::function<std::shared_ptr<void>()>& make);

 private:
  struct Made {
    std::shared_ptr<const BlockedPlan<V>> blocked;
    std::shared_ptr<const BinnedPlan<V>> binned;
    std::shared_ptr<const StencilPlan<V>> stencil;
    std::map<int, std::shared_ptr<void>> kept;  // for each GPU
  };
  ForkLock::Held locked() const;
  void build(const CsrView<V>& a, SpmvAlgorithm algorithm);
  mutable ForkLock lock_;
  SpmvAlgorithm chosen_ = SpmvAlgorithm::balanced;
  mutable Made made_;
};

}  // namespace penstock
