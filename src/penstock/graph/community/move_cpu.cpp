// Vertices move between communities, in rounds. The runs of a round are looked at side by side: each sees its own moves at
// once, and those of others when the round is over. So one run is Louvain's sequential method, and what several do together
// does not depend on who does it. After a move only neighbours in other communities are looked at again (Ozaki, Tezuka, Inaba
// 2016), and of these only those that may want to move: a vertex that was looked at knows by how much its community is better
// than the next best, and waits until moves around it may have used that up.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "penstock/graph/community/level.hpp"

namespace penstock::community {
namespace {

constexpr int kMostPasses = 100;
constexpr std::int64_t kWorkOfARun = 16 << 10;
constexpr std::int64_t kWorkToShare = 8 << 10;  // with less in a round, waking other threads takes longer
// Slack is counted in whole units, which threads add in any order; the mean weight is so many.
constexpr double kUnits = 16;
constexpr double kMostUnits = 1e12;  // so many at a time

struct Move {
  Index vertex, to;
};
struct RunResult {
  std::vector<Move> moves;
  double gain = 0;
};

template <class G>
class Mover {
 public:
  Mover(const Level<G>& level, std::span<Index> labels, const MoveOptions& options, Workspaces& spaces)
      : level_(level),
        a_(level.a),
        labels_(labels),
        options_(options),
        spaces_(spaces),
        runs_(cut_runs(level.a, kWorkOfARun)),
        next_(labels.begin(), labels.end()),
        units_(units_of(level.a)),
        slack_(at(a_.rows)),
        margin_(at(a_.rows)),
        looked_at_(at(a_.rows)),
        total_(at(a_.rows)),
        count_(at(a_.rows)),
        results_(at(runs_.of_a_round)) {
    for (std::int64_t v = 0; v < a_.rows; ++v) {
      total_[at(labels[at(v)])] += level.degree[v];
      ++count_[at(labels[at(v)])];
    }
    alone_ = std::ranges::all_of(count_, [](Index count) { return count == 1; });
  }

  std::int64_t run() {
    const auto rounds = (runs_.count() + runs_.of_a_round - 1) / runs_.of_a_round;
    const auto order = order_of(rounds, options_.seed);
    std::int64_t moved = 0;
    for (int pass = 0; pass < kMostPasses; ++pass) {
      gain_ = 0;
      all_look_again_ = pass == 0 && alone_;  // nearly all move
      std::int64_t now = 0;
      for (const auto round : order) now += one_round(round);
      moved += now;
      if (all_look_again_) std::ranges::fill(slack_, 0);
      if (now == 0 || gain_ < options_.tolerance) break;
    }
    return moved;
  }

 private:
  std::int64_t one_round(std::int64_t round) {
    poll_interrupt();
    const auto first_run = round * runs_.of_a_round;
    const auto last_run = std::min(first_run + runs_.of_a_round, runs_.count());
    first_ = runs_.first[at(first_run)], last_ = runs_.first[at(last_run)];
    std::int64_t waiting = 0;
    for (auto v = first_; v < last_; ++v) {
      auto& slack = slack_[at(v)];
      slack = std::max<std::int64_t>(slack, 0);
      looked_at_[at(v)] = slack == 0;
      waiting += slack == 0;
    }
    if (waiting == 0) return 0;
    const bool alone = waiting * (a_.nnz() / a_.rows + 4) < kWorkToShare;
    spaces_.share(
        last_run - first_run,
        [&](Workspace& w, std::int64_t i) {
          one_run(w, runs_.first[at(first_run + i)], runs_.first[at(first_run + i + 1)], results_[at(i)]);
        },
        alone);
    for (auto v = first_; v < last_; ++v) {
      slack_[at(v)] += margin_[at(v)];
      margin_[at(v)] = 0;
    }
    std::int64_t moved = 0;
    for (std::int64_t i = 0; i < last_run - first_run; ++i) moved += commit(results_[at(i)]);
    return moved;
  }

  void one_run(Workspace& w, std::int64_t first, std::int64_t last, RunResult& result) {
    result.moves.clear();
    result.gain = 0;
    // No branch: whose vertex a neighbour is cannot be foreseen.
    const Index* const both[] = {labels_.data(), next_.data()};
    const auto label = [both, first, size = static_cast<std::uint64_t>(last - first)](Index u) {
      return both[static_cast<std::uint64_t>(u - first) < size][u];
    };
    Walk walk(last - first, options_.seed + static_cast<std::uint64_t>(first));
    for (auto i = first; i < last; ++i) {
      const auto v = first + walk.next();
      if (looked_at_[at(v)] == 0) continue;
      const auto vertex = static_cast<Index>(v);
      const auto own = next_[at(v)];
      const auto to = best(w, vertex, own, label, result.gain);
      if (to == own) continue;
      next_[at(v)] = to;
      w.change.data[own] -= level_.degree[v];
      w.change.data[to] += level_.degree[v];
      result.moves.push_back({vertex, to});
      if (all_look_again_) continue;
      each_entry(a_, v, [&](Index u, double weight) {
        const auto c = label(u);
        tell(u, c == to ? units(weight) : -units(c == own ? 2 * weight : weight) - 1, first, last);
      });
    }
    for (const auto& m : result.moves) {
      w.change.data[labels_[at(m.vertex)]] = 0;
      w.change.data[m.to] = 0;
    }
  }

