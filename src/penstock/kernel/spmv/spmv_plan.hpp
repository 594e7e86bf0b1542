#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "penstock/core/choice.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// How the CPU walks a matrix in memory. `balanced` needs nothing but the CSR arrays; the others a plan.
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

/// The plans of one matrix, each built once, when first asked for; safe to use from several threads. A plan holds a
/// second copy of the entries in its own order (stencil: of what its runs cannot share).
template <class V>
class SpmvPlans {
 public:
  /// Builds what `wish` names. `automatic` looks at the matrix: stencil where rows repeat, blocked where gathers
  /// miss, else nothing. Returns the algorithm that products will use from now on.
  SpmvAlgorithm prepare(const CsrView<V>& a, SpmvAlgorithm wish);

  /// y = alpha A x + beta y by `wish`, whose plan is built if need be; automatic is what was prepared last, else
  /// balanced. Returns what was used. Throws Error{not_compiled} where `wish` has no kernel for these types.
  /// `dots` (may be null; float and double) takes inner products of y, on the way where the kernel can.
  template <Semiring S>
  SpmvAlgorithm multiply(SpmvAlgorithm wish, const CsrView<V>& a, const typename S::value_type* x,
                         typename S::value_type* y, Scale<S> scale,
                         ProductDots<typename S::value_type>* dots = nullptr);
  std::int64_t bytes() const;  // held by the plans
  SpmvAlgorithm chosen() const;

  /// What another library keeps of the matrix on a GPU, made when first asked for.
  std::shared_ptr<void> kept(int gpu, const std::function<std::shared_ptr<void>()>& make);

 private:
  void build(const CsrView<V>& a, SpmvAlgorithm how);
  mutable std::mutex lock_;
  SpmvAlgorithm chosen_ = SpmvAlgorithm::balanced;
  std::shared_ptr<const BlockedPlan<V>> blocked_;
  std::shared_ptr<const BinnedPlan<V>> binned_;
  std::shared_ptr<const StencilPlan<V>> stencil_;
  std::map<int, std::shared_ptr<void>> kept_;  // of each GPU
};

}  // namespace penstock
