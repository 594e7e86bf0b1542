#include "penstock/solver/multigrid/dist_coarsest.hpp"

#include <numeric>

#include "penstock/dist/share/plan_rows.hpp"

namespace penstock {

template <class T>
std::shared_ptr<const DenseSolve> factored_on_first(Comm& comm, const Ownership& owners,
                                                    const Csr<T>& entries, const RankRows& rows,
                                                    bool symmetric) {
  std::vector<std::int64_t> lengths;
  std::vector<Index> columns;  // the rows of one rank after those of the other
  for (std::int64_t r = 0; r < entries.rows; ++r)
    lengths.push_back(entries.indptr.data[r + 1] - entries.indptr.data[r]);
  for (const auto j : entries.indices.span())
    columns.push_back(static_cast<Index>(owners.starts()[at(owners.owner(j))] + owners.local(j)));
  const auto to_first = [&](std::int64_t count) {
    std::vector<std::int64_t> counts(at(comm.size()));
    counts[0] = count;
    return counts;
  };
  const auto row_counts = to_first(entries.rows), counts = to_first(entries.nnz());
  const auto row_received = travel_counts(comm, row_counts), received = travel_counts(comm, counts);
  lengths = travel(comm, lengths, row_counts, row_received);
  columns = travel(comm, columns, counts, received);
  const std::vector<T> mine(entries.values.data, entries.values.data + entries.nnz());
  const auto values = travel(comm, mine, counts, received);
  std::shared_ptr<const DenseSolve> made;
  rows.together([&] {
    if (comm.rank() != 0) return;
    std::vector<Offset> indptr(lengths.size() + 1);
    std::partial_sum(lengths.begin(), lengths.end(), indptr.begin() + 1);
    Csr<T> a;
    a.rows = a.cols = std::ssize(lengths);
    a.indptr = {indptr.data(), std::ssize(indptr), {}, nullptr};
    a.indices = {columns.data(), std::ssize(columns), {}, nullptr};
    a.values = {values.data(), std::ssize(values), {}, nullptr};
    made = std::make_shared<const DenseSolve>(a, sizeof(T) == 4 ? 1e-5 : 1e-12, symmetric);
  });
  return made;
}

template <class T>
std::function<void(const T* b, T* z)> solve_on_first(std::shared_ptr<Comm> comm, const Ownership& owners,
                                                     std::shared_ptr<const DenseSolve> factors) {
  const auto n = owners.size();
  if (owners.count(0) == n)
    return [factors](const T* b, T* z) {
      if (factors) factors->apply(b, z);
    };
  std::vector<std::int64_t> offsets;
  for (const auto start : owners.starts()) offsets.push_back(start * static_cast<std::int64_t>(sizeof(T)));
  return [comm, factors, offsets, n](const T* b, T* z) {
    std::vector<T> all(factors ? at(n) : 0), solved(all.size());
    comm->gather_v(b, all.data(), offsets, 0);
    if (factors) factors->apply(all.data(), solved.data());
    comm->scatter_v(solved.data(), offsets, z, 0);
  };
}

#define X(T)                                                                                            \
  template std::shared_ptr<const DenseSolve> factored_on_first(Comm&, const Ownership&, const Csr<T>&,  \
                                                               const RankRows&, bool);                  \
  template std::function<void(const T*, T*)> solve_on_first<T>(std::shared_ptr<Comm>, const Ownership&, \
                                                               std::shared_ptr<const DenseSolve>);
X(float)
X(double)
#undef X

}  // namespace penstock
