// Prolongators and Galerkin products whose aggregates cross ranks. All arithmetic is that of one process: the QR of an
// aggregate by its owner, products of sparse matrices on rows that have been fetched.
#include "penstock/solver/multigrid/dist_transfer.hpp"

#include <algorithm>
#include <numeric>

#include "penstock/dist/share/plan_rows.hpp"
#include "penstock/kernel/spgemm/spgemm.hpp"
#include "penstock/kernel/structure/transpose.hpp"
#include "penstock/solver/multigrid/rows_in_ranges.hpp"

namespace penstock {
namespace {

template <class U>
Array<const U> held(std::vector<U> values) {
  auto kept = std::make_shared<std::vector<U>>(std::move(values));
  return {kept->data(), std::ssize(*kept), {}, kept};
}

std::vector<std::int64_t> times(std::vector<std::int64_t> counts, std::int64_t factor) {
  for (auto& n : counts) n *= factor;
  return counts;
}

/// Rows [first, last) as they travel.
template <class T>
ListedRows<T> listed(const Csr<T>& a, std::int64_t first, std::int64_t last) {
  ListedRows<T> rows;
  for (auto r = first; r < last; ++r) rows.lengths.push_back(a.indptr.data[r + 1] - a.indptr.data[r]);
  rows.columns.assign(a.indices.data + a.indptr.data[first], a.indices.data + a.indptr.data[last]);
  rows.values.assign(a.values.data + a.indptr.data[first], a.values.data + a.indptr.data[last]);
  return rows;
}

template <class T>
Csr<T> as_csr(ListedRows<T> rows, std::int64_t cols) {
  Csr<T> a;
  a.rows = std::ssize(rows.lengths), a.cols = cols;
  std::vector<Offset> indptr{0};
  for (const auto n : rows.lengths) indptr.push_back(indptr.back() + n);
  a.indptr = held(std::move(indptr));
  a.indices = held(std::vector<Index>(rows.columns.begin(), rows.columns.end()));
  a.values = held(std::move(rows.values));
  return a;
}

/// Of rows for each column of `a` here, and then for each ghost, the sums for those that are owned here: those of one rank after the
/// other. Collective.
template <class T>
Csr<T> sums_at_owners(const DistCsr<T>& a, const Csr<T>& part) {
  auto& comm = *a.comm;
  const auto owned = a.cols();
  const auto& plan = *a.plan;
  const auto pieces =
      stacked(part, as_csr(rows_to_owners(comm, plan, listed(part, owned, part.rows)), part.cols));
  // A matrix of ones adds up what belongs to a row, in the order of the ranks.
  std::vector<std::vector<Index>> sources(at(owned));
  const auto own = [&] {
    for (std::int64_t r = 0; r < owned; ++r) sources[at(r)].push_back(static_cast<Index>(r));
  };
  bool added = false;
  for (std::size_t i = 0; i < plan.send_ranks.size(); ++i) {
    if (!added && plan.send_ranks[i] > comm.rank()) own(), added = true;
    for (auto k = plan.send_offsets[i]; k < plan.send_offsets[i + 1]; ++k)
      sources[at(plan.send_indices.data[k])].push_back(static_cast<Index>(part.rows + k));
  }
  if (!added) own();
  Csr<T> ones;
  ones.rows = owned, ones.cols = pieces.rows;
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  for (const auto& list : sources) {
    indices.insert(indices.end(), list.begin(), list.end());
    indptr.push_back(std::ssize(indices));
  }
  ones.indptr = held(std::move(indptr)), ones.indices = held(std::move(indices));
  return spgemm<PlusTimes<T>, T>(ones.view(), pieces.view(), {.ascending = true});
}

}  // namespace

template <class T>
Tentative<T> dist_tentative(Comm& comm, const Aggregates& aggregates, const Ownership& owners,
                            std::int64_t block, const std::vector<double>& b, std::int64_t vectors) {
  const auto vertices = aggregates.of.size, width = block * vectors;
  const auto* of = aggregates.of.data;
  // The vertices by the rank that owns their aggregate, in their order.
  std::vector<std::int64_t> counts(at(comm.size()));
  std::vector<std::int64_t> members;
  for (std::int64_t v = 0; v < vertices; ++v)
    if (of[v] >= 0) ++counts[at(owners.owner(of[v]))], members.push_back(v);
  std::stable_sort(members.begin(), members.end(),
                   [&](std::int64_t x, std::int64_t y) { return owners.owner(of[x]) < owners.owner(of[y]); });
  std::vector<Index> goes;
  std::vector<double> rows;
  for (const auto v : members) {
    goes.push_back(of[v]);
    rows.insert(rows.end(), b.begin() + v * width, b.begin() + (v + 1) * width);
  }
  const auto received = travel_counts(comm, counts);
  auto numbers = travel(comm, goes, counts, received);
  rows = travel(comm, rows, times(counts, width), times(received, width));
  const auto rank = comm.rank();
  for (auto& a : numbers) a = static_cast<Index>(owners.local(a));
  auto made = tentative<T>({owners.count(rank), held(std::move(numbers))}, block, rows, vectors);
  const std::vector<T> back(made.t.values.data, made.t.values.data + made.t.nnz());
  const auto q = travel(comm, back, times(received, width), times(counts, width));

  const auto indptr = allocate<Offset>(vertices * block + 1);
  for (std::int64_t r = 0; r < vertices * block; ++r) indptr.data[r + 1] = of[r / block] >= 0 ? vectors : 0;
  const auto nnz = lengths_to_offsets(indptr);
  const auto indices = allocate<Index>(std::max<Offset>(nnz, 1));
  const auto values = allocate<T>(std::max<Offset>(nnz, 1));
  for (std::size_t m = 0; m < members.size(); ++m) {
    const auto v = members[m];
    const auto to = indptr.data[v * block];
    std::copy_n(q.data() + static_cast<std::int64_t>(m) * width, width, values.data + to);
    for (std::int64_t k = 0; k < width; ++k)
      indices.data[to + k] = static_cast<Index>(of[v] * vectors + k % vectors);
  }
  made.t.rows = vertices * block, made.t.cols = aggregates.count * vectors;
  made.t.indptr = indptr, made.t.indices = indices.slice(0, nnz), made.t.values = values.slice(0, nnz);
  return made;
}

template <class T>
Csr<T> ghost_rows(Comm& comm, const CommPlan& plan, const Csr<T>& own) {
  ListedRows<T> rows;
  for (const auto r : plan.send_indices.span()) {
    const auto first = own.indptr.data[r], last = own.indptr.data[r + 1];
    rows.lengths.push_back(last - first);
    rows.columns.insert(rows.columns.end(), own.indices.data + first, own.indices.data + last);
    rows.values.insert(rows.values.end(), own.values.data + first, own.values.data + last);
  }
  return as_csr(rows_to_ghosts(comm, plan, rows), own.cols);
}

template <class T>
std::shared_ptr<DistProduct<T>> restriction(DistProduct<T>& product) {
  const auto& p = product.matrix();
  const auto rank = p.comm->rank();
  const auto rows = p.row_owners->numbers(rank), cols = p.col_owners->numbers(rank);
  const auto* ghosts = static_cast<const GlobalIndex*>(product.exchange(cols.data, sizeof(GlobalIndex)));
  std::vector<GlobalIndex> ids(cols.data, cols.data + cols.size);
  ids.insert(ids.end(), ghosts, ghosts + p.plan->ghosts());
  auto t = transpose(wide_rows(product));
  const auto indices = allocate<Index>(std::max<Offset>(t.nnz(), 1));
  for (Offset k = 0; k < t.nnz(); ++k) indices.data[k] = static_cast<Index>(rows.data[t.indices.data[k]]);
  t.indices = indices.slice(0, t.nnz()), t.cols = p.all_rows();
  return share_out(p.comm, p.col_owners, p.row_owners, held(std::move(ids)), t);
}

template <class T>
Csr<T> dist_galerkin(const DistProduct<T>& a, const Csr<T>& wide, const DistProduct<T>& product,
                     const Csr<T>& p_rows) {
  using S = PlusTimes<T>;
  const auto& p = product.matrix();
  Csr<T> part;  // a row for each column of P here, and then for each ghost
  {
    const auto fetched = stacked(p_rows, ghost_rows(*p.comm, *a.matrix().plan, p_rows));
    const auto ap = spgemm<S, T>(wide.view(), fetched.view(), {.ascending = true});
    part = spgemm<S, T>(transpose(wide_rows(product)).view(), ap.view(), {.ascending = true});
  }
  return sums_at_owners(p, part);
}

template <class T>
Csr<T> dist_transposed(const DistProduct<T>& product, const Csr<T>& wide) {
  const auto& a = product.matrix();
  const auto rows = a.row_owners->numbers(a.comm->rank());
  auto t = transpose(wide);
  const auto indices = allocate<Index>(std::max<Offset>(t.nnz(), 1));
  for (Offset k = 0; k < t.nnz(); ++k) indices.data[k] = static_cast<Index>(rows.data[t.indices.data[k]]);
  t.indices = indices.slice(0, t.nnz()), t.cols = a.all_rows();
  return sums_at_owners(a, t);
}

template <class T>
RowsElsewhere<T> rows_elsewhere(std::shared_ptr<DistProduct<T>> product,
                                std::shared_ptr<const Ownership> columns) {
  RowsElsewhere<T> made;
  made.with_ghosts = [product](const Csr<T>& own) {
    const auto& a = product->matrix();
    return stacked(own, ghost_rows(*a.comm, *a.plan, own));
  };
  made.add = [product, columns](std::span<const Index> met, std::span<double> sums) {
    auto& comm = *product->matrix().comm;
    const auto rank = comm.rank();
    std::vector<double> own(at(2 * columns->count(rank)));
    std::vector<GlobalIndex> ghosts;
    ListedRows<double> rows;
    const auto put = [&rows](const double* two) {
      rows.lengths.push_back(2);
      for (int k = 0; k < 2; ++k) rows.columns.push_back(k), rows.values.push_back(two[k]);
    };
    for (std::size_t i = 0; i < met.size(); ++i) {
      if (columns->owner(met[i]) == rank) {
        std::copy_n(&sums[2 * i], 2, &own[at(2 * columns->local(met[i]))]);
      } else {
        ghosts.push_back(met[i]);
        put(&sums[2 * i]);
      }
    }
    const auto plan = plan_exchange(comm, *columns, ghosts);
    const auto came = rows_to_owners(comm, plan, rows);
    const auto to = [&](std::int64_t k) { return &own[at(2 * plan.send_indices.data[k])]; };
    for (std::int64_t k = 0; k < plan.sent(); ++k)
      for (int i = 0; i < 2; ++i) to(k)[i] += came.values[at(2 * k + i)];
    rows = {};
    for (std::int64_t k = 0; k < plan.sent(); ++k) put(to(k));
    const auto back = rows_to_ghosts(comm, plan, rows);
    auto next = back.values.begin();
    for (std::size_t i = 0; i < met.size(); ++i) {
      const bool here = columns->owner(met[i]) == rank;
      const double* from = here ? &own[at(2 * columns->local(met[i]))] : &*next;
      std::copy_n(from, 2, &sums[2 * i]);
      if (!here) next += 2;
    }
  };
  return made;
}

#define X(T)                                                                                                 \
  template Tentative<T> dist_tentative<T>(Comm&, const Aggregates&, const Ownership&, std::int64_t,          \
                                          const std::vector<double>&, std::int64_t);                         \
  template Csr<T> ghost_rows(Comm&, const CommPlan&, const Csr<T>&);                                         \
  template std::shared_ptr<DistProduct<T>> restriction(DistProduct<T>&);                                     \
  template Csr<T> dist_galerkin(const DistProduct<T>&, const Csr<T>&, const DistProduct<T>&, const Csr<T>&); \
  template Csr<T> dist_transposed(const DistProduct<T>&, const Csr<T>&);                                     \
  template RowsElsewhere<T> rows_elsewhere(std::shared_ptr<DistProduct<T>>, std::shared_ptr<const Ownership>);
X(float)
X(double)
#undef X

}  // namespace penstock
