// Spreads rows that ranks have read over the ranks that they belong to. The matrix travels in rounds of limited size: in each one
// every rank sends the next of its rows, gives their memory back, and appends what comes to its own share.
#include <numeric>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/dist/share/row_runs.hpp"

namespace penstock {
namespace {

struct Run {
  GlobalIndex row = 0;
  Offset count = 0;
};

/// A round sends about 1 / kRounds of what a rank reads, within these bounds. Smaller rounds need less memory beside the matrix;
/// larger ones have fewer, longer messages.
constexpr std::int64_t kRounds = 32, kLeastRoundBytes = 1 << 20, kMostRoundBytes = 64 << 20;

/// Lists, one for each rank, with the offsets for an all_to_all_v; the memory is used again in each round.
template <class T>
struct Lists {
  std::vector<std::int64_t> offsets;  // in bytes
  Array<T> data;

  void begin(const std::vector<std::int64_t>& counts) {
    offsets.assign(counts.size() + 1, 0);
    for (std::size_t r = 0; r < counts.size(); ++r)
      offsets[r + 1] = offsets[r] + counts[r] * static_cast<std::int64_t>(sizeof(T));
    if (size() > data.size) data = {}, data = allocate_apart<T>(size() + size() / 8);
  }
  std::int64_t size() const { return offsets.back() / static_cast<std::int64_t>(sizeof(T)); }
  T* of(std::size_t rank) const { return data.data + offsets[rank] / static_cast<std::int64_t>(sizeof(T)); }
};

/// What this rank sends and receives in a round.
template <class V>
struct Buffers {
  Lists<Run> lengths, lengths_in;
  Lists<Index> indices, indices_in;
  Lists<V> values, values_in;  // left empty where V is One
};

template <class T>
void carry(Comm& comm, const Lists<T>& from, Lists<T>& to) {
  comm.all_to_all_v(from.data.data, from.offsets, to.data.data, to.offsets);
}

/// {runs, entries} for each rank, of rows [first, last).
struct Counts {
  std::vector<std::int64_t> runs, entries;
};

template <class V>
Counts count(const RowRuns& runs, const RowRange<V>& rows, std::int64_t first, std::int64_t last, int ranks) {
  Counts c{std::vector<std::int64_t>(at(ranks)), std::vector<std::int64_t>(at(ranks))};
  for (auto r = first; r < last; ++r)
    runs.row(rows, r,
             [&](Index part, Offset k, Offset end) { ++c.runs[at(part)], c.entries[at(part)] += end - k; });
  return c;
}

Counts exchanged(Comm& comm, const Counts& mine) {
  const auto ranks = mine.runs.size();
  std::vector<std::int64_t> out, in(2 * ranks), offsets(ranks + 1);
  for (std::size_t r = 0; r < ranks; ++r) {
    out.push_back(mine.runs[r]), out.push_back(mine.entries[r]);
    offsets[r + 1] = offsets[r] + 2 * std::int64_t{sizeof(std::int64_t)};
  }
  comm.all_to_all_v(out.data(), offsets, in.data(), offsets);
  Counts theirs{std::vector<std::int64_t>(ranks), std::vector<std::int64_t>(ranks)};
  for (std::size_t r = 0; r < ranks; ++r) theirs.runs[r] = in[2 * r], theirs.entries[r] = in[2 * r + 1];
  return theirs;
}

/// One round: rows [first, last) of each rank are sent to the ranks that they belong to.
template <class V>
void round_of(Comm& comm, const RowRuns& runs, const RowRange<V>& rows, std::int64_t first, std::int64_t last,
              Buffers<V>& buffers, ShareBuilder<V>& out) {
  const auto mine = count(runs, rows, first, last, comm.size());
  const auto theirs = exchanged(comm, mine);
  buffers.lengths.begin(mine.runs), buffers.lengths_in.begin(theirs.runs);
  buffers.indices.begin(mine.entries), buffers.indices_in.begin(theirs.entries);
  if constexpr (!is_pattern<V>) buffers.values.begin(mine.entries), buffers.values_in.begin(theirs.entries);
  std::vector<std::int64_t> run(at(comm.size())), entry(at(comm.size()));
  const auto& a = rows.entries;
  for (auto r = first; r < last; ++r)
    runs.row(rows, r, [&](Index to, Offset k, Offset end) {
      const auto d = at(to);
      buffers.lengths.of(d)[run[d]++] = {rows.first_row + r, end - k};
      std::copy(a.indices.data + k, a.indices.data + end, buffers.indices.of(d) + entry[d]);
      if constexpr (!is_pattern<V>)
        std::copy(a.values.data + k, a.values.data + end, buffers.values.of(d) + entry[d]);
      entry[d] += end - k;
    });
  forget_mapped(a, a.indptr.data[first], a.indptr.data[last]);
  carry(comm, buffers.lengths, buffers.lengths_in);
  carry(comm, buffers.indices, buffers.indices_in);
  if constexpr (!is_pattern<V>) carry(comm, buffers.values, buffers.values_in);
  Offset taken = 0;
  for (const auto& [row, length] : buffers.lengths_in.data.slice(0, buffers.lengths_in.size()).span()) {
    const V* from = nullptr;
    if constexpr (!is_pattern<V>) from = buffers.values_in.data.data + taken;
    out.add(row, buffers.indices_in.data.data + taken, from, length);
    taken += length;
  }
}

}  // namespace

template <class V>
Share<V> spread(Comm& comm, const RowRange<V>& rows, const Partition& p, std::int64_t round_bytes) {
  require(p.parts == comm.size(), "a partition into " + std::to_string(p.parts) + " parts, but there are " +
                                      std::to_string(comm.size()) + " ranks: make one with as many parts");
  const RowRuns runs(p);
  const auto& a = rows.entries;
  const auto total = exchanged(comm, count(runs, rows, 0, a.rows, comm.size()));
  forget_mapped(a, 0, a.nnz());  // for a grid, counting has read the columns
  ShareBuilder<V> out(a.cols, std::reduce(total.runs.begin(), total.runs.end()),
                      std::reduce(total.entries.begin(), total.entries.end()));
  // A round ends where the sum of bytes passes a multiple of round_bytes, so a row that is longer is a round of its own.
  constexpr auto entry_bytes = std::int64_t{sizeof(Index)} + value_bytes<V>;
  if (round_bytes == 0)
    round_bytes = std::clamp(a.nnz() * entry_bytes / kRounds, kLeastRoundBytes, kMostRoundBytes);
  const auto per_round = std::max<Offset>(1, round_bytes / entry_bytes);
  std::int64_t rounds = (a.nnz() + per_round - 1) / per_round;
  comm.all_reduce(std::span(&rounds, 1), Reduce::max);
  Buffers<V> buffers;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < rounds; ++i) {
    poll_interrupt();
    const auto end = a.indptr.data + a.rows + 1;
    const auto last =
        i + 1 == rounds
            ? a.rows
            : std::max<std::int64_t>(
                  first, std::upper_bound(a.indptr.data, end, (i + 1) * per_round) - a.indptr.data - 1);
    round_of(comm, runs, rows, first, std::min(last, a.rows), buffers, out);
    first = std::min(last, a.rows);
  }
  forget_offsets(a);
  return out.share();
}

#define X(V) template Share<V> spread(Comm&, const RowRange<V>&, const Partition&, std::int64_t);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
