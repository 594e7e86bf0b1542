#include "penstock/io/entries_among.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/format/assemble_rows.hpp"

namespace penstock {
namespace {

/// The chunks of a rank as a source for Rounds (io/rounds.hpp).
template <class V>
class Chunks {
 public:
  Chunks(const NextChunk<V>& next, Mirror mirror) : next_(next), mirror_(mirror) {}
  Turn next() { return next_(chunk_ = {}); }
  std::int64_t units() const { return chunk_.size; }
  template <class F>
  void visit(std::int64_t first, std::int64_t last, F&& f) const {
    for (auto k = first; k < last; ++k) {
      const auto i = static_cast<Index>(chunk_.row[k] - chunk_.base);
      const auto j = static_cast<Index>(chunk_.col[k] - chunk_.base);
      V value{};
      if constexpr (!is_pattern<V>) value = chunk_.values[k];
      f(i, j, value);
      if (mirror_ != Mirror::none && i != j) f(j, i, mirrored(mirror_, value));
    }
  }

 private:
  const NextChunk<V>& next_;
  Mirror mirror_;
  EntryChunk<V> chunk_;
};

void check(const Comm& comm, const Partition& p) {
  constexpr std::int64_t kMost = std::numeric_limits<Index>::max();
  require(p.parts == comm.size(), "entries among ranks: a partition into " + std::to_string(p.parts) +
                                      " parts, but there are " + std::to_string(comm.size()) + " ranks");
  require(p.rows <= kMost && p.cols <= kMost, "entries among ranks: a matrix of " + std::to_string(p.rows) +
                                                  " x " + std::to_string(p.cols) +
                                                  " has more than 2^31 - 1 rows or columns");
}

}  // namespace

Array<Offset> count_among(Comm& comm, const Partition& p, const KeptRows& keep, Mirror mirror,
                          const NextChunk<One>& next) {
  constexpr std::int64_t kUnits = 1 << 13;
  check(comm, p);
  const auto lengths = allocate<Offset>(keep.count);
  std::fill_n(lengths.data, lengths.size, 0);
  Chunks<One> mine(next, mirror);
  Rounds<One>(comm, p).each(mine, [&](auto entries) {
    const Arrived<One> source{entries, keep};
    parallel_ranges(source.units(), kUnits, [&](std::int64_t first, std::int64_t last) {
      source.visit(first, last, [&](std::int64_t row, std::int64_t, One) {
        std::atomic_ref(lengths.data[row]).fetch_add(1, std::memory_order_relaxed);
      });
    });
  });
  return lengths;
}

template <class V>
Csr<V> assemble_among(Comm& comm, const Partition& p, const KeptRows& keep, Mirror mirror,
                      const Array<Offset>& lengths, const NextChunk<V>& next) {
  check(comm, p);
  require(lengths.size == keep.count, "entries among ranks: " + std::to_string(lengths.size) +
                                          " lengths of " + std::to_string(keep.count) + " rows");
  Chunks<V> mine(next, mirror);
  auto made = assemble_rows<V>(p.cols, lengths, [&](auto&& take) {
    Rounds<V>(comm, p).each(mine, [&](auto entries) { take(Arrived<V>{entries, keep}); });
  });
  std::int64_t changed[] = {!made};
  comm.all_reduce(std::span<std::int64_t>(changed), Reduce::max);
  require(!changed[0],
          "other entries came than those that were counted before: the source changed while it was read; "
          "read it again when it is at rest");
  return *std::move(made);
}

#define X(V)                                                                                             \
  template Csr<V> assemble_among(Comm&, const Partition&, const KeptRows&, Mirror, const Array<Offset>&, \
                                 const NextChunk<V>&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
