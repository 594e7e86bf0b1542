#include <cstring>
#include <numeric>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/dist/share/row_runs.hpp"

// A matrix that one rank has, sent to all: each share travels as one block of bytes.
namespace penstock {
namespace {

/// A share as bytes: {rows, entries, cols}, row numbers, lengths, indices, values.
template <class V>
struct Block {
  static constexpr std::int64_t kHead = 3 * sizeof(std::int64_t);
  static std::int64_t bytes(std::int64_t rows, Offset entries) {
    return kHead + rows * 16 + padded(entries * 4) + padded(entries * value_bytes<V>);
  }
  static std::int64_t padded(std::int64_t n) { return (n + 7) / 8 * 8; }  // every array begins aligned

  static void write(const Share<V>& s, std::byte* to) {
    const auto& a = s.entries;
    const std::int64_t head[] = {a.rows, a.nnz(), a.cols};
    std::memcpy(to, head, kHead);
    auto* ids = reinterpret_cast<std::int64_t*>(to + kHead);
    for (std::int64_t r = 0; r < a.rows; ++r) {
      ids[r] = s.row_id(r);
      ids[a.rows + r] = a.indptr.data[r + 1] - a.indptr.data[r];
    }
    auto* rest = to + kHead + a.rows * 16;
    std::copy_n(a.indices.data, a.nnz(), reinterpret_cast<Index*>(rest));
    if constexpr (!is_pattern<V>)
      std::copy_n(a.values.data, a.nnz(), reinterpret_cast<V*>(rest + padded(a.nnz() * 4)));
  }
  /// The share that the bytes hold. It shares them, except for the offsets.
  static Share<V> read(const Array<std::byte>& from) {
    std::int64_t head[3];
    std::memcpy(head, from.data, kHead);
    const auto [rows, entries, cols] = head;
    const auto* ids = reinterpret_cast<const GlobalIndex*>(from.data + kHead);
    auto offsets = allocate<Offset>(rows + 1);
    offsets.data[0] = 0;
    std::partial_sum(ids + rows, ids + 2 * rows, offsets.data + 1);
    const auto* rest = from.data + kHead + rows * 16;
    Share<V> s;
    s.row_ids = {ids, rows, {}, from.owner};
    s.entries = {rows, cols, offsets, {reinterpret_cast<const Index*>(rest), entries, {}, from.owner}, {}};
    if constexpr (!is_pattern<V>)
      s.entries.values = {reinterpret_cast<const V*>(rest + padded(entries * 4)), entries, {}, from.owner};
    s.consumed = true;
    return s;
  }
};

/// Columns of the most square grid with at least as many rows as columns, as partition::grid has it.
int grid_columns(int ranks) {
  int columns = 1;
  for (int d = 2; d * d <= ranks; ++d)
    if (ranks % d == 0) columns = d;
  return columns;
}

std::vector<std::int64_t> summed(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> offsets(sizes.size() + 1);
  std::partial_sum(sizes.begin(), sizes.end(), offsets.begin() + 1);
  return offsets;
}

}  // namespace

template <class V>
Share<V> scatter_from(Comm& comm, const Csr<V>* whole, const Partition* p, int root, Scatter scatter) {
  const bool here = comm.rank() == root;
  const int ranks = comm.size();
  require(!here || (whole && p), "the root's matrix and partition are missing");
  if (here)
    require(p->parts == ranks, "a partition into " + std::to_string(p->parts) + " parts, but there are " +
                                   std::to_string(ranks) + " ranks: make one with as many parts");
  const int columns = scatter == Scatter::masters ? grid_columns(ranks) : 1;
  // Blocks are in the order of the process columns, so that what a master passes on lies together.
  std::vector<int> order;
  for (int c = 0; c < columns; ++c)
    for (int r = c; r < ranks; r += columns) order.push_back(r);
  std::vector<std::int64_t> sizes(at(ranks));
  Array<std::byte> all;
  if (here) {
    const RowRange<V> range{*whole};
    // Shares are made twice, the first time for their sizes: ranges cost nothing, and to keep others would be a third copy.
    for (const int r : order) {
      const auto share = share_of(range, *p, r);
      sizes[at(r)] = Block<V>::bytes(share.entries.rows, share.entries.nnz());
    }
    all = allocate<std::byte>(std::reduce(sizes.begin(), sizes.end()));
    auto* to = all.data;
    for (const int r : order) {
      Block<V>::write(share_of(range, *p, r), to);
      to += sizes[at(r)];
    }
  }
  comm.broadcast(sizes.data(), ranks * std::int64_t{sizeof(std::int64_t)}, root);
  const auto mine = allocate<std::byte>(sizes[at(comm.rank())]);
  if (scatter == Scatter::direct) {
    comm.scatter_v(all.data, summed(sizes), mine.data, root);
    return Block<V>::read(mine);
  }
  // First the root sends to the masters, who are in its row of the grid; then each master sends to its column.
  const int my_column = comm.rank() % columns, root_row = root / columns;
  const bool master = comm.rank() / columns == root_row;
  const auto masters = comm.split(master ? 0 : 1, comm.rank());
  const auto column = comm.split(my_column, comm.rank());
  std::vector<std::int64_t> per_column(at(columns)), in_column;
  for (int r = 0; r < ranks; ++r) {
    per_column[at(r % columns)] += sizes[at(r)];
    if (r % columns == my_column) in_column.push_back(sizes[at(r)]);
  }
  auto passed = allocate<std::byte>(master ? per_column[at(my_column)] : 0);
  if (master) masters->scatter_v(all.data, summed(per_column), passed.data, root % columns);
  column->scatter_v(passed.data, summed(in_column), mine.data, root_row);
  return Block<V>::read(mine);
}

#define X(V) template Share<V> scatter_from(Comm&, const Csr<V>*, const Partition*, int, Scatter);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
