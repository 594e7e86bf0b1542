#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <numeric>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/dist/share.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kGrain = 1 << 12;  // rows of a task
constexpr Offset kForget = 1 << 20;  // entries from which a share's memory is given back while it is read

/// The columns that occur here and belong to others: a bit each, and each one's place among the ghosts.
class Ghosts {
 public:
  Ghosts(const Ownership& owners, int me) : owners_(owners), me_(me) {
    const auto& starts = owners.starts();
    if (owners.is_ranges()) first_ = starts[static_cast<std::size_t>(me)], last_ = first_ + owners.count(me);
  }

  bool mine(GlobalIndex j) const {
    return owners_.is_ranges() ? j >= first_ && j < last_ : owners_.owner(j) == me_;
  }

  /// The place of an owned column in its owner's part.
  Index local(Index j) const {
    return static_cast<Index>(owners_.is_ranges() ? j - first_ : owners_.local(j));
  }

  template <class V>
  void collect(const Csr<V>& a) {
    const auto words = (a.cols + 63) / 64;
    auto bits = allocate<std::uint64_t>(words);
    std::fill_n(bits.data, words, 0);
    parallel_ranges(a.rows, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (auto k = a.indptr.data[first]; k < a.indptr.data[last]; ++k) {
        const auto j = a.indices.data[k];
        if (mine(j)) continue;
        const auto bit = std::uint64_t{1} << (j % 64);
        std::atomic_ref word(bits.data[j / 64]);
        if (!(word.load(std::memory_order_relaxed) & bit)) word.fetch_or(bit, std::memory_order_relaxed);
      }
      poll_interrupt();
    });
    bits_ = bits;
    before_ = allocate<Index>(words);
    for (std::int64_t w = 0, n = 0; w < words; ++w) {
      before_.data[w] = static_cast<Index>(n);
      n += std::popcount(bits.data[w]);
      for (auto left = bits.data[w]; left; left &= left - 1)
        numbers_.push_back(w * 64 + std::countr_zero(left));
    }
    if (owners_.is_ranges()) return;
    // By owner, then number; a column's place in this order is looked up.
    std::vector<Index> order(numbers_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto owner = [&](Index i) { return owners_.owner(numbers_[static_cast<std::size_t>(i)]); };
    std::ranges::stable_sort(order, {}, owner);
    place_.resize(order.size());
    std::vector<GlobalIndex> sorted(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place_[static_cast<std::size_t>(order[i])] = static_cast<Index>(i);
      sorted[i] = numbers_[static_cast<std::size_t>(order[i])];
    }
    numbers_ = std::move(sorted);
  }

  Index place(Index j) const {
    const auto below = bits_.data[j / 64] & ((std::uint64_t{1} << (j % 64)) - 1);
    const auto i = before_.data[j / 64] + static_cast<Index>(std::popcount(below));
    return place_.empty() ? i : place_[static_cast<std::size_t>(i)];
  }
  const std::vector<GlobalIndex>& numbers() const { return numbers_; }

 private:
  const Ownership& owners_;
  int me_;
  GlobalIndex first_ = 0, last_ = 0;
  Array<std::uint64_t> bits_;
  Array<Index> before_;
  std::vector<GlobalIndex> numbers_;
  std::vector<Index> place_;  // empty: in ascending order
};

/// Where each row of the share goes: an owned row to its place, a foreign one behind them, in the order of `foreign`, which
/// is made here. -1: a foreign row without entries.
template <class V>
std::vector<Index> places(const Share<V>& share, const Ownership& rows, int me,
                          std::vector<GlobalIndex>& foreign) {
  const auto owned = rows.count(me);
  std::vector<Index> to(static_cast<std::size_t>(share.entries.rows), -1);
  std::vector<std::int64_t> others;
  std::vector<bool> taken(static_cast<std::size_t>(owned));
  const auto twice = [](GlobalIndex id) {
    return "distribute: row " + std::to_string(id) + " is twice in a share";
  };
  for (std::int64_t r = 0; r < share.entries.rows; ++r) {
    const auto id = share.row_id(r);
    if (id < 0 || id >= rows.size())
      throw Error(Errc::invalid_argument, "distribute: row " + std::to_string(id) + " of a matrix with " +
                                              std::to_string(rows.size()) + " rows");
    if (rows.owner(id) != me) {
      if (share.entries.indptr.data[r] < share.entries.indptr.data[r + 1]) others.push_back(r);
      continue;
    }
    const auto place = rows.local(id);
    if (taken[static_cast<std::size_t>(place)]) throw Error(Errc::invalid_argument, twice(id));
    taken[static_cast<std::size_t>(place)] = true;
    to[static_cast<std::size_t>(r)] = static_cast<Index>(place);
  }
  std::ranges::sort(others, {},
                    [&](std::int64_t r) { return std::pair(rows.owner(share.row_id(r)), share.row_id(r)); });
  for (const auto r : others) {
    const auto id = share.row_id(r);
    if (!foreign.empty() && foreign.back() == id) throw Error(Errc::invalid_argument, twice(id));
    to[static_cast<std::size_t>(r)] = static_cast<Index>(owned + std::ssize(foreign));
    foreign.push_back(id);
  }
  return to;
}

