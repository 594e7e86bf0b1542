// Betweenness (Brandes, J. Math. Sociology 2001): from each source a breadth-first search that counts shortest paths, then
// the levels backwards, each vertex taking from its successors their dependency's share. Threads take whole sources:
// no atomics, and sums of one order. Levels are walked backwards by looking at the edges out of each vertex again
// (Madduri et al., IPDPS 2009), so that no lists of predecessors are kept.
#include "penstock/graph/betweenness.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kBlock = 16 << 10;
constexpr std::int64_t kPoll = 1 << 10;

/// What one source adds. Number is what paths are counted in.
template <class Number>
class OneSource {
 public:
  explicit OneSource(const CsrView<One>& a)
      : a_(a),
        level_(static_cast<std::size_t>(a.rows), -1),
        order_(static_cast<std::size_t>(a.rows)),
        paths_(static_cast<std::size_t>(a.rows)),
        share_(static_cast<std::size_t>(a.rows)) {}

  /// Adds nothing to `gain` for vertices that are not reached: they keep 0. False where Number overflows.
  bool run(Index source, bool endpoints, double* gain) {
    std::size_t head = 0, tail = 0;
    order_[tail++] = source;
    level_[at(source)] = 0, paths_[at(source)] = 1;
    while (head < tail) {
      const auto u = order_[head++];
      const auto next = level_[at(u)] + 1;
      const auto paths = paths_[at(u)];
      for (auto k = a_.indptr[u]; k < a_.indptr[u + 1]; ++k) {
        const auto v = a_.indices[k];
        if (level_[at(v)] < 0) level_[at(v)] = next, paths_[at(v)] = 0, order_[tail++] = v;
        if (level_[at(v)] == next) paths_[at(v)] += paths;
      }
      if (head % kPoll == 0) poll_interrupt();
    }
    bool finite = true;
    for (std::size_t i = tail; i-- > 0;) {
      const auto u = order_[i];
      const auto next = level_[at(u)] + 1;
      Number sum = 0;
      for (auto k = a_.indptr[u]; k < a_.indptr[u + 1]; ++k)
        if (level_[at(a_.indices[k])] == next) sum += share_[at(a_.indices[k])];
      const auto dependency = static_cast<double>(paths_[at(u)] * sum);
      finite &= std::isfinite(paths_[at(u)]);
      share_[at(u)] = (1 + static_cast<Number>(dependency)) / paths_[at(u)];
      if (u != source) gain[u] = dependency + (endpoints ? 1 : 0);
      else gain[u] = endpoints ? static_cast<double>(tail - 1) : 0;
      if (i % kPoll == 0) poll_interrupt();
    }
    for (std::size_t i = 0; i < tail; ++i) level_[at(order_[i])] = -1;
    return finite;
  }

 private:
  static std::size_t at(Index v) { return static_cast<std::size_t>(v); }
  const CsrView<One>& a_;
  std::vector<Index> level_, order_;
  std::vector<Number> paths_, share_;
};

/// Sources of paths too many for double (a grid of 600 x 600 has some) are done again in the widest type there is.
struct Worker {
  explicit Worker(const CsrView<One>& a) : a(a), plain(a), gain(static_cast<std::size_t>(a.rows)) {}
  void run(Index source, bool endpoints) {
    std::fill(gain.begin(), gain.end(), 0.0);
    if (plain.run(source, endpoints, gain.data())) return;
    if (!wide) wide = std::make_unique<OneSource<long double>>(a);
    if (!wide->run(source, endpoints, gain.data()))
      throw Error(Errc::invalid_argument,
                  "betweenness: more shortest paths lead from vertex " + std::to_string(source) + " than 1e" +
                      std::to_string(std::numeric_limits<long double>::max_exponent10) +
                      ": leave it out of the sources");
  }
  const CsrView<One>& a;
  OneSource<double> plain;
  std::unique_ptr<OneSource<long double>> wide;
  std::vector<double> gain;
};

}  // namespace

Array<double> betweenness(const CsrView<One>& a, std::span<const Index> sources,
                          const BetweennessOptions& options) {
  require(a.rows == a.cols, "betweenness needs a square matrix");
  for (const auto s : sources)
    require(s >= 0 && s < a.rows, "betweenness: source " + std::to_string(s) + " is outside the graph");
  const auto sum = allocate<double>(a.rows);
  std::fill(sum.data, sum.data + a.rows, 0.0);
  const auto batch = std::min<std::int64_t>(num_threads(), std::ssize(sources));
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::int64_t i = 0; i < batch; ++i) workers.push_back(std::make_unique<Worker>(a));
  for (std::int64_t first = 0; first < std::ssize(sources); first += batch) {
    const auto count = std::min(batch, std::ssize(sources) - first);
    parallel_for(count, [&](std::int64_t i) {
      workers[static_cast<std::size_t>(i)]->run(sources[static_cast<std::size_t>(first + i)],
                                                options.endpoints);
    });
    parallel_ranges(a.rows, kBlock, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < count; ++i) {
        const auto* gain = workers[static_cast<std::size_t>(i)]->gain.data();
        for (auto v = begin; v < end; ++v) sum.data[v] += gain[v];
      }
    });
  }
  return sum;
}

}  // namespace penstock
