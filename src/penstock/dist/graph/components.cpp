// Weakly connected components of a graph that is shared out. Each rank first unites what its own edges connect,
// ghosts included, by one pass over its edges. Between the pieces that remain runs FastSV (Zhang, Azad, Hu 2020):
// each piece points to the smallest vertex that it knows of, hooks the tree of its ghosts' pieces under that, and
// takes its pointer's pointer. In each round one number travels for each boundary vertex, and the number of rounds grows as
// the logarithm of the number of pieces: label propagation would need as many rounds as a path has pieces.
#include "penstock/dist/graph/components.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/dist/graph/mail.hpp"
#include "penstock/graph/cc/forest.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRowsAtOnce = 4 << 10;
/// Edges of every row that are followed first.
constexpr Offset kFirst = 2;
constexpr auto kNone = std::numeric_limits<GlobalIndex>::max();

/// Finds the values of ascending keys. Pieces of one vertex ask for one key after the other, other pieces mostly for the
/// same key again.
class LookUp {
 public:
  LookUp(const std::vector<GlobalIndex>& keys, const std::vector<GlobalIndex>& values)
      : keys_(keys), values_(values) {}
  GlobalIndex operator()(GlobalIndex key) {
    if (next_ < keys_.size() && keys_[next_] == key) return values_[next_++];
    if (key != last_) {
      const auto i = std::lower_bound(keys_.begin(), keys_.end(), key) - keys_.begin();
      next_ = static_cast<std::size_t>(i) + 1;
      last_ = key, value_ = values_[next_ - 1];
    }
    return value_;
  }

 private:
  const std::vector<GlobalIndex>&keys_, &values_;
  std::size_t next_ = 0;
  GlobalIndex last_ = -1, value_ = 0;
};

class Pieces {
 public:
  explicit Pieces(const DistCsr<One>& a)
      : a_(a),
        comm_(*a.comm),
        owners_(*a.row_owners),
        n_(a.rows()),
        foreign_(a.local.rows - n_),
        parents_(allocate<Index>(a.local.rows + a.plan->ghosts())),
        pointers_(static_cast<std::size_t>(parents_.size), kNone) {
    unite_here();
    // The root of a tree is its first owned vertex, which has the smallest number.
    const auto ids = owners_.numbers(comm_.rank());
    for (std::int64_t v = 0; v < n_; ++v)
      if (parents_.data[v] == v) pointer(v) = ids.data[v];
  }

  std::int64_t run() {
    for (std::int64_t rounds = 1;; ++rounds) {
      const auto hooked = hook();
      std::array<std::int64_t, 1> changes{hooked + shortcut()};
      comm_.all_reduce(std::span<std::int64_t>(changes), Reduce::sum);
      if (changes[0] == 0) return rounds;
      poll_interrupt();
    }
  }

