// Additive Schwarz with overlap one. The subdomain of a rank is its own rows and the rows that these have entries for. Entries
// of fetched rows that lead out of the subdomain are dropped: its matrix is as if values around it were zero.
#include "penstock/solver/precondition/schwarz.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/dist/share/plan_rows.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"
#include "penstock/solver/dist_op.hpp"
#include "penstock/solver/precondition/device_schwarz.hpp"

namespace penstock {
namespace {

/// f(column in the whole matrix, entry of the block) for all entries of a row.
template <class V, class F>
void each_entry(const DistCsr<V>& a, const std::vector<GlobalIndex>& mine,
                const std::vector<GlobalIndex>& ghosts, std::int64_t row, F&& f) {
  for (auto k = a.local.indptr.data[row]; k < a.local.indptr.data[row + 1]; ++k)
    f(mine[static_cast<std::size_t>(a.local.indices.data[k])], a.local.values.data, k);
  for (auto k = a.halo.indptr.data[row]; k < a.halo.indptr.data[row + 1]; ++k)
    f(ghosts[static_cast<std::size_t>(a.halo.indices.data[k])], a.halo.values.data, k);
}

template <class U>
Array<const U> as_array(std::vector<U> values) {
  auto kept = std::make_shared<std::vector<U>>(std::move(values));
  return {kept->data(), std::ssize(*kept), {}, kept};
}

/// A subdomain as it is put together, row after row.
template <class V>
class Assembly {
 public:
  explicit Assembly(const std::vector<GlobalIndex>& ids) : ids_(ids) {}
  /// Drops entries that lead out of the subdomain.
  void add(GlobalIndex column, const V* values, std::int64_t k) {
    const auto at = std::lower_bound(ids_.begin(), ids_.end(), column);
    if (at == ids_.end() || *at != column) return;
    indices_.push_back(static_cast<Index>(at - ids_.begin()));
    if constexpr (!is_pattern<V>) values_.push_back(values[k]);
  }
  void end_row() { indptr_.push_back(std::ssize(indices_)); }
  Csr<V> take() {
    const auto n = std::ssize(ids_);
    Csr<V> a;
    a.rows = a.cols = n;
    a.indptr = as_array(std::move(indptr_)), a.indices = as_array(std::move(indices_));
    if constexpr (!is_pattern<V>) a.values = as_array(std::move(values_));
    return a;
  }

 private:
  const std::vector<GlobalIndex>& ids_;
  std::vector<Offset> indptr_{0};
  std::vector<Index> indices_;
  std::vector<V> values_;
};

}  // namespace

template <class V>
Overlap<V> overlap_of(DistProduct<V>& product) {
  const auto& a = product.matrix();
  require_square(a);
  require_whole_rows(a, "additive Schwarz");
  auto& comm = *a.comm;
  const auto& plan = *a.plan;
  const auto rank = comm.rank();
  const auto owned = static_cast<std::size_t>(a.rows());
  const auto numbers = a.row_owners->numbers(rank);  // of rows and of columns
  const std::vector<GlobalIndex> mine(numbers.data, numbers.data + numbers.size);
  const auto* brought = static_cast<const GlobalIndex*>(product.exchange(mine.data(), sizeof(GlobalIndex)));
  const std::vector<GlobalIndex> ghosts(brought, brought + plan.ghosts());

  // For each entry of x that owners send in a product, they send the row.
  ListedRows<V> rows;
  for (const auto row : plan.send_indices.span()) {
    const auto before = std::ssize(rows.columns);
    each_entry(a, mine, ghosts, row, [&](GlobalIndex column, const V* from, std::int64_t k) {
      rows.columns.push_back(column);
      if constexpr (!is_pattern<V>) rows.values.push_back(from[k]);
    });
    rows.lengths.push_back(std::ssize(rows.columns) - before);
  }
  const auto [ghost_lengths, columns, values] = rows_to_ghosts(comm, plan, rows);

  Overlap<V> out;
  auto& ids = out.row_ids;
  ids = mine;
  ids.insert(ids.end(), ghosts.begin(), ghosts.end());
  require(std::ssize(ids) <= std::numeric_limits<Index>::max(),
          "additive Schwarz: a subdomain of " + std::to_string(ids.size()) + " rows; use more ranks");
  std::sort(ids.begin(), ids.end());
  const auto place = [&](const std::vector<GlobalIndex>& of) {
    std::vector<Index> at;
    for (const auto id : of)
      at.push_back(static_cast<Index>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin()));
    return at;
  };
  out.owned = place(mine), out.ghosts = place(ghosts);
  // Row i of the subdomain is owned row source[i], or ghost -1 - source[i].
  std::vector<std::int64_t> source(ids.size()), starts{0};
  for (std::size_t k = 0; k < owned; ++k)
    source[static_cast<std::size_t>(out.owned[k])] = static_cast<std::int64_t>(k);
  for (std::size_t g = 0; g < ghosts.size(); ++g)
    source[static_cast<std::size_t>(out.ghosts[g])] = -1 - static_cast<std::int64_t>(g);
  for (const auto n : ghost_lengths) starts.push_back(starts.back() + n);
  Assembly<V> assembly(ids);
  for (const auto s : source) {
    if (s >= 0) {
      each_entry(a, mine, ghosts, s,
                 [&](GlobalIndex c, const V* v, std::int64_t k) { assembly.add(c, v, k); });
    } else {
      const auto g = static_cast<std::size_t>(-1 - s);
      for (auto k = starts[g]; k < starts[g + 1]; ++k)
        assembly.add(columns[static_cast<std::size_t>(k)], values.data(), k);
    }
    assembly.end_row();
  }
  out.matrix = assembly.take();
  return out;
}

