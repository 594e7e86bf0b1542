#pragma once
#include <vector>

#include "penstock/dist/share/comm_plan.hpp"

namespace penstock {

/// Rows of any lengths, one after the other, with the columns of the whole matrix.
template <class V>
struct ListedRows {
  std::vector<std::int64_t> lengths;
  std::vector<GlobalIndex> columns;
  std::vector<V> values;  // empty where V is One
};

/// What each rank is sent: `counts[r]` values for rank r, one rank's after the other. Returns what comes, `received[r]` from
/// rank r. Collective.
template <class U>
std::vector<U> travel(Comm& comm, const std::vector<U>& send, const std::vector<std::int64_t>& counts,
                      const std::vector<std::int64_t>& received) {
  const auto offsets = [](const std::vector<std::int64_t>& of) {
    std::vector<std::int64_t> begins{0};
    for (const auto n : of) begins.push_back(begins.back() + n * static_cast<std::int64_t>(sizeof(U)));
    return begins;
  };
  const auto from = offsets(counts), to = offsets(received);
  std::vector<U> out(at(to.back()) / sizeof(U));
  comm.all_to_all_v(send.data(), from, out.data(), to);
  return out;
}

/// The counts that other ranks have for this one. Collective.
std::vector<std::int64_t> travel_counts(Comm& comm, const std::vector<std::int64_t>& counts);

/// Along a plan, from owners to ghosts: a row for each entry of `send_indices` goes, one for each ghost comes. Collective.
template <class V>
ListedRows<V> rows_to_ghosts(Comm& comm, const CommPlan& plan, const ListedRows<V>& rows);

/// The way back: a row for each ghost goes, one for each entry of `send_indices` comes. Collective.
template <class V>
ListedRows<V> rows_to_owners(Comm& comm, const CommPlan& plan, const ListedRows<V>& rows);

}  // namespace penstock
