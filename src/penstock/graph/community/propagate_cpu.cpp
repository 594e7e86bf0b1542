// Label propagation, in the rounds in which Louvain's method moves vertices.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "penstock/graph/community/community.hpp"
#include "penstock/graph/community/level.hpp"

namespace penstock {
namespace {

using community::Slot;
using community::Workspace;

// After so many passes runs are looked at one by one. Then each change adds to the weight within communities, so that it ends.
constexpr int kPassesSideBySide = 20;

template <class G>
class Propagation {
 public:
  Propagation(const G& a, Array<Index> labels, std::uint64_t seed)
      : a_(a),
        seed_(seed),
        labels_(labels),
        runs_(community::cut_runs(a)),
        next_(at(a.rows)),
        waiting_(at(a.rows), 1),
        looked_at_(at(a.rows)) {
    std::iota(labels.data, labels.data + a.rows, 0);
    std::iota(next_.begin(), next_.end(), 0);
  }

  void run(int passes) {
    community::Workspaces spaces(a_.rows, a_.nnz(), community::longest_row(a_));
    for (int pass = 0; pass < passes; ++pass) {
      const auto side_by_side = pass < kPassesSideBySide ? runs_.of_a_round : 1;
      const auto rounds = (runs_.count() + side_by_side - 1) / side_by_side;
      bool changed = false;
      for (const auto round : community::order_of(rounds, seed_)) {
        const auto first = round * side_by_side;
        changed |= one_round(spaces, first, std::min(first + side_by_side, runs_.count()), pass);
      }
      if (!changed) break;
    }
  }

 private:
  bool one_round(community::Workspaces& spaces, std::int64_t first_run, std::int64_t last_run, int pass) {
    poll_interrupt();
    const auto first = runs_.first[at(first_run)], last = runs_.first[at(last_run)];
    if (first == last || std::memchr(&waiting_[at(first)], 1, at(last - first)) == nullptr) return false;
    std::copy_n(&waiting_[at(first)], last - first, &looked_at_[at(first)]);
    std::fill_n(&waiting_[at(first)], last - first, std::uint8_t{0});
    std::atomic<bool> changed = false;
    spaces.share(last_run - first_run, [&](Workspace& w, std::int64_t i) {
      if (one_run(w, runs_.first[at(first_run + i)], runs_.first[at(first_run + i + 1)], pass))
        changed = true;
    });
    std::copy_n(&next_[at(first)], last - first, labels_.data + first);
    return changed;
  }

  bool one_run(Workspace& w, std::int64_t first, std::int64_t last, int pass) {
    bool changed = false;
    const auto label = [this, first, last](Index u) {
      return u >= first && u < last ? next_[at(u)] : labels_.data[u];
    };
    const auto seed = community::drawn(seed_, static_cast<std::uint64_t>(pass));
    community::Walk walk(last - first, seed);
    for (auto i = first; i < last; ++i) {
      const auto v = first + walk.next();
      if (looked_at_[at(v)] == 0) continue;
      const auto to = heaviest(w, static_cast<Index>(v), next_[at(v)], label, seed);
      if (to == next_[at(v)]) continue;
      next_[at(v)] = to;
      changed = true;
      community::each_entry(a_, v, [&](Index u, double) {
        if (u != v && label(u) != to)
          std::atomic_ref<std::uint8_t>(waiting_[at(u)]).store(1, std::memory_order_relaxed);
      });
    }
    return changed;
  }

  /// The label that weighs most around v: its own one where no other weighs more, else one of the heaviest by lot.
  template <class Label>
  Index heaviest(Workspace& w, Index v, Index own, const Label& label, std::uint64_t seed) const {
    const auto count = community::gather(a_, v, w, label);
    Slot* const slots = w.slots.data;
    double most = slots[own].weight();
    Index to = own;
    const auto lot = [&](Index c) {
      return community::drawn(seed ^ static_cast<std::uint64_t>(v), static_cast<std::uint64_t>(c));
    };
    for (std::int64_t i = 0; i < count; ++i) {
      const auto c = w.touched.data[i];
      const auto weight = slots[c].weight();
      slots[c] = {};
      if (weight > most || (weight == most && weight > 0 && to != own && lot(c) < lot(to))) {
        most = weight;
        to = c;
      }
    }
    return to;
  }

  const G& a_;
  const std::uint64_t seed_;
  Array<Index> labels_;  // when the round began
  const community::Runs runs_;
  std::vector<Index> next_;
  std::vector<std::uint8_t> waiting_, looked_at_;
};

template <class G>
Array<Index> propagated(const G& a, int passes, std::uint64_t seed) {
  const auto labels = allocate<Index>(a.rows);
  Propagation<G>(a, labels, seed).run(passes);
  community::renumber(labels.span());
  return labels;
}

}  // namespace

template <class V>
Array<Index> label_propagation(const Csr<V>& a, int passes, std::uint64_t seed) {
  return propagated(a.view(), passes, seed);
}
Array<Index> label_propagation(const PackedLists& lists, int passes, std::uint64_t seed) {
  const community::PackedBase base(lists);
  return propagated(base.edges(), passes, seed);
}

#define PENSTOCK_PROPAGATE(V) template Array<Index> label_propagation<V>(const Csr<V>&, int, std::uint64_t);
PENSTOCK_PROPAGATE(One) PENSTOCK_PROPAGATE(float) PENSTOCK_PROPAGATE(double)
#undef PENSTOCK_PROPAGATE

}  // namespace penstock
