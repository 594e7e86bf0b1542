// Renumbers a rank's share of a matrix. Each column of the share is owned here, or it is a ghost, whose entry of x another rank
// owns; ghosts are found in one pass and numbered by owner. A second and a third pass over the share count and write the two
// blocks, `local` and `halo`. While a share is read that nobody else needs, its memory is given back piece by piece, so that
// the matrix is not there twice.
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/ranked_bits.hpp"
#include "penstock/dist/share/share.hpp"

namespace penstock {
namespace {

/// Rows of one task.
constexpr std::int64_t kDistributedAtOnce = 1 << 12;
/// A share with at least so many entries gives its memory back while it is read; for fewer the calls would cost more.
constexpr Offset kForget = 1 << 20;

/// Which columns are owned here, and which columns of the share belong to other ranks: the ghosts.
class Ghosts {
 public:
  Ghosts(const Ownership& owners, int me) : owners_(owners), ranges_(owners.is_ranges()) {
    if (ranges_) {
      first_ = owners.starts()[static_cast<std::size_t>(me)], last_ = first_ + owners.count(me);
    } else {
      mine_ = RankedBits(owners.size());
      for (GlobalIndex j = 0; j < owners.size(); ++j)
        if (owners.owner(j) == me) mine_.insert(j);
      mine_.seal();
    }
  }

  bool mine(GlobalIndex j) const { return ranges_ ? j >= first_ && j < last_ : mine_.has(j); }
  /// The place of an owned column in its owner's part.
  Index local(Index j) const { return ranges_ ? static_cast<Index>(j - first_) : mine_.below(j); }

  template <class V>
  void collect(const Csr<V>& a) {
    bits_ = RankedBits(a.cols);
    parallel_ranges(a.rows, kDistributedAtOnce, [&](std::int64_t first, std::int64_t last) {
      for (auto k = a.indptr.data[first]; k < a.indptr.data[last]; ++k)
        if (const auto j = a.indices.data[k]; !mine(j)) bits_.insert_shared(j);
      poll_interrupt();
    });
    bits_.seal();
    if (ranges_) return;
    // Ghosts are ordered by owner, then by number; a table has the place of each of them in this order.
    place_ = allocate_apart<Index>(bits_.count());
    std::vector<std::int64_t> next(static_cast<std::size_t>(owners_.ranks()) + 1);
    const auto of = [&](GlobalIndex j) { return static_cast<std::size_t>(owners_.owner(j)); };
    bits_.each([&](GlobalIndex j) { ++next[of(j) + 1]; });
    std::partial_sum(next.begin(), next.end(), next.begin());
    bits_.each([&, to = place_.data](GlobalIndex j) mutable { *to++ = static_cast<Index>(next[of(j)]++); });
  }

  Index place(Index j) const {
    const auto i = bits_.below(j);
    return ranges_ ? i : place_.data[i];
  }
  std::int64_t count() const { return bits_.count(); }
  /// The numbers of the ghosts, in the order of their places.
  Array<GlobalIndex> numbers() const {
    const auto out = allocate_apart<GlobalIndex>(count());
    bits_.each(
        [&, i = std::int64_t{0}](GlobalIndex j) mutable { out.data[ranges_ ? i : place_.data[i]] = j, ++i; });
    return out;
  }

 private:
  const Ownership& owners_;
  bool ranges_;
  GlobalIndex first_ = 0, last_ = 0;  // the columns that are owned here, where owners have ranges
  RankedBits mine_;                   // the same for any other sharing
  RankedBits bits_;                   // the ghosts
  Array<Index> place_;  // of each ghost, by its number; not needed for ranges, which have them in that order
};

/// The new number of each row of the share: an owned row has its place at the owner, foreign rows follow in the order of
/// `foreign`, which is made here. -1: a foreign row without entries, which is left out.
template <class V>
Array<Index> places(const Share<V>& share, const Ownership& rows, int me, std::vector<GlobalIndex>& foreign) {
  const auto owned = rows.count(me);
  const auto to = allocate_apart<Index>(share.entries.rows);
  std::fill_n(to.data, to.size, -1);
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
    to.data[r] = static_cast<Index>(place);
  }
  std::ranges::sort(others, {},
                    [&](std::int64_t r) { return std::pair(rows.owner(share.row_id(r)), share.row_id(r)); });
  for (const auto r : others) {
    const auto id = share.row_id(r);
    if (!foreign.empty() && foreign.back() == id) throw Error(Errc::invalid_argument, twice(id));
    to.data[r] = static_cast<Index>(owned + std::ssize(foreign));
    foreign.push_back(id);
  }
  return to;
}

/// Makes the two blocks, of `rows` rows: entries in owned columns, and entries in ghosts. It reads the share in its own order,
/// so that what has been read can be given back.
template <class V>
void split(const Share<V>& share, std::int64_t rows, const Array<Index>& to, const Ghosts& ghosts,
           Csr<V>& local, Csr<V>& halo) {
  const auto& a = share.entries;
  auto local_ptr = allocate<Offset>(rows + 1), halo_ptr = allocate<Offset>(rows + 1);
  std::fill_n(local_ptr.data, rows + 1, 0), std::fill_n(halo_ptr.data, rows + 1, 0);
  const bool forget = share.consumed && a.nnz() >= kForget;
  // Then a task reads one or two megabytes: of what the tasks under way have read there are two copies for a moment.
  const auto grain =
      forget ? std::max<std::int64_t>(1, a.rows * (kForget / 8) / a.nnz()) : kDistributedAtOnce;
  const auto each_row = [&](auto&& f, auto&& done) {
    parallel_ranges(a.rows, grain, [&](std::int64_t first, std::int64_t last) {
      for (auto r = first; r < last; ++r)
        if (const auto at = to.data[r]; at >= 0) f(at, a.indptr.data[r], a.indptr.data[r + 1]);
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
                      std::shared_ptr<const Ownership> cols, Share<V> share) {
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
  auto to = places(share, *rows, me, foreign);
  share.row_ids = {};
  Ghosts ghosts(*cols, me);
  ghosts.collect(a);
  forget_mapped(a, 0, a.nnz());

  DistCsr<V> d;
  d.comm = comm, d.row_owners = rows, d.col_owners = cols;
  split(share, rows->count(me) + std::ssize(foreign), to, ghosts, d.local, d.halo);
  share = {}, to = {};
  d.local.cols = cols->count(me), d.halo.cols = ghosts.count();
  const Array<const GlobalIndex> numbers = ghosts.numbers();
  d.plan = std::make_shared<const CommPlan>(plan_exchange(*comm, *cols, numbers.span()));
  d.sums = std::make_shared<const CommPlan>(plan_exchange(*comm, *rows, foreign));
  return d;
}

#define X(V)                                                                                 \
  template DistCsr<V> distribute<V>(std::shared_ptr<Comm>, std::shared_ptr<const Ownership>, \
                                    std::shared_ptr<const Ownership>, Share<V>);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
