// A greedy list schedule of the plan, on parts (Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 1969):
// the rank with the highest load gives parts of one of its products to one of the ranks with the lowest, as many as make the
// two equal, until the highest load is near the mean or no gift lowers it. A load counts operations, and bytes as operations.
#include "penstock/dist/tile/deal_products.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "penstock/dist/tile/tile_parts.hpp"

namespace penstock {
namespace {

/// Highest load over the mean at which dealing ends, ranks that are tried as takers, the most products that are looked at of the giver,
/// and the most products of a plan that is dealt: it is looked through again and again.
constexpr double kEven = 1.03;
constexpr std::int64_t kTakers = 8, kLookedAt = 256, kMostDealt = 1 << 18;
/// How much lower a gift must make the highest load.
constexpr double kLower = 0.995;

class Dealer {
 public:
  Dealer(MultiplyPlan& plan, const TileMap& a, const TileMap& b, const TileMap& c,
         std::span<const ProductCount> counts, const TileMap* mask, double flops_per_byte)
      : plan_(plan),
        a_(a),
        b_(b),
        c_(c),
        counts_(counts),
        mask_(mask),
        byte_(flops_per_byte),
        load_(static_cast<std::size_t>(plan.ranks)),
        of_(static_cast<std::size_t>(plan.ranks)) {
    double flops = 0;
    for (const auto& p : plan.products) flops += p.flops;
    const auto each = std::max(b.sparse ? kLeastSparsePart : kLeastPart, flops / (plan.ranks * kPartsOfRank));
    for (std::size_t n = 0; n < plan.products.size(); ++n) {
      const auto& p = plan.products[n];
      at(load_, p.owner) += p.flops + byte_ * static_cast<double>(p.fetched + p.sent);
      at(load_, c.owner(p.i, p.j)) += byte_ * static_cast<double>(p.sent);
      at(of_, p.owner).push_back(n);
      parts_.push_back(
          static_cast<std::int32_t>(std::clamp(p.flops / each, 1.0, static_cast<double>(kMostParts))));
    }
    left_ = parts_;
    for (auto& products : of_)
      std::ranges::stable_sort(products, std::ranges::greater{},
                               [&](auto n) { return plan.products[n].flops; });
  }

  bool deal() {
    const auto before = *std::ranges::max_element(load_);
    for (std::int64_t n = 0; n < 16 * plan_.ranks && give(); ++n) {}
    if (gifts_.empty() || *std::ranges::max_element(load_) > kDealtLess * before) return false;
    rewrite();
    return true;
  }

 private:
  struct Gift {
    std::size_t n = 0;
    int to = 0;
    std::int32_t first = 0, end = 0;
    double highest = 0;  // load of the two ranks then
  };
  template <class T>
  static T& at(std::vector<T>& of, int rank) {
    return of[static_cast<std::size_t>(rank)];
  }
  double load(int rank) const { return load_[static_cast<std::size_t>(rank)]; }

  /// Bytes that a rank fetches for a product.
  std::int64_t fetched(const TileProduct& p, int rank) const {
    return (a_.owner(p.i, p.k) != rank ? a_.bytes(p.i, p.k) : 0) + (b_.owner(p.k, p.j) != rank ? p.of_b : 0) +
           (mask_ && c_.owner(p.i, p.j) != rank ? mask_->bytes(p.i, p.j) : 0);
  }
  /// Bytes of the sum of some parts of a product, as expected; of a dense sum at most.
  std::int64_t sum_bytes(const TileProduct& p, double share) const {
    const auto& left = a_.at(p.i, p.k);
    const auto& tile = c_.at(p.i, p.j);
    if (!c_.sparse)
      return std::llround(share *
                          static_cast<double>(c_.bytes_of_sum(p.i, p.j, left.rows_met, left.row_span())));
    auto entries = p.flops / 2;  // at most one for each product
    if (!counts_.empty())
      entries = counts_[static_cast<std::size_t>((std::int64_t{p.i} * plan_.k + p.k) * plan_.n + p.j)].nnz;
    if (mask_) entries = std::min(entries, static_cast<double>(mask_->at(p.i, p.j).nnz));
    return blob_bytes(true, c_.value, std::llround(share * static_cast<double>(tile.rows)), tile.cols,
                      std::llround(share * entries));
  }