/// The two blocks, of `rows` rows: entries in owned columns and entries in ghosts. Walks the share in its own order, so
/// that what was read can go.
template <class V>
void split(const Share<V>& share, std::int64_t rows, const std::vector<Index>& to, const Ghosts& ghosts,
           Csr<V>& local, Csr<V>& halo) {
  const auto& a = share.entries;
  auto local_ptr = allocate<Offset>(rows + 1), halo_ptr = allocate<Offset>(rows + 1);
  std::fill_n(local_ptr.data, rows + 1, 0), std::fill_n(halo_ptr.data, rows + 1, 0);
  const bool forget = share.consumed && a.nnz() >= kForget;
  // A task then reads a megabyte or two: less than a large page would stay.
  const auto grain = forget ? std::max<std::int64_t>(1, a.rows * (kForget / 2) / a.nnz()) : kGrain;
  const auto each_row = [&](auto&& f, auto&& done) {
    parallel_ranges(a.rows, grain, [&](std::int64_t first, std::int64_t last) {
      for (auto r = first; r < last; ++r)
        if (const auto at = to[static_cast<std::size_t>(r)]; at >= 0)
          f(at, a.indptr.data[r], a.indptr.data[r + 1]);
      done(a.indptr.data[first], a.indptr.data[last]);
      poll_interrupt();
    });
  };
  each_row(
      [&](std::int64_t row, Offset first, Offset last) {
        Offset mine = 0;
        for (auto k = first; k < last; ++k) mine += ghosts.mine(a.indices.data[k]);
        local_ptr.data[row + 1] = mine, halo_ptr.data[row + 1] = last - first - mine;
      },
      [&](Offset first, Offset last) { forget_mapped(a, first, last); });
  std::partial_sum(local_ptr.data, local_ptr.data + rows + 1, local_ptr.data);
  std::partial_sum(halo_ptr.data, halo_ptr.data + rows + 1, halo_ptr.data);

  const auto local_nnz = local_ptr.data[rows], halo_nnz = halo_ptr.data[rows];
  auto local_indices = allocate<Index>(local_nnz), halo_indices = allocate<Index>(halo_nnz);
  Array<V> local_values, halo_values;
  if constexpr (!is_pattern<V>) local_values = allocate<V>(local_nnz), halo_values = allocate<V>(halo_nnz);
  each_row(
      [&](std::int64_t row, Offset first, Offset last) {
        auto at = local_ptr.data[row], ghost_at = halo_ptr.data[row];
        for (auto k = first; k < last; ++k) {
          const auto j = a.indices.data[k];
          const bool mine = ghosts.mine(j);
          if constexpr (!is_pattern<V>)
            (mine ? local_values.data[at] : halo_values.data[ghost_at]) = a.values.data[k];
          if (mine) local_indices.data[at++] = ghosts.local(j);
          else halo_indices.data[ghost_at++] = ghosts.place(j);
        }
      },
      [&](Offset first, Offset last) {
        if (!forget) return;
        forget_bytes(const_cast<Index*>(a.indices.data + first),
                     (last - first) * std::int64_t{sizeof(Index)});
        if constexpr (!is_pattern<V>)
          forget_bytes(const_cast<V*>(a.values.data + first), (last - first) * value_bytes<V>);
      });
  local.rows = halo.rows = rows;
  local.indptr = local_ptr, local.indices = local_indices, local.values = local_values;
  halo.indptr = halo_ptr, halo.indices = halo_indices, halo.values = halo_values;
}

}  // namespace

template <class V>
DistCsr<V> distribute(std::shared_ptr<Comm> comm, std::shared_ptr<const Ownership> rows,
                      std::shared_ptr<const Ownership> cols, const Share<V>& share) {
  const auto& a = share.entries;
  require(rows->ranks() == comm->size() && cols->ranks() == comm->size(),
          "distribute: rows are shared out among " + std::to_string(rows->ranks()) +
              " ranks and columns among " + std::to_string(cols->ranks()) + ", but there are " +
              std::to_string(comm->size()));
  require(cols->size() <= std::numeric_limits<Index>::max(),
          "distribute: " + std::to_string(cols->size()) + " columns: a matrix has at most 2^31 - 1");
  require(a.cols == cols->size(), "distribute: the share has " + std::to_string(a.cols) +
                                      " columns, the vector x " + std::to_string(cols->size()) + " entries");
  require(share.row_ids.size == 0 || share.row_ids.size == a.rows,
          "distribute: " + std::to_string(share.row_ids.size) + " row numbers for " + std::to_string(a.rows) +
              " rows");
  validate(a, true);
  forget_mapped(a, 0, a.nnz());
  const int me = comm->rank();
  require(rows->count(me) + a.rows <= std::numeric_limits<Index>::max(),
          "distribute: " + std::to_string(rows->count(me)) + " rows here and " + std::to_string(a.rows) +
              " in the share, more than 2^31 - 1 together: use more ranks");
  std::vector<GlobalIndex> foreign;
  const auto to = places(share, *rows, me, foreign);
  Ghosts ghosts(*cols, me);
  ghosts.collect(a);
  forget_mapped(a, 0, a.nnz());

  DistCsr<V> d;
  d.comm = comm, d.row_owners = rows, d.col_owners = cols;
  split(share, rows->count(me) + std::ssize(foreign), to, ghosts, d.local, d.halo);
  d.local.cols = cols->count(me), d.halo.cols = static_cast<std::int64_t>(ghosts.numbers().size());
  d.plan = std::make_shared<const CommPlan>(plan_exchange(*comm, *cols, ghosts.numbers()));
  d.sums = std::make_shared<const CommPlan>(plan_exchange(*comm, *rows, foreign));
  return d;
}

#define X(V)                                                                                 \
  template DistCsr<V> distribute<V>(std::shared_ptr<Comm>, std::shared_ptr<const Ownership>, \
                                    std::shared_ptr<const Ownership>, const Share<V>&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