  /// The place of each pointer among all pieces that point to themselves, in the order of their numbers; vertices that are
  /// not listed have no edges, and are counted as pieces.
  std::int64_t number(Array<GlobalIndex> labels) {
    std::vector<Root> roots;
    const auto ids = owners_.numbers(comm_.rank());
    const auto listed_before = owners_.starts()[at(comm_.rank())];
    for (std::int64_t v = 0; v < n_; ++v)
      if (parents_.data[v] == v && pointer(v) == ids.data[v])
        roots.push_back({pointer(v), owners_.is_listed() ? ids.data[v] - (listed_before + v) : 0});
    // Rank r orders the roots whose numbers are in the r-th range; on each rank roots ascend.
    const int ranks = comm_.size();
    const auto width = std::max<GlobalIndex>(owners_.size() / ranks + (owners_.size() % ranks > 0), 1);
    const auto keeper = [&](GlobalIndex v) { return static_cast<int>(v / width); };
    const auto keeper_of = [&](const Root& r) { return keeper(r.vertex); };
    auto kept = deliver(comm_, sort_by_rank<Root>(roots, ranks, keeper_of)).items;
    std::ranges::sort(kept, {}, &Root::vertex);
    const auto here = static_cast<std::int64_t>(kept.size());
    std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks));
    comm_.all_gather(&here, sizeof here, counts.data());
    std::int64_t before = 0, all = 0;
    for (int r = 0; r < ranks; ++r) {
      if (r < comm_.rank()) before += counts[static_cast<std::size_t>(r)];
      all += counts[static_cast<std::size_t>(r)];
    }
    const auto distinct = all_pointers();
    const auto answers = ask(distinct, keeper, [&](GlobalIndex vertex) {
      const auto root = std::ranges::lower_bound(kept, vertex, {}, &Root::vertex);
      return before + (root - kept.begin()) + root->unlisted;
    });
    LookUp label(distinct, answers);
    for (std::int64_t v = 0; v < n_; ++v) labels.data[v] = label(pointer(parents_.data[v]));
    return all + owners_.size() - owners_.present();
  }

 private:
  struct Root {
    GlobalIndex vertex;
    std::int64_t unlisted;  // vertices with smaller numbers that nobody lists: each is a component
  };
  struct Hook {
    GlobalIndex tree, under;
  };

  GlobalIndex& pointer(std::int64_t root) { return pointers_[static_cast<std::size_t>(root)]; }

  /// Trees over owned vertices, foreign rows and ghosts; the root is the first of them. A few edges of each row are followed
  /// first (Sutton, Ben-Nun, Barak 2018): most of the other edges then join two children of one root, which two loads show.
  void unite_here() {
    graph::Forest forest(parents_.data);
    std::iota(parents_.data, parents_.data + parents_.size, Index(0));
    const auto rows = a_.local.rows;
    const auto unite = [&](const Csr<One>& part, Index first_column, Offset skip, Offset most) {
      parallel_ranges(rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
        for (auto r = first; r < last; ++r) {
          const auto begin = part.indptr.data[r] + skip, end = part.indptr.data[r + 1];
          for (auto k = begin; k < end && k - begin < most; ++k)
            forest.unite(static_cast<Index>(r), first_column + part.indices.data[k]);
        }
        poll_interrupt();
      });
    };
    const auto ghosts = static_cast<Index>(rows);
    unite(a_.local, 0, 0, kFirst);
    unite(a_.halo, ghosts, 0, kFirst);
    forest.flatten(0, parents_.size);
    constexpr auto kAll = std::numeric_limits<Offset>::max();
    unite(a_.local, 0, kFirst, kAll);
    unite(a_.halo, ghosts, kFirst, kAll);
    forest.flatten(0, parents_.size);
  }

  /// Every piece takes the smallest of its own pointer and those of its ghosts, and hooks the trees of the others under it.
  std::int64_t hook() {
    std::vector<GlobalIndex> owned(static_cast<std::size_t>(n_)),
        met(static_cast<std::size_t>(parents_.size - n_));
    for (std::int64_t v = 0; v < n_; ++v) owned[static_cast<std::size_t>(v)] = pointer(parents_.data[v]);
    values_to_ghosts(comm_, *a_.sums, owned.data(), met.data());
    values_to_ghosts(comm_, *a_.plan, owned.data(), met.data() + foreign_);
    auto least = pointers_;
    const auto root_of = [&](std::size_t i) {
      return static_cast<std::size_t>(parents_.data[n_ + static_cast<std::int64_t>(i)]);
    };
    for (std::size_t i = 0; i < met.size(); ++i) least[root_of(i)] = std::min(least[root_of(i)], met[i]);
    std::vector<Hook> hooks;
    for (std::size_t i = 0; i < met.size(); ++i)
      if (met[i] > least[root_of(i)]) hooks.push_back({met[i], least[root_of(i)]});
    std::int64_t changes = 0;
    for (std::size_t r = 0; r < pointers_.size(); ++r) {
      if (pointers_[r] == least[r]) continue;
      if (pointers_[r] != kNone) hooks.push_back({pointers_[r], least[r]});
      pointers_[r] = least[r], ++changes;
    }
    const auto by_tree = [](const Hook& a, const Hook& b) {
      return std::pair(a.tree, a.under) < std::pair(b.tree, b.under);
    };
    const auto same_tree = [](const Hook& a, const Hook& b) { return a.tree == b.tree; };
    std::sort(hooks.begin(), hooks.end(), by_tree);
    hooks.erase(std::unique(hooks.begin(), hooks.end(), same_tree), hooks.end());
    const auto owner = [&](const Hook& h) { return owners_.owner(h.tree); };
    for (const auto& h : deliver(comm_, sort_by_rank<Hook>(hooks, comm_.size(), owner)).items) {
      auto& p = pointer(parents_.data[owners_.local(h.tree)]);
      if (h.under < p) p = h.under, ++changes;
    }
    return changes;
  }

  /// Every piece takes its pointer's pointer.
  std::int64_t shortcut() {
    const auto distinct = all_pointers();
    const auto above = ask(
        distinct, [&](GlobalIndex v) { return owners_.owner(v); },
        [&](GlobalIndex v) { return pointer(parents_.data[owners_.local(v)]); });
    LookUp pointer_of(distinct, above);
    std::int64_t changes = 0;
    for (auto& p : pointers_) {
      if (p == kNone) continue;
      const auto higher = pointer_of(p);
      changes += higher != p;
      p = higher;
    }
    return changes;
  }

  std::vector<GlobalIndex> all_pointers() const {
    std::vector<GlobalIndex> out;
    for (const auto p : pointers_)
      if (p != kNone) out.push_back(p);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  /// For each question q, in their order, what answer(q) gives on rank rank_of(q). Collective.
  template <class RankOf, class Answer>
  std::vector<GlobalIndex> ask(const std::vector<GlobalIndex>& questions, RankOf&& rank_of, Answer&& answer) {
    auto sent = sort_by_rank<GlobalIndex>(questions, comm_.size(), rank_of);
    auto came = deliver(comm_, sent);
    for (auto& q : came.items) q = answer(q);
    const auto answers = send_back(comm_, came.items, came.offsets, sent.offsets);
    std::vector<GlobalIndex> out;
    out.reserve(questions.size());
    auto next = sent.offsets;
    for (const auto q : questions)
      out.push_back(answers[static_cast<std::size_t>(next[static_cast<std::size_t>(rank_of(q))]++)]);
    return out;
  }

  const DistCsr<One>& a_;
  Comm& comm_;
  const Ownership& owners_;
  std::int64_t n_, foreign_;
  Array<Index> parents_;  // of owned vertices, foreign rows, ghosts
  /// For each root among them a vertex of its component, or kNone where none is known.
  std::vector<GlobalIndex> pointers_;
};

}  // namespace

DistComponents connected_components(const DistCsr<One>& a) {
  DistComponents c;
  c.labels = allocate<GlobalIndex>(a.rows());
  Pieces pieces(a);
  c.rounds = pieces.run();
  c.count = pieces.number(c.labels);
  return c;
}

}  // namespace penstock