  bool give() {
    const auto from = static_cast<int>(std::ranges::max_element(load_) - load_.begin());
    const auto mean = std::accumulate(load_.begin(), load_.end(), 0.0) / plan_.ranks;
    if (load(from) <= kEven * mean) return false;
    std::vector<int> takers(static_cast<std::size_t>(plan_.ranks));
    std::iota(takers.begin(), takers.end(), 0);
    const auto some = std::min<std::ptrdiff_t>(kTakers, plan_.ranks);
    std::ranges::partial_sort(takers, takers.begin() + some, {},
                              [&](int r) { return std::pair(load(r), r); });
    Gift best{.highest = kLower * load(from)};
    std::int64_t looked = 0;
    for (const auto n : at(of_, from)) {
      if (left_[n] == 0) continue;
      if (++looked > kLookedAt) break;
      for (std::ptrdiff_t t = 0; t < some; ++t)
        if (takers[static_cast<std::size_t>(t)] != from)
          consider(n, from, takers[static_cast<std::size_t>(t)], best);
    }
    if (best.end == 0) return false;
    const auto& p = plan_.products[best.n];
    const auto share = static_cast<double>(best.end - best.first) / parts_[best.n];
    const auto sent = c_.owner(p.i, p.j) != best.to ? byte_ * static_cast<double>(sum_bytes(p, share)) : 0;
    at(load_, from) -= share * p.flops;
    at(load_, best.to) += share * p.flops + byte_ * static_cast<double>(fetched(p, best.to)) + sent;
    at(load_, c_.owner(p.i, p.j)) += sent;
    left_[best.n] = best.first;
    gifts_.push_back(best);
    return true;
  }

  /// As many parts as make both ranks' loads equal, if that is better than the best so far.
  void consider(std::size_t n, int from, int to, Gift& best) const {
    const auto& p = plan_.products[n];
    const auto each = p.flops / parts_[n];
    const auto begin = load(to) + byte_ * static_cast<double>(fetched(p, to));
    const auto owner = c_.owner(p.i, p.j);
    const auto send = owner == to ? 0 : byte_ * static_cast<double>(sum_bytes(p, 1)) / parts_[n];
    const auto back = owner == from ? send : 0;  // a giver that owns the tile takes the sum in
    const auto wish = (load(from) - begin) / (2 * each + send - back);
    if (!(wish >= 1) || each <= back) return;
    const auto parts = static_cast<std::int32_t>(std::min<double>(wish, left_[n]));
    const auto highest = std::max(load(from) - parts * (each - back), begin + parts * (each + send));
    if (highest < best.highest) best = {n, to, left_[n] - parts, left_[n], highest};
  }

  void rewrite() {
    std::vector<TileProduct> products;
    std::vector<std::int64_t> groups{0};
    std::vector<std::int32_t> turns(static_cast<std::size_t>(plan_.ranks));
    const auto close = [&] {
      if (std::ssize(products) > groups.back()) groups.push_back(std::ssize(products));
    };
    const auto add = [&](TileProduct p) {
      p.turn = at(turns, p.owner)++;
      products.push_back(p);
    };
    for (std::size_t g = 0; g + 1 < plan_.groups.size(); ++g) {
      for (auto n = static_cast<std::size_t>(plan_.groups[g]);
           n < static_cast<std::size_t>(plan_.groups[g + 1]); ++n) {
        auto p = plan_.products[n];
        if (left_[n] == 0) continue;
        if (left_[n] < parts_[n]) {
          const auto share = static_cast<double>(left_[n]) / parts_[n];
          p.parts = parts_[n], p.end_part = left_[n];
          p.flops *= share, p.sent = std::llround(share * static_cast<double>(p.sent));
        }
        add(p);
      }
      close();
    }
    // Parts of one tile of C follow one another on a rank, and leave as one sum.
    const auto key = [&](const Gift& g) {
      const auto& p = plan_.products[g.n];
      return std::tuple(g.to, p.i, p.j, p.k, g.first);
    };
    std::ranges::sort(gifts_, {}, key);
    for (std::size_t g = 0; g < gifts_.size(); ++g) {
      const auto& gift = gifts_[g];
      auto p = plan_.products[gift.n];
      if (!products.empty() &&
          (products.back().owner != gift.to || products.back().i != p.i || products.back().j != p.j))
        close();
      const auto share = static_cast<double>(gift.end - gift.first) / parts_[gift.n];
      p.owner = gift.to, p.parts = parts_[gift.n], p.first_part = gift.first, p.end_part = gift.end;
      p.fetched = fetched(p, p.owner);
      p.sent = c_.owner(p.i, p.j) != p.owner ? sum_bytes(p, share) : 0;
      p.flops *= share;
      add(p);
    }
    close();
    plan_.products = std::move(products), plan_.groups = std::move(groups);
    plan_.dealt = std::ssize(gifts_);
  }

  MultiplyPlan& plan_;
  const TileMap &a_, &b_, &c_;
  std::span<const ProductCount> counts_;
  const TileMap* mask_;
  double byte_;
  std::vector<double> load_;
  std::vector<std::vector<std::size_t>> of_;  // products of each rank, the largest first
  std::vector<std::int32_t> parts_, left_;    // of each product; parts that its owner keeps
  std::vector<Gift> gifts_;
};

}  // namespace

bool deal_products(MultiplyPlan& plan, const TileMap& a, const TileMap& b, const TileMap& c,
                   std::span<const ProductCount> counts, const TileMap* mask, double flops_per_byte) {
  if (plan.ranks == 1 || plan.replicas > 1 || std::ssize(plan.products) > kMostDealt) return false;
  const auto before = imbalance(plan);
  if (before < kWorthDealing || !Dealer(plan, a, b, c, counts, mask, flops_per_byte).deal()) return false;
  plan.undealt = before;
  return true;
}

}  // namespace penstock
