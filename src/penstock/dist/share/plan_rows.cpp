// Rows that travel along a plan, as entries of a vector do in a halo exchange: lengths first, then columns and values.
#include "penstock/dist/share/plan_rows.hpp"

namespace penstock {
namespace {

/// One direction of a plan: the ranks of a side, and where each begins among its rows.
struct Side {
  const std::vector<int>& ranks;
  const std::vector<std::int64_t>& offsets;

  /// For each rank the sum of the lengths of its rows; of ones where there are none.
  std::vector<std::int64_t> counts(int all, const std::vector<std::int64_t>* lengths) const {
    std::vector<std::int64_t> found(at(all));
    for (std::size_t i = 0; i < ranks.size(); ++i)
      for (auto k = offsets[i]; k < offsets[i + 1]; ++k)
        found[at(ranks[i])] += lengths ? (*lengths)[at(k)] : 1;
    return found;
  }
};

template <class V>
ListedRows<V> carried(Comm& comm, const ListedRows<V>& rows, const Side& from, const Side& to) {
  const auto all = comm.size();
  ListedRows<V> out;
  out.lengths = travel(comm, rows.lengths, from.counts(all, nullptr), to.counts(all, nullptr));
  const auto sent = from.counts(all, &rows.lengths), received = to.counts(all, &out.lengths);
  out.columns = travel(comm, rows.columns, sent, received);
  if constexpr (!is_pattern<V>) out.values = travel(comm, rows.values, sent, received);
  return out;
}

}  // namespace

std::vector<std::int64_t> travel_counts(Comm& comm, const std::vector<std::int64_t>& counts) {
  const std::vector<std::int64_t> one_each(counts.size(), 1);
  return travel(comm, counts, one_each, one_each);
}

template <class V>
ListedRows<V> rows_to_ghosts(Comm& comm, const CommPlan& plan, const ListedRows<V>& rows) {
  return carried(comm, rows, {plan.send_ranks, plan.send_offsets},
                 {plan.receive_ranks, plan.receive_offsets});
}

template <class V>
ListedRows<V> rows_to_owners(Comm& comm, const CommPlan& plan, const ListedRows<V>& rows) {
  return carried(comm, rows, {plan.receive_ranks, plan.receive_offsets},
                 {plan.send_ranks, plan.send_offsets});
}

#define X(V)                                                                           \
  template ListedRows<V> rows_to_ghosts(Comm&, const CommPlan&, const ListedRows<V>&); \
  template ListedRows<V> rows_to_owners(Comm&, const CommPlan&, const ListedRows<V>&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
