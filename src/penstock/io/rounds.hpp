#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "penstock/comm/comm.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/io/kept_rows.hpp"
#include "penstock/partition/partition.hpp"

// Sends entries, which any rank may find, to the ranks that hold them by a partition. They are sent in rounds, some at a time,
// so that no rank ever has a list of all of them. What arrives in a round is an EntrySource (format/assemble.hpp).
namespace penstock {

/// An entry that is sent, with row and column of the whole matrix.
template <class V>
struct SentEntry {
  Index row, column;
  [[no_unique_address]] V value;
};

/// Says to which rank an entry goes.
class Destinations {
 public:
  explicit Destinations(const Partition& p) : p_(p) {
    for (const auto& piece : p.pieces) {
      if (split_.empty() || split_.back().row != piece.row) split_.push_back({piece.row, {}});
      auto& parts = split_.back().parts;
      if (std::ranges::find(parts, piece.part) == parts.end()) parts.push_back(piece.part);
    }
  }
  template <class F>
  void each(Index i, Index j, F&& f) const {
    if (p_.grid_cols > 1) {
      const auto part = std::ranges::upper_bound(p_.col_cuts, std::int64_t{j}) - p_.col_cuts.begin() - 1;
      return f(p_.row_owners.data[i] + static_cast<Index>(part));
    }
    if (!split_.empty()) {
      const auto row = std::ranges::lower_bound(split_, std::int64_t{i}, {}, &Split::row);
      if (row != split_.end() && row->row == i) return std::ranges::for_each(row->parts, f), void();
    }
    f(p_.row_owners.data[i]);
  }

 private:
  struct Split {
    std::int64_t row;
    std::vector<Index> parts;
  };
  const Partition& p_;
  std::vector<Split> split_;  // sorted by row
};

/// The entries that arrived in a round, as an EntrySource.
template <class V>
struct Arrived {
  std::span<const SentEntry<V>> entries;
  const KeptRows& keep;

  std::int64_t units() const { return std::ssize(entries); }
  std::int64_t max_per_unit() const { return 1; }
  template <class Emit>
  void visit(std::int64_t first, std::int64_t last, Emit&& emit) const {
    for (auto i = first; i < last; ++i) {
      const auto& e = entries[static_cast<std::size_t>(i)];
      if (const auto place = keep.place(e.row, e.column); place >= 0) emit(place, e.column, e.value);
    }
  }
};

/// What a rank has for a round: its last entries, entries after which more follow, or nothing, because it cannot go on.
enum class Turn : std::int64_t { last, more, failed };

/// Thrown on all ranks where the source of one has failed.
struct RoundsFailed {};

/// The buffers of rounds. A source has three functions. Turn next() prepares the units of the coming round; it is not called
/// again after it has returned `last` or `failed`. units() is the number of units. visit(first, last, f) calls f(row, column,
/// value) for the entries of some units, on any thread.
template <class V>
class Rounds {
  using Entry = SentEntry<V>;
  static_assert(std::is_trivially_copyable_v<Entry>);

 public:
  Rounds(Comm& comm, const Partition& p) : comm_(comm), to_(p), ranks_(comm.size()) {}

  /// Calls take(entries) with what arrived, for each round, until no rank has more. If the source of one rank fails, all
  /// ranks throw RoundsFailed. Collective.
  template <class Source, class F>
  void each(Source& source, F&& take) {
    for (auto turn = Turn::more, all = Turn::more; all == Turn::more;) {
      poll_interrupt();
      const bool mine = turn == Turn::more;
      if (mine) turn = source.next();
      sort(source, mine && turn != Turn::failed ? source.units() : 0);
      all = exchange(turn);
      if (all == Turn::failed) throw RoundsFailed{};
      take(std::span<const Entry>(in_));
    }
  }

 private:
  static constexpr std::int64_t kChunks = 32;  // tasks of a round
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  /// Writes the entries of `units` units to out_, sorted by the rank that they go to.
  template <class Source>
  void sort(const Source& source, std::int64_t units) {
    const auto chunk = (units + kChunks - 1) / kChunks;
    drawn_.resize(at(kChunks));
    next_.assign(at(kChunks * ranks_), 0);
    parallel_for(kChunks, [&](std::int64_t c) {
      auto& mine = drawn_[at(c)];
      mine.clear();
      source.visit(std::min(units, c * chunk), std::min(units, (c + 1) * chunk),
                   [&](Index row, Index column, V value) {
                     to_.each(row, column, [&](Index rank) { ++next_[at(c * ranks_ + rank)]; });
                     mine.push_back({row, column, value});
                   });
    });
    out_offsets_.assign(at(ranks_) + 1, 0);
    std::int64_t total = 0;
    for (std::int64_t r = 0; r < ranks_; ++r) {
      for (std::int64_t c = 0; c < kChunks; ++c) {
        auto& next = next_[at(c * ranks_ + r)];
        const auto count = next;
        next = total, total += count;
      }
      out_offsets_[at(r) + 1] = total * std::int64_t{sizeof(Entry)};
    }
    out_.resize(at(total));
    parallel_for(kChunks, [&](std::int64_t c) {
      for (const auto& e : drawn_[at(c)])
        to_.each(e.row, e.column, [&](Index rank) { out_[at(next_[at(c * ranks_ + rank)]++)] = e; });
    });
  }

  /// Sends out_ and receives in_. Returns the state of all ranks together.
  Turn exchange(Turn mine) {
    struct Note {
      std::int64_t bytes;
      Turn turn;
    };
    std::vector<Note> sends(at(ranks_)), receives(at(ranks_));
    std::vector<std::int64_t> one_each(at(ranks_) + 1), offsets(at(ranks_) + 1);
    for (std::size_t r = 0; r < sends.size(); ++r) {
      sends[r] = {out_offsets_[r + 1] - out_offsets_[r], mine};
      one_each[r + 1] = one_each[r] + std::int64_t{sizeof(Note)};
    }
    comm_.all_to_all_v(sends.data(), one_each, receives.data(), one_each);
    auto all = Turn::last;
    for (std::size_t r = 0; r < receives.size(); ++r) {
      offsets[r + 1] = offsets[r] + receives[r].bytes;
      all = std::max(all, receives[r].turn);
    }
    if (all == Turn::failed) return all;
    in_.resize(at(offsets.back() / std::int64_t{sizeof(Entry)}));
    comm_.all_to_all_v(out_.data(), out_offsets_, in_.data(), offsets);
    return all;
  }

  Comm& comm_;
  Destinations to_;
  std::int64_t ranks_;
  std::vector<std::vector<Entry>> drawn_;  // the entries of each chunk
  std::vector<std::int64_t> next_;  // for each chunk and rank: a count, then the place of the next entry
  std::vector<std::int64_t> out_offsets_;  // for each rank, in bytes
  std::vector<Entry> out_, in_;
};

}  // namespace penstock
