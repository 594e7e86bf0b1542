#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>

#include "penstock/dist/halo/halo.hpp"
#include "penstock/dist/halo/halo_back.hpp"
#include "penstock/dist/share/dist_csr.hpp"
#include "penstock/kernel/spmm/spmm.hpp"
#include "penstock/kernel/spmv/spmv_plan.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock {

/// The ways of sums of foreign rows to their owners, in layouts that share rows: straight to each owner; by a reduction among
/// the ranks of a grid row (plus_times in float64); gathered by the one rank that owns all rows.
std::vector<std::string_view> sum_names();  // "owners", "reduce", "gather"

struct DistProductOptions {
  std::string halo = "auto";     // a name of halos(), or "auto"
  std::string sums = "owners";   // a name of sum_names()
  Schedule schedule = InCore{};  // of the local product, on the CPU
  SpmvAlgorithm algorithm = SpmvAlgorithm::automatic;
};

/// The time that a rank has spent in all products since clear_times(); seconds by its own clock.
struct DistTimes {
  double local = 0;     // products with owned entries of x, during which messages travel
  double halo = 0;      // products with ghosts
  double exchange = 0;  // packing, posting and waiting: what exchanges cost besides these
  double wait = 0;      // the part of it that is waiting for other ranks
  double seconds = 0;   // of all products
  double setup = 0;     // choosing and making exchanges, once
  /// Parts of the exchange on a GPU: gathering entries, and copies over the host link.
  double pack = 0, copy = 0;
  std::int64_t products = 0, sent_bytes = 0, received_bytes = 0, messages = 0;
};

/// The products of a matrix that is shared out, on the CPU. The exchange of x travels while the local block is
/// multiplied, sums of foreign rows while the halo block is. Every rank calls the same products in the same order.
template <class V>
class DistProduct {
 public:
  /// Collective. Exchanges are made when a product first needs them; throws what make_halo throws.
  explicit DistProduct(DistCsr<V> a, DistProductOptions options = {});

  /// y = alpha A x + beta y over S. x has the cols() entries owned here, y the rows(); they do not overlap. Collective.
  template <Semiring S>
  void multiply(std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
                Scale<S> scale = {});
  /// y = alpha A^T x + beta y: x has rows() entries, y cols(). The exchanges go the other way.
  template <Semiring S>
  void multiply_transposed(std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
                           Scale<S> scale = {});
  /// The same with several vectors, row-major without gaps between rows.
  template <Semiring S>
  void multiply_columns(DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
                        Scale<S> scale = {});
  template <Semiring S>
  void multiply_columns_transposed(DenseView<const typename S::value_type> x,
                                   DenseView<typename S::value_type> y, Scale<S> scale = {});

  /// Builds the local block's plan (SpmvPlans::prepare); local.
  SpmvAlgorithm prepare(SpmvAlgorithm wish);
  SpmvAlgorithm prepared() const { return plans_->chosen(); }
  const DistCsr<V>& matrix() const { return a_; }
  /// The owned rows of the local block: its first rows() rows.
  const Csr<V>& local() const { return own_.local; }
  const DistProductOptions& options() const { return options_; }
  /// The strategy, which "auto" chooses when a product first needs one; empty before.
  const std::string& halo_name() const { return strategy_; }
  const DistTimes& times() const { return times_; }
  void clear_times() { times_ = {}; }
  /// Exchanges x once and returns the ghosts, plan->ghosts() entries; for preconditioners and graph searches.
  const void* exchange(const void* x, std::int64_t entry_bytes);

 private:
  /// Some rows of the two blocks: all of them in the local block; in the halo block only those that have ghosts, unless nearly
  /// all of them have.
  struct Rows {
    Csr<V> local, halo;
    Array<const Index> halo_rows;  // row i of `halo` is row halo_rows[i] of `local`; empty: row i
    bool short_halo = true;        // whether all rows of `halo` are short
    std::int64_t halo_row(std::int64_t i) const { return halo_rows.data ? halo_rows.data[i] : i; }
    bool has_ghosts(std::int64_t i) const { return halo.indptr.data[i] < halo.indptr.data[i + 1]; }
  };
  /// The exchanges of one kind of product, made when they are first used. Each kind has its own, so that a rank that calls
  /// another kind never receives what was sent for this one.
  struct Links {
    TopicPtr topic;  // the product, in words
    /// Where nothing travels, the tag of the step that the product then is: ranks that make another call are noticed by it.
    /// -1: there are exchanges.
    int tag = -1;
    std::unique_ptr<Halo> x, rows;           // x to ghosts; x of the transposed product to foreign rows
    std::unique_ptr<HaloBack> sums, ghosts;  // sums of foreign rows; sums of ghosts (transposed)
  };
  using Plan = std::shared_ptr<const CommPlan>;
  static Rows rows_of(const DistCsr<V>& a, std::int64_t first, std::int64_t last);
  /// The exchanges of products with so many columns over S, and those of exchange(). When they are first asked for, all ranks
  /// tell one another which product they call.
  template <Semiring S>
  Links& links_of(std::int64_t columns, bool transposed);
  Links& links_of(std::int64_t columns, int kind, const std::string& text);
  HaloContext context(const Plan& plan, std::int64_t entry_bytes, const void* x);
  /// `x` is the vector that is about to be sent.
  Halo& forward(const Links& links, std::unique_ptr<Halo>& link, const Plan& plan, std::int64_t entry_bytes,
                const void* x);
  HaloBack& back(const Links& links, std::unique_ptr<HaloBack>& link, const Plan& plan,
                 std::int64_t entry_bytes, std::string_view strategy = "owners");
  void count(Links& links);

  /// The steps, each timed where it belongs. Views are row-major and dense; no row of y is read twice.
  template <Semiring S>
  struct Steps;
  template <Semiring S>
  void product(DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
               Scale<S> scale);
  template <Semiring S>
  void product_transposed(DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
                          Scale<S> scale);

  DistCsr<V> a_;
  DistProductOptions options_;
  Rows own_, foreign_;
  bool any_ghosts_ = false, any_foreign_ = false;  // on any rank
  std::string strategy_;
  std::map<std::pair<std::int64_t, int>, Links> links_;  // by columns and kind of product
  std::shared_ptr<SpmvPlans<V>> plans_ = std::make_shared<SpmvPlans<V>>();
  DistTimes times_;
};

}  // namespace penstock

// The closed list of what is compiled.
#define PENSTOCK_FOR_EACH_DIST(X)                          \
  X(PlusTimes<float>, One)                                 \
  X(PlusTimes<float>, float)                               \
  X(PlusTimes<double>, One)                                \
  X(PlusTimes<double>, float)                              \
  X(PlusTimes<double>, double)                             \
  PENSTOCK_RANK_SEMIRINGS(PENSTOCK_WITH_VALUES, X, float)  \
  PENSTOCK_RANK_SEMIRINGS(PENSTOCK_WITH_VALUES, X, double) \
  PENSTOCK_RANK_BOOLEAN_SEMIRINGS(PENSTOCK_BOOLEAN_WITH_VALUES, X)