  /// By a neighbour's move u's community has become better by so much beside any other. The sum has no order.
  void tell(Index u, std::int64_t by, std::int64_t first, std::int64_t last) {
    if (u >= first && u < last) margin_[at(u)] += by;
    else std::atomic_ref<std::int64_t>(slack_[at(u)]).fetch_add(by, std::memory_order_relaxed);
  }

  /// Units in a weight of 1.
  static double units_of(const G& a) {
    if constexpr (is_unweighted<G>) {
      return kUnits;
    } else {
      double sum = 0;
      for (auto e = a.indptr[0]; e < a.indptr[a.rows]; ++e) sum += weight(a, e);
      return sum > 0 ? std::min(kUnits * static_cast<double>(a.nnz()) / sum, 1e300) : 0;
    }
  }
  std::int64_t units(double weight) const {
    return static_cast<std::int64_t>(std::clamp(weight * units_, -kMostUnits, kMostUnits));
  }

  /// The community where v is best; its own one unless another is better, of equals the smallest.
  template <class Label>
  Index best(Workspace& w, Index v, Index own, const Label& label, double& gain) {
    const auto count = gather(a_, v, w, label);
    Slot* const slots = w.slots.data;
    const double* const change = w.change.data;
    const auto degree = level_.degree[v], price = options_.scale * degree;
    const auto stay = slots[own].weight() - price * (total_[at(own)] + change[own] - degree);
    slots[own] = {};
    auto most = stay;
    double second = 0;  // a community out of reach is worth less
    auto to = own;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto c = w.touched.data[i];
      const auto met = slots[c].weight();
      if (met > 0) {
        const auto worth = met - price * (total_[at(c)] + change[c]);
        if (worth > most || (worth == most && to != own && c < to)) {
          second = std::max(second, most);
          most = worth;
          to = c;
        } else {
          second = std::max(second, worth);
        }
        slots[c] = {};
      }
    }
    gain += 2 * (most - stay);
    margin_[at(v)] = units(most - second) + 1;
    return to;
  }

  std::int64_t commit(const RunResult& result) {
    std::int64_t moved = 0;
    for (const auto [v, to] : result.moves) {
      auto& label = labels_[at(v)];
      // A vertex that moved twice cannot be: each is looked at once a round. A community that all others have left may be the
      // one that its last member wanted to join: two vertices would change places.
      if (count_[at(to)] == 0) {
        next_[at(v)] = label;
        slack_[at(v)] = 0;
        continue;
      }
      total_[at(label)] -= level_.degree[v];
      total_[at(to)] += level_.degree[v];
      --count_[at(label)];
      ++count_[at(to)];
      label = to;
      ++moved;
    }
    gain_ += result.gain;
    return moved;
  }

  const Level<G>& level_;
  const G& a_;
  std::span<Index> labels_;  // of the vertices when the round began
  const MoveOptions& options_;
  Workspaces& spaces_;
  const Runs runs_;
  std::vector<Index> next_;  // what each run has made of its own vertices' labels
  const double units_;
  std::vector<std::int64_t> slack_;   // what may change around a vertex before it is looked at again
  std::vector<std::int64_t> margin_;  // what its own run adds to that in this round
  bool alone_ = false;                // each vertex, in the beginning
  bool all_look_again_ = false;       // in the next pass
  std::vector<std::uint8_t> looked_at_;
  std::int64_t first_ = 0, last_ = 0;  // the vertices of this round
  std::vector<double> total_;          // the degrees of each community
  std::vector<Index> count_;           // and its vertices
  std::vector<RunResult> results_;
  double gain_ = 0;
};

}  // namespace

std::vector<std::int64_t> order_of(std::int64_t rounds, std::uint64_t seed) {
  std::vector<std::int64_t> order(at(rounds));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = rounds - 1; i > 0; --i)
    std::swap(order[at(i)],
              order[drawn(seed, static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(i + 1)]);
  return order;
}

template <class G>
std::int64_t move_vertices(const Level<G>& level, std::span<Index> labels, const MoveOptions& options,
                           Workspaces& spaces) {
  return Mover<G>(level, labels, options, spaces).run();
}

#define PENSTOCK_MOVE(G) \
  template std::int64_t move_vertices<G>(const Level<G>&, std::span<Index>, const MoveOptions&, Workspaces&);
PENSTOCK_FOR_EACH_COMMUNITY_GRAPH(PENSTOCK_MOVE)
#undef PENSTOCK_MOVE

}  // namespace penstock::community
