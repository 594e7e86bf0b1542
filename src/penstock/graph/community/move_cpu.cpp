// Vertices move between communities, in rounds. The runs of a round are looked at side by side: each sees its own moves at
// once, and those of others when the round is over. So one run is Louvain's sequential method, and what several do together
// does not depend on who does it. After a move only neighbours in other communities are looked at again (Ozaki, Tezuka, Inaba
// 2016).
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "penstock/graph/community/level.hpp"

namespace penstock::community {
namespace {

constexpr int kMostPasses = 100;

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
        runs_(cut_runs(level.a)),
        next_(labels.begin(), labels.end()),
        waiting_(at(a_.rows), 1),
        looked_at_(at(a_.rows)),
        total_(at(a_.rows)),
        count_(at(a_.rows)),
        results_(at(runs_.of_a_round)) {
    for (std::int64_t v = 0; v < a_.rows; ++v) {
      total_[at(labels[at(v)])] += level.degree[v];
      ++count_[at(labels[at(v)])];
    }
  }

  std::int64_t run() {
    const auto rounds = (runs_.count() + runs_.of_a_round - 1) / runs_.of_a_round;
    const auto order = order_of(rounds, options_.seed);
    std::int64_t moved = 0;
    for (int pass = 0; pass < kMostPasses; ++pass) {
      gain_ = 0;
      std::int64_t now = 0;
      for (const auto round : order) now += one_round(round);
      moved += now;
      if (now == 0 || gain_ < options_.tolerance) break;
    }
    return moved;
  }

 private:
  std::int64_t one_round(std::int64_t round) {
    poll_interrupt();
    const auto first_run = round * runs_.of_a_round;
    const auto last_run = std::min(first_run + runs_.of_a_round, runs_.count());
    const auto first = runs_.first[at(first_run)], last = runs_.first[at(last_run)];
    if (std::memchr(&waiting_[at(first)], 1, at(last - first)) == nullptr) return 0;
    // From here on flags of these vertices are only set, whoever is first.
    std::copy_n(&waiting_[at(first)], last - first, &looked_at_[at(first)]);
    std::fill_n(&waiting_[at(first)], last - first, std::uint8_t{0});
    spaces_.share(last_run - first_run, [&](Workspace& w, std::int64_t i) {
      one_run(w, runs_.first[at(first_run + i)], runs_.first[at(first_run + i + 1)], results_[at(i)]);
    });
    std::int64_t moved = 0;
    for (std::int64_t i = 0; i < last_run - first_run; ++i) moved += commit(results_[at(i)]);
    return moved;
  }

  void one_run(Workspace& w, std::int64_t first, std::int64_t last, RunResult& result) {
    result.moves.clear();
    result.gain = 0;
    const auto label = [this, first, last](Index u) {
      return u >= first && u < last ? next_[at(u)] : labels_[at(u)];
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
      w.slots.data[own].change -= level_.degree[v];
      w.slots.data[to].change += level_.degree[v];
      result.moves.push_back({vertex, to});
      each_entry(a_, v, [&](Index u, double) {
        if (label(u) != to)
          std::atomic_ref<std::uint8_t>(waiting_[at(u)]).store(1, std::memory_order_relaxed);
      });
    }
    for (const auto& m : result.moves) {
      w.slots.data[labels_[at(m.vertex)]].change = 0;
      w.slots.data[m.to].change = 0;
    }
  }

  /// The community where v is best; its own one unless another is better, of equals the smallest.
  template <class Label>
  Index best(Workspace& w, Index v, Index own, const Label& label, double& gain) const {
    const auto count = gather(a_, v, w, label);
    Slot* const slots = w.slots.data;
    const auto degree = level_.degree[v], price = options_.scale * degree;
    const auto stay = slots[own].weight - price * (total_[at(own)] + slots[own].change - degree);
    slots[own].weight = 0;
    auto most = stay;
    auto to = own;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto c = w.touched.data[i];
      auto& slot = slots[c];
      if (slot.weight > 0) {
        const auto worth = slot.weight - price * (total_[at(c)] + slot.change);
        if (worth > most || (worth == most && to != own && c < to)) {
          most = worth;
          to = c;
        }
        slot.weight = 0;
      }
    }
    gain += 2 * (most - stay);
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
        waiting_[at(v)] = 1;
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
  std::vector<Index> next_;                        // what each run has made of its own vertices' labels
  std::vector<std::uint8_t> waiting_, looked_at_;  // to be looked at; and in this round
  std::vector<double> total_;                      // the degrees of each community
  std::vector<Index> count_;                       // and its vertices
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
