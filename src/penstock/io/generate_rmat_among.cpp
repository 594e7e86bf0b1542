// A rank draws edges [units r / ranks, units (r + 1) / ranks): edges are functions of their numbers (io/rmat_edges.hpp). What
// arrives in a round goes straight into the buckets of format/assemble.hpp, so that no list of entries is ever kept.
#include "penstock/io/generate_rmat_among.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/io/rmat_edges.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRoundEdges = 1 << 17;  // of all ranks: at most 2 MB arrive, wherever they go
constexpr std::int64_t kLeastEdges = 1 << 13;  // of a rank and round: below, calls cost more than edges
constexpr std::int64_t kChunks = 32;           // tasks of a round

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Numbers of the whole matrix.
struct Entry {
  Index row, column;
};

/// To whom entries go.
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
  void each(Entry e, F&& f) const {
    if (p_.grid_cols > 1) {
      const auto j = std::ranges::upper_bound(p_.col_cuts, std::int64_t{e.column}) - p_.col_cuts.begin() - 1;
      return f(p_.row_owners.data[e.row] + static_cast<Index>(j));
    }
    if (!split_.empty()) {
      const auto row = std::ranges::lower_bound(split_, std::int64_t{e.row}, {}, &Split::row);
      if (row != split_.end() && row->row == e.row) return std::ranges::for_each(row->parts, f), void();
    }
    f(p_.row_owners.data[e.row]);
  }

 private:
  struct Split {
    std::int64_t row;
    std::vector<Index> parts;
  };
  const Partition& p_;
  std::vector<Split> split_;  // by row
};

/// What came in a round, as an EntrySource.
struct Arrived {
  std::span<const Entry> entries;
  const KeptRows& keep;

  std::int64_t units() const { return std::ssize(entries); }
  std::int64_t max_per_unit() const { return 1; }
  template <class Emit>
  void visit(std::int64_t first, std::int64_t last, Emit&& emit) const {
    for (auto i = first; i < last; ++i) {
      const auto [row, column] = entries[at(i)];
      if (const auto place = keep.place(row, column); place >= 0) emit(place, column, One{});
    }
  }
};

class Rounds {
 public:
  Rounds(Comm& comm, const RmatEdges& edge, const Partition& p)
      : comm_(comm), edge_(edge), to_(p), ranks_(comm.size()) {
    const auto units = edge.units();
    first_ = partition::share(units, ranks_, comm.rank());
    last_ = partition::share(units, ranks_, comm.rank() + 1);
    per_round_ = std::max(kLeastEdges, kRoundEdges / ranks_);
    rounds_ = (partition::share(units, ranks_, 1) + per_round_ - 1) / per_round_;  // the first has the most
    chunk_ = (per_round_ + kChunks - 1) / kChunks;
  }
  /// take(entries) of each round. Collective.
  template <class F>
  void each(F&& take) {
    for (std::int64_t i = 0; i < rounds_; ++i) {
      poll_interrupt();
      const auto first = std::min(first_ + i * per_round_, last_);
      draw(first, std::min(first + per_round_, last_));
      take(exchanged());
    }
  }

 private:
  /// The entries of edges [first, last) into out_, by rank.
  void draw(std::int64_t first, std::int64_t last) {
    const auto entries_of = [&](std::int64_t chunk, auto&& f) {
      const auto end = std::min(last, first + (chunk + 1) * chunk_);
      for (auto e = first + chunk * chunk_; e < end; ++e) {
        const auto [row, column] = edge_(e);
        if (row < 0) continue;
        const Entry entry{static_cast<Index>(row), static_cast<Index>(column)};
        f(entry);
        if (edge_.mirrored() && row != column) f(Entry{entry.column, entry.row});
      }
    };
    drawn_.resize(at(kChunks));
    next_.assign(at(kChunks * ranks_), 0);
    parallel_for(kChunks, [&](std::int64_t c) {
      auto& mine = drawn_[at(c)];
      mine.clear();
      entries_of(c, [&](Entry entry) {
        to_.each(entry, [&](Index rank) { ++next_[at(c * ranks_ + rank)]; });
        mine.push_back(entry);
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
      for (const auto entry : drawn_[at(c)])
        to_.each(entry, [&](Index rank) { out_[at(next_[at(c * ranks_ + rank)]++)] = entry; });
    });
  }
  std::span<const Entry> exchanged() {
    std::vector<std::int64_t> sends(at(ranks_)), receives(at(ranks_)), one_each(at(ranks_) + 1),
        offsets(at(ranks_) + 1);
    for (std::size_t r = 0; r < sends.size(); ++r) {
      sends[r] = out_offsets_[r + 1] - out_offsets_[r];
      one_each[r + 1] = one_each[r] + std::int64_t{sizeof(std::int64_t)};
    }
    comm_.all_to_all_v(sends.data(), one_each, receives.data(), one_each);
    for (std::size_t r = 0; r < receives.size(); ++r) offsets[r + 1] = offsets[r] + receives[r];
    in_.resize(at(offsets.back() / std::int64_t{sizeof(Entry)}));
    comm_.all_to_all_v(out_.data(), out_offsets_, in_.data(), offsets);
    return in_;
  }

  Comm& comm_;
  const RmatEdges& edge_;
  Destinations to_;
  std::int64_t ranks_, first_, last_, per_round_, rounds_, chunk_;
  std::vector<std::vector<Entry>> drawn_;  // by chunk
  std::vector<std::int64_t> next_;         // by chunk and rank: a count, then the place of the next entry
  std::vector<std::int64_t> out_offsets_;  // by rank, in bytes
  std::vector<Entry> out_, in_;
};

}  // namespace

Csr<One> generate_rmat_among(Comm& comm, const RmatOptions& options, const Partition& p,
                             const KeptRows& keep) {
  const RmatTables tables(options);
  const RmatEdges edge(options, tables);
  const auto vertices = std::int64_t{1} << options.scale;
  require(p.parts == comm.size() && p.rows == vertices && p.cols == vertices,
          "R-MAT among ranks: a partition of " + std::to_string(p.rows) + " x " + std::to_string(p.cols) +
              " into " + std::to_string(p.parts) + " parts, but there are " + std::to_string(vertices) +
              " vertices and " + std::to_string(comm.size()) + " ranks");
  Rounds rounds(comm, edge, p);
  return assemble_walked<One>(keep.count, vertices, [&](auto&& take) {
    rounds.each([&](std::span<const Entry> entries) { take(Arrived{entries, keep}); });
  });
}

}  // namespace penstock
