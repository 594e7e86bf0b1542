// Entries travel to the owners of their rows, which have ranges of numbers, so that entries in order of their rows are in
// order of their ranks, too. Where numbers are listed, an owner is told of the columns that others have entries in, and lists
// them with its rows. A column is then a place in the owner's list, or in the sorted list of ghosts: 32 bits for either.
#include "penstock/dist/share/coordinates.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reserve.hpp"
#include "penstock/dist/share/plan_rows.hpp"
#include "penstock/partition/partition.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kNumberedAtOnce = 1 << 12;  // rows of one task

template <class V>
using Coordinates = std::vector<Coordinate<V>>;

/// Values in an order that all ranks agree on, NaN included.
template <class V>
std::uint64_t bits_of(const V& value) {
  std::uint64_t bits = 0;
  if constexpr (!is_pattern<V>) std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class V>
void sort_all(Coordinates<V>& entries) {
  std::ranges::sort(entries, {}, [](const auto& e) { return std::tuple(e.row, e.column, bits_of(e.value)); });
}

/// For `parts` ranges of rows: how many of the sorted entries go to each.
template <class V>
std::vector<std::int64_t> counts_by(const Coordinates<V>& entries, const std::vector<GlobalIndex>& cuts) {
  std::vector<std::int64_t> counts;
  auto first = entries.begin();
  for (std::size_t r = 1; r < cuts.size(); ++r) {
    const auto last = std::ranges::lower_bound(first, entries.end(), cuts[r], {}, &Coordinate<V>::row);
    counts.push_back(last - first), first = last;
  }
  return counts;
}

/// The least row numbers below which there are at least the shares of all entries that go to the ranks before. Every rank's
/// entries are sorted; each step halves the ranges in which the cuts lie.
template <class V>
std::vector<GlobalIndex> cuts_by_entries(Comm& comm, const Coordinates<V>& entries, GlobalIndex rows) {
  const auto ranks = at(comm.size());
  std::int64_t all = std::ssize(entries);
  comm.all_reduce(std::span(&all, 1), Reduce::sum);
  std::vector<GlobalIndex> low(ranks + 1, 0), high(ranks + 1, rows), middle(ranks + 1);
  std::vector<std::int64_t> below(ranks + 1);
  for (auto width = rows; width > 0; width /= 2) {
    for (std::size_t r = 1; r < ranks; ++r) {
      middle[r] = low[r] + (high[r] - low[r]) / 2;
      below[r] = std::ranges::lower_bound(entries, middle[r], {}, &Coordinate<V>::row) - entries.begin();
    }
    comm.all_reduce(below, Reduce::sum);
    for (std::size_t r = 1; r < ranks; ++r) {
      const auto goal = partition::share(all, comm.size(), static_cast<std::int64_t>(r));
      if (low[r] == high[r]) continue;
      if (below[r] >= goal) high[r] = middle[r];
      else low[r] = middle[r] + 1;
    }
  }
  low.back() = rows;
  return low;
}

std::vector<GlobalIndex> equal_cuts(GlobalIndex size, int ranks) {
  std::vector<GlobalIndex> cuts;
  for (int r = 0; r <= ranks; ++r) cuts.push_back(partition::share(size, ranks, r));
  return cuts;
}

/// The sorted entries that are in this rank's rows. What it sends is freed before they are sorted.
template <class V>
Coordinates<V> to_owners(Comm& comm, Coordinates<V> entries, const std::vector<GlobalIndex>& cuts) {
  const auto counts = counts_by(entries, cuts);
  auto came = travel(comm, entries, counts, travel_counts(comm, counts));
  Coordinates<V>().swap(entries);
  sort_all(came);
  return came;
}

template <class V>
void merge(Coordinates<V>& entries, [[maybe_unused]] Duplicates how) {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    auto& e = entries[k];
    if (kept > 0 && entries[kept - 1].row == e.row && entries[kept - 1].column == e.column) {
      if constexpr (!is_pattern<V>)
        if (how == Duplicates::sum) entries[kept - 1].value += e.value;
    } else {
      entries[kept++] = e;
    }
  }
  entries.resize(kept);
}

