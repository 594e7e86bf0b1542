// Partitions by label propagation with bounds on the sizes of parts, after PuLP (Slota, Madduri, Rajamanickam 2014). A hash
// puts each row into a group. All rows of a group decide in parallel, from the labels as they were before; then their moves
// are made one after the other, as long as the bounds allow. So two neighbours rarely swap places again and again, and the
// result does not depend on the number of threads.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/structure/transpose.hpp"
#include "penstock/partition/bisect.hpp"
#include "penstock/partition/partition.hpp"

namespace penstock::partition {
namespace {

// A part takes rows up to 3 % above the mean, and gives rows down to 3 % below it.
constexpr double kSlack = 0.03;
constexpr int kGroups = 8, kRounds = 12;  // more groups and rounds give better cuts and take longer
constexpr double kLeastGain = 0.001;  // a round that saves a smaller share of the cut entries is the last one
// Rows of a task, or as many as parts, for each of which a task has a count.
constexpr std::int64_t kGrain = 2048;

using Labels = std::vector<Index>;

int group_of(std::int64_t r) {
  return static_cast<int>((static_cast<std::uint64_t>(r) * 0x9E3779B97F4A7C15u) >> 61);
}
static_assert(kGroups == 8, "group_of takes three bits");

std::int64_t cut_entries(const Csr<One>& a, const Labels& labels) {
  std::atomic<std::int64_t> cut = 0;
  parallel_ranges(a.rows, kGrain, [&](std::int64_t first, std::int64_t last) {
    std::int64_t some = 0;
    for (auto r = first; r < last; ++r)
      for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
        some += labels[at(a.indices.data[k])] != labels[at(r)];
    cut += some;
  });
  return cut;
}

/// Labels of parts that are consecutive rows with about equal shares of the entries.
Labels cut_in_order(const Csr<One>& a, std::int64_t parts) {
  const auto cuts = cut_by_entries(a.indptr.data, a.rows, parts);
  Labels labels(at(a.rows));
  for (std::int64_t part = 0; part < parts; ++part)
    std::fill(labels.begin() + cuts[at(part)], labels.begin() + cuts[at(part) + 1], static_cast<Index>(part));
  return labels;
}

class Propagation {
 public:
  Propagation(const Csr<One>& a, const Csr<One>& back, std::int64_t parts, Labels& labels)
      : a_(a), back_(back), labels_(labels), wish_(labels), load_(at(parts)) {
    for (std::int64_t r = 0; r < a.rows; ++r) load_[at(labels[at(r)])] += length(r);
    const auto mean = static_cast<double>(a.nnz()) / static_cast<double>(parts);
    most_ = static_cast<std::int64_t>(std::ceil(mean * (1 + kSlack)));
    least_ = static_cast<std::int64_t>(mean * (1 - kSlack));
  }
  /// Lets every group decide and move once. Returns how many rows moved.
  std::int64_t round() {
    std::int64_t moved = 0;
    const auto grain = std::max(kGrain, std::ssize(load_));
    for (int group = 0; group < kGroups; ++group) {
      parallel_ranges(a_.rows, grain,
                      [&](std::int64_t first, std::int64_t last) { decide(group, first, last); });
      for (std::int64_t r = 0; r < a_.rows; ++r) {
        if (r % kGrain == 0) poll_interrupt();
        moved += group_of(r) == group && move(r);
      }
    }
    return moved;
  }

 private:
  std::int64_t length(std::int64_t r) const { return a_.indptr.data[r + 1] - a_.indptr.data[r]; }
  bool may(Index from, Index to, std::int64_t weight) const {
    return load_[at(to)] + weight <= most_ && load_[at(from)] - weight >= least_;
  }
  /// For each row of the group: of the parts with room, the one that has most of the row's neighbours. Of several with
  /// equally many it is the row's own part, or else the one with the lowest number.
  void decide(int group, std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> near(load_.size());
    std::vector<Index> found;
    for (auto r = first; r < last; ++r) {
      if (group_of(r) != group) continue;
      for (const auto* m : {&a_, &back_})
        for (auto k = m->indptr.data[r]; k < m->indptr.data[r + 1]; ++k) {
          const auto v = m->indices.data[k];
          if (v == r) continue;
          const auto label = labels_[at(v)];
          if (near[at(label)]++ == 0) found.push_back(label);
        }
      const auto own = labels_[at(r)];
      auto best = own;
      for (const auto label : found)
        if (label != own && may(own, label, length(r)) &&
            (near[at(label)] > near[at(best)] ||
             (near[at(label)] == near[at(best)] && best != own && label < best)))
          best = label;
      wish_[at(r)] = best;
      for (const auto label : found) near[at(label)] = 0;
      found.clear();
      if (r % 256 == 0) poll_interrupt();
    }
  }
  bool move(std::int64_t r) {
    const auto from = labels_[at(r)], to = wish_[at(r)];
    if (from == to || !may(from, to, length(r))) return false;
    load_[at(from)] -= length(r), load_[at(to)] += length(r);
    labels_[at(r)] = to;
    return true;
  }

  const Csr<One>&a_, &back_;
  Labels& labels_;
  Labels wish_;
  std::vector<std::int64_t> load_;  // entries of each part
  std::int64_t most_ = 0, least_ = 0;
};

}  // namespace

/// Neighbours together, within a few per cent of equal entries: begins at the better of two cuts, of the rows in order
/// and by bisection of breadth-first levels, then moves rows to the part that most of their neighbours are in, as long
/// as neither part leaves its bounds. The same for any number of threads. Square matrices.
Partition label_propagation(const Csr<One>& a, std::int64_t parts) {
  auto p = begin(a, parts, PartitionKind::label_propagation);
  require(a.rows == a.cols,
          "label_propagation needs a square matrix, whose rows and columns are the same things, not " +
              std::to_string(a.rows) + " x " + std::to_string(a.cols) + ": use balanced or bins");
  auto labels = cut_in_order(a, parts);
  auto best_cut = cut_entries(a, labels);
  if (best_cut > 0) {
    const auto back = transpose(a);
    auto other = bisect(a, back, parts);
    if (const auto cut = cut_entries(a, other); cut < best_cut) labels = std::move(other), best_cut = cut;
    auto now = labels;
    Propagation propagation(a, back, parts, now);
    for (int round = 0; round < kRounds && propagation.round() > 0; ++round) {
      const auto cut = cut_entries(a, now);
      const auto gain = static_cast<double>(best_cut - cut) / static_cast<double>(best_cut);
      if (cut < best_cut) labels = now, best_cut = cut;
      if (gain < kLeastGain || cut == 0) break;
    }
  }
  auto owners = allocate<Index>(a.rows);
  std::ranges::copy(labels, owners.data);
  p.row_owners = owners;
  own_columns(p);
  return p;
}

}  // namespace penstock::partition
