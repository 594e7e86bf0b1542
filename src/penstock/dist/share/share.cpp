// Cuts shares out of a matrix. A part that is a range of whole rows shares the arrays of the matrix. Any other part is copied
// row by row, as the partition's runs say.
#include "penstock/dist/share/share.hpp"

#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reserve.hpp"
#include "penstock/dist/share/row_runs.hpp"

namespace penstock {
namespace {

constexpr int kPollRows = 1 << 16;
/// Entries that are read before their memory is given back: fewer would make more system calls.
constexpr Offset kForgetBytes = 1 << 20;

/// Whether the share of `part` is a range of whole rows; if so, [first, last) are these rows.
bool whole_range(const Partition& p, Index part, std::int64_t& first, std::int64_t& last) {
  if (p.grid_cols > 1 || !p.pieces.empty() || p.row_cuts.empty()) return false;
  first = p.row_cuts[static_cast<std::size_t>(part)], last = p.row_cuts[static_cast<std::size_t>(part) + 1];
  return true;
}

template <class T>
void forget(const Array<const T>& a) {
  forget_bytes(const_cast<T*>(a.data), a.bytes());
}

template <class V>
bool mapped(const Csr<V>& a) {
  return a.indices.place.memory == Memory::mapped &&
         (is_pattern<V> || a.values.place.memory == Memory::mapped);
}

}  // namespace

template <class V>
void forget_mapped(const Csr<V>& a, Offset first, Offset last) {
  if (!mapped(a)) return;
  forget(a.indices.slice(first, last - first));
  if constexpr (!is_pattern<V>) forget(a.values.slice(first, last - first));
}

template <class V>
void forget_offsets(const Csr<V>& a) {
  if (a.indptr.place.memory == Memory::mapped) forget(a.indptr);
}

template <class V>
RowRange<V> rows_of(const Csr<V>& a, std::int64_t first, std::int64_t last) {
  const auto begin = a.indptr.data[first], count = a.indptr.data[last] - begin;
  RowRange<V> out;
  out.first_row = first, out.first_entry = begin;
  out.entries = {
      last - first, a.cols, a.indptr.slice(first, last - first + 1), a.indices.slice(begin, count), {}};
  if constexpr (!is_pattern<V>) out.entries.values = a.values.slice(begin, count);
  if (begin > 0) {
    auto offsets = allocate_apart<Offset>(last - first + 1);
    for (auto r = first; r <= last; ++r) offsets.data[r - first] = a.indptr.data[r] - begin;
    forget_offsets(out.entries);
    out.entries.indptr = offsets;
  }
  return out;
}

template <class V>
Share<V> share_of(const RowRange<V>& rows, const Partition& p, Index part) {
  std::int64_t first = 0, last = 0;
  const auto& a = rows.entries;
  if (whole_range(p, part, first, last)) {
    first = std::clamp<std::int64_t>(first - rows.first_row, 0, a.rows);
    last = std::clamp<std::int64_t>(last - rows.first_row, first, a.rows);
    Share<V> s;
    s.first_row = rows.first_row + first;
    s.entries = rows_of(a, first, last).entries;
    s.consumed = mapped(s.entries);  // the file still has them
    return s;
  }
  const RowRuns runs(p);
  std::int64_t held = 0;
  Offset entries = 0;
  const auto mine = [&](auto&& f) {
    for (std::int64_t r = 0; r < a.rows; ++r) {
      if (r % kPollRows == 0) poll_interrupt();
      runs.row(rows, r, [&](Index owner, Offset k, Offset end) {
        if (owner == part) f(rows.first_row + r, k, end);
      });
    }
  };
  GlobalIndex before = -1;
  mine([&](GlobalIndex row, Offset k, Offset end) {
    held += row != before, before = row, entries += end - k;
  });
  ShareBuilder<V> out(a.cols, held, entries);
  mine([&](GlobalIndex row, Offset k, Offset end) {
    out.add(row, a.indices.data + k, is_pattern<V> ? nullptr : a.values.data + k, end - k);
  });
  return out.share();
}

template <class V>
Share<V> cut_share(const Share<V>& rows, const Partition& p, Index part) {
  if (p.grid_cols == 1 && p.pieces.empty()) return rows;
  const RowRuns runs(p);
  const auto& a = rows.entries;
  ShareBuilder<V> out(a.cols, a.rows, a.nnz());
  Offset read = 0;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    runs.row(rows, r, [&](Index owner, Offset k, Offset end) {
      if (owner == part)
        out.add(rows.row_id(r), a.indices.data + k, is_pattern<V> ? nullptr : a.values.data + k, end - k);
    });
    const auto more = a.indptr.data[r + 1] - read;
    if (!rows.consumed || more < kForgetBytes) continue;
    forget(a.indices.slice(read, more));
    if constexpr (!is_pattern<V>) forget(a.values.slice(read, more));
    read += more;
  }
  return out.share();
}