void keep_distinct(std::vector<GlobalIndex>& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

/// Its memory goes with the last one who has a part of it.
template <class T>
Array<const T> as_array(std::vector<T> v) {
  const auto held = std::make_shared<const std::vector<T>>(std::move(v));
  return {held->data(), std::ssize(*held), {}, std::const_pointer_cast<std::vector<T>>(held)};
}

std::shared_ptr<const Ownership> owners_of_list(Comm& comm, const std::vector<GlobalIndex>& cuts,
                                                std::vector<GlobalIndex> numbers) {
  keep_distinct(numbers);
  numbers.shrink_to_fit();
  const auto count = std::ssize(numbers);
  std::vector<std::int64_t> counts(at(comm.size()));
  comm.all_gather(&count, sizeof count, counts.data());
  return std::make_shared<const Ownership>(
      Ownership::listed(cuts, counts, comm.rank(), as_array(std::move(numbers))));
}

/// The columns that any rank has entries in, at their owners.
template <class V>
std::vector<GlobalIndex> columns_at_owners(Comm& comm, const Coordinates<V>& entries,
                                           const std::vector<GlobalIndex>& cuts) {
  std::vector<GlobalIndex> columns;
  columns.reserve(entries.size());
  for (const auto& e : entries) columns.push_back(e.column);
  keep_distinct(columns);
  std::vector<std::int64_t> counts;
  for (auto first = columns.begin(); counts.size() + 1 < cuts.size();) {
    const auto last = std::lower_bound(first, columns.end(), cuts[counts.size() + 1]);
    counts.push_back(last - first), first = last;
  }
  return travel(comm, columns, counts, travel_counts(comm, counts));
}

/// Finds numbers in a sorted list. A table says where those of each range of 2^shift numbers begin: there are at most twice as
/// many ranges as numbers, so that where these are spread evenly, few are compared.
class Places {
 public:
  explicit Places(std::span<const GlobalIndex> sorted) : sorted_(sorted) {
    if (sorted.empty()) return;
    const auto width = static_cast<std::uint64_t>(sorted.back() - sorted.front());
    shift_ = std::max(
        0, static_cast<int>(std::bit_width(width)) - static_cast<int>(std::bit_width(sorted.size())));
    begins_.resize((width >> shift_) + 2);
    for (const auto number : sorted) ++begins_[range_of(number) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  }
  /// Of a number that is in the list.
  std::int64_t of(GlobalIndex number) const {
    const auto range = range_of(number);
    const auto* list = sorted_.data();
    return std::lower_bound(list + begins_[range], list + begins_[range + 1], number) - list;
  }

 private:
  std::size_t range_of(GlobalIndex number) const {
    return static_cast<std::uint64_t>(number - sorted_.front()) >> shift_;
  }

  std::span<const GlobalIndex> sorted_;
  int shift_ = 0;
  std::vector<Index> begins_;
};

/// The same answer, or error, on all ranks.
void require_room(Comm& comm, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kMost = std::numeric_limits<Index>::max();
  std::int64_t most[] = {rows, columns};
  comm.all_reduce(most, Reduce::max);
  require(most[0] < kMost && most[1] < kMost, [&] {
    return "a rank would hold " + std::to_string(most[0]) + " rows and " + std::to_string(most[1]) +
           " columns, ghosts among them, where 2^31 - 2 is the most: use more ranks";
  });
}

/// Columns that another rank owns, ascending: by owner, then by number.
template <class V>
std::vector<GlobalIndex> ghosts_in(const Coordinates<V>& entries, const Ownership& cols, int me) {
  const auto& cuts = cols.is_ranges() ? cols.starts() : cols.cuts();
  const auto foreign = [first = cuts[at(me)], last = cuts[at(me) + 1]](const auto& e) {
    return e.column < first || e.column >= last;
  };
  std::vector<GlobalIndex> ghosts;
  ghosts.reserve(at(std::ranges::count_if(entries, foreign)));
  for (const auto& e : entries)
    if (foreign(e)) ghosts.push_back(e.column);
  keep_distinct(ghosts);
  return ghosts;
}

/// The matrix of entries that are sorted and in rows owned here.
template <class V>
DistCsr<V> numbered(const std::shared_ptr<Comm>& comm, std::shared_ptr<const Ownership> rows,
                    std::shared_ptr<const Ownership> cols, Coordinates<V> entries) {
  const int me = comm->rank();
  const auto n = rows->count(me), nnz = std::ssize(entries);
  const auto ghosts = ghosts_in(entries, *cols, me);
  require_room(*comm, n, cols->count(me) + std::ssize(ghosts));
  auto local_ptr = allocate<Offset>(n + 1), halo_ptr = allocate<Offset>(n + 1);
  const auto begin = allocate_apart<Offset>(n + 1);  // of each row in the entries
  const auto numbers = rows->numbers(me);
  std::int64_t k = 0, halo_nnz = 0;
  for (std::int64_t r = 0; r < n; ++r) {
    begin.data[r] = k, local_ptr.data[r] = k - halo_nnz, halo_ptr.data[r] = halo_nnz;
    for (; k < nnz && entries[at(k)].row == numbers.data[r]; ++k)
      halo_nnz += cols->owner(entries[at(k)].column) != me;
  }
  begin.data[n] = k, local_ptr.data[n] = k - halo_nnz, halo_ptr.data[n] = halo_nnz;
  require(k == nnz, [&] {
    return "row " + std::to_string(entries[at(k)].row) + " is not listed on rank " + std::to_string(me);
  });
  auto local_indices = allocate<Index>(nnz - halo_nnz), halo_indices = allocate<Index>(halo_nnz);
  Array<V> local_values, halo_values;
  if constexpr (!is_pattern<V>)
    local_values = allocate<V>(nnz - halo_nnz), halo_values = allocate<V>(halo_nnz);
  const auto& cuts = cols->is_ranges() ? cols->starts() : cols->cuts();
  const auto first_mine = cuts[at(me)], last_mine = cuts[at(me) + 1];
  const Places ghost_places(ghosts), own_places(cols->list().span());
  const bool ranged = cols->is_ranges();
  parallel_ranges(n, kNumberedAtOnce, [&](std::int64_t first, std::int64_t last) {
    auto own = local_ptr.data[first], ghost = halo_ptr.data[first];
    for (auto e = begin.data[first]; e < begin.data[last]; ++e) {
      const auto& entry = entries[at(e)];
      const bool mine = entry.column >= first_mine && entry.column < last_mine;
      const auto place = !mine    ? ghost_places.of(entry.column)
                         : ranged ? entry.column - first_mine
                                  : own_places.of(entry.column);
      if constexpr (!is_pattern<V>) (mine ? local_values.data[own] : halo_values.data[ghost]) = entry.value;
      (mine ? local_indices.data[own++] : halo_indices.data[ghost++]) = static_cast<Index>(place);
    }
    poll_interrupt();
  });
  Coordinates<V>().swap(entries);
  DistCsr<V> d;
  d.comm = comm, d.row_owners = std::move(rows), d.col_owners = std::move(cols);
  d.local = {n, d.cols(), local_ptr, local_indices, local_values};
  d.halo = {n, std::ssize(ghosts), halo_ptr, halo_indices, halo_values};
  d.plan = std::make_shared<const CommPlan>(plan_exchange(*comm, *d.col_owners, ghosts));
  d.sums = std::make_shared<const CommPlan>(plan_exchange(*comm, *d.row_owners, {}));
  return d;
}

std::vector<GlobalIndex> cuts_of(const Ownership& o) {
  require(o.is_ranges() || o.is_listed(), "entries are sent to owners of ranges of rows alone");
  if (o.is_ranges()) return o.starts();
  return o.cuts();
}

}  // namespace

template <class V>
DistCsr<V> from_coordinates(std::shared_ptr<Comm> comm, GlobalIndex rows, GlobalIndex cols,
                            std::vector<Coordinate<V>> entries, RowCuts how, Numbering numbering,
                            Duplicates duplicates) {
  sort_all(entries);
  const int ranks = comm->size();
  const bool square = rows == cols, listed = numbering == Numbering::listed;
  const auto cuts =
      how == RowCuts::balanced ? cuts_by_entries(*comm, entries, rows) : equal_cuts(rows, ranks);
  const auto col_cuts = square ? cuts : equal_cuts(cols, ranks);
  entries = to_owners(*comm, std::move(entries), cuts);
  merge(entries, duplicates);
  if (!listed) {
    const auto of_rows = std::make_shared<const Ownership>(Ownership::ranges(cuts));
    const auto of_cols = square ? of_rows : std::make_shared<const Ownership>(Ownership::ranges(col_cuts));
    return numbered<V>(comm, of_rows, of_cols, std::move(entries));
  }
  auto columns = columns_at_owners(*comm, entries, col_cuts);
  auto numbers = square ? std::move(columns) : std::vector<GlobalIndex>{};
  for (std::size_t k = 0; k < entries.size(); ++k)
    if (k == 0 || entries[k].row != entries[k - 1].row) numbers.push_back(entries[k].row);
  const auto of_rows = owners_of_list(*comm, cuts, std::move(numbers));
  const auto of_cols = square ? of_rows : owners_of_list(*comm, col_cuts, std::move(columns));
  return numbered<V>(comm, of_rows, of_cols, std::move(entries));
}

template <class V>
DistCsr<V> from_coordinates(std::shared_ptr<Comm> comm, std::shared_ptr<const Ownership> rows,
                            std::shared_ptr<const Ownership> cols, std::vector<Coordinate<V>> entries) {
  sort_all(entries);
  entries = to_owners(*comm, std::move(entries), cuts_of(*rows));
  return numbered<V>(comm, std::move(rows), std::move(cols), std::move(entries));
}

#define X(V)                                                                                           \
  template DistCsr<V> from_coordinates<V>(std::shared_ptr<Comm>, GlobalIndex, GlobalIndex,             \
                                          std::vector<Coordinate<V>>, RowCuts, Numbering, Duplicates); \
  template DistCsr<V> from_coordinates<V>(std::shared_ptr<Comm>, std::shared_ptr<const Ownership>,     \
                                          std::shared_ptr<const Ownership>, std::vector<Coordinate<V>>);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