namespace {

/// For each row of this rank's subdomain 1 / sqrt(the number of subdomains that have it).
template <class T, class V>
std::vector<T> weights_of(DistProduct<V>& a, const Overlap<V>& overlap) {
  std::vector<T> owned(overlap.owned.size(), T(1)), all(overlap.row_ids.size());
  for (const auto i : a.matrix().plan->send_indices.span()) owned[static_cast<std::size_t>(i)] += 1;
  for (auto& w : owned) w = 1 / std::sqrt(w);
  const auto* ghosts = static_cast<const T*>(a.exchange(owned.data(), sizeof(T)));
  for (std::size_t i = 0; i < owned.size(); ++i) all[static_cast<std::size_t>(overlap.owned[i])] = owned[i];
  for (std::size_t g = 0; g < overlap.ghosts.size(); ++g)
    all[static_cast<std::size_t>(overlap.ghosts[g])] = ghosts[g];
  return all;
}

}  // namespace

template <class T, class V>
LinearOp<T> additive_schwarz(std::shared_ptr<DistProduct<V>> a, const Overlap<V>& overlap, LinearOp<T> inner,
                             Combine combine) {
  struct State {
    std::shared_ptr<DistProduct<V>> a;
    std::vector<Index> owned, ghosts;
    LinearOp<T> inner;
    std::unique_ptr<HaloBack> back;
    std::vector<T> r, z, weights;  // on the subdomain
    void weigh(std::vector<T>& v) const {
      for (std::size_t i = 0; i < weights.size(); ++i) v[i] *= weights[i];
    }
  };
  const auto n = overlap.matrix.rows;
  require(inner.rows == n, "additive Schwarz: the inner solver has " + std::to_string(inner.rows) +
                               " rows, the subdomain " + std::to_string(n));
  auto s = std::make_shared<State>();
  s->a = a, s->owned = overlap.owned, s->ghosts = overlap.ghosts, s->inner = std::move(inner);
  s->r.resize(static_cast<std::size_t>(n)), s->z.resize(static_cast<std::size_t>(n));
  if (combine == Combine::weighted) s->weights = weights_of<T>(*a, overlap);
  if (combine != Combine::restricted)
    s->back = std::make_unique<HaloBack>(
        "isend", HaloContext{.comm = a->matrix().comm, .plan = a->matrix().plan, .entry_bytes = sizeof(T)});
  LinearOp<T> op;
  op.rows = a->matrix().rows();
  op.apply = [s](std::span<const T> x, std::span<T> y) {
    const auto* ghosts = static_cast<const T*>(s->a->exchange(x.data(), sizeof(T)));
    for (std::size_t i = 0; i < x.size(); ++i) s->r[static_cast<std::size_t>(s->owned[i])] = x[i];
    for (std::size_t g = 0; g < s->ghosts.size(); ++g)
      s->r[static_cast<std::size_t>(s->ghosts[g])] = ghosts[g];
    s->weigh(s->r);
    s->inner.apply(s->r, s->z);
    s->weigh(s->z);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = s->z[static_cast<std::size_t>(s->owned[i])];
    if (!s->back) return;
    auto* parts = static_cast<T*>(s->back->values());
    for (std::size_t g = 0; g < s->ghosts.size(); ++g)
      parts[g] = s->z[static_cast<std::size_t>(s->ghosts[g])];
    s->back->begin();
    s->back->template end<PlusTimes<T>>(y.data());
  };
  if (s->inner.on_device.make)
    op.on_device = device_schwarz<T>(s,
                                     {.rows = n,
                                      .owned = s->owned,
                                      .ghosts = s->ghosts,
                                      .weights = s->weights,
                                      .adds = combine != Combine::restricted},
                                     s->inner.on_device);
  op.matrix_bytes = [s] { return s->inner.matrix_bytes ? s->inner.matrix_bytes() : std::int64_t(0); };
  return op;
}

#define X(V) template Overlap<V> overlap_of(DistProduct<V>&);
X(One)
X(float)
X(double)
#undef X
#define X(T, V)                                                                                   \
  template LinearOp<T> additive_schwarz<T, V>(std::shared_ptr<DistProduct<V>>, const Overlap<V>&, \
                                              LinearOp<T>, Combine);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

}  // namespace penstock