Partition broadcast(Comm& comm, const Partition* given, int root) {
  const bool here = comm.rank() == root;
  require(!here || given, "the root's partition is missing");
  Partition p = here ? *given : Partition{};
  const auto send = [&](void* data, std::int64_t bytes) {
    if (bytes > 0) comm.broadcast(data, bytes, root);
  };
  const auto send_list = [&](auto& list) {
    auto count = std::ssize(list);
    comm.broadcast(&count, sizeof(count), root);
    list.resize(static_cast<std::size_t>(count));
    send(list.data(), count * std::int64_t{sizeof(list[0])});
  };
  const auto send_array = [&](Array<const Index>& array, std::int64_t size) {
    if (here) return send(const_cast<Index*>(array.data), array.bytes());
    const auto copy = allocate_apart<Index>(size);
    send(copy.data, copy.bytes());
    array = copy;
  };
  std::int64_t facts[] = {
      static_cast<std::int64_t>(p.kind),     p.parts, p.grid_rows, p.grid_cols, p.rows, p.cols, p.nnz,
      p.row_owners.data == p.col_owners.data};
  send(facts, sizeof(facts));
  p.kind = static_cast<PartitionKind>(facts[0]);
  p.parts = facts[1], p.grid_rows = facts[2], p.grid_cols = facts[3];
  p.rows = facts[4], p.cols = facts[5], p.nnz = facts[6];
  send_array(p.row_owners, p.rows);
  if (!facts[7]) send_array(p.col_owners, p.cols);
  else p.col_owners = p.row_owners;
  send_list(p.row_cuts), send_list(p.col_cuts), send_list(p.pieces);
  return p;
}

Owners owners_of(const Partition& p, int ranks, bool rows_at_root) {
  require(p.parts == ranks, "a partition into " + std::to_string(p.parts) + " parts, but there are " +
                                std::to_string(ranks) + " ranks: make one with as many parts");
  Owners o;
  if (rows_at_root) {
    std::vector<GlobalIndex> starts(static_cast<std::size_t>(ranks) + 1, p.rows);
    starts.front() = 0;
    o.rows = std::make_shared<const Ownership>(Ownership::ranges(std::move(starts)));
    o.cols = std::make_shared<const Ownership>(Ownership::of(p.col_owners, ranks));
    return o;
  }
  o.rows = std::make_shared<const Ownership>(Ownership::of(p.row_owners, ranks));
  o.cols = p.col_owners.data == p.row_owners.data
               ? o.rows
               : std::make_shared<const Ownership>(Ownership::of(p.col_owners, ranks));
  return o;
}

#define X(V)                                                               \
  template void forget_mapped(const Csr<V>&, Offset, Offset);              \
  template void forget_offsets(const Csr<V>&);                             \
  template RowRange<V> rows_of(const Csr<V>&, std::int64_t, std::int64_t); \
  template Share<V> share_of(const RowRange<V>&, const Partition&, Index); \
  template Share<V> cut_share(const Share<V>&, const Partition&, Index);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
