#include "penstock/dist/tile/node_shares.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace penstock {
namespace {

using NodeTile = std::pair<int, std::int64_t>;  // a node, and the number of a tile
using NodeUsers = std::map<NodeTile, std::set<int>>;

/// Of some ranks the one that has least to do for its node so far.
class Appointer {
 public:
  int appoint(const std::set<int>& ranks) {
    const auto who = *std::ranges::min_element(ranks, {}, [&](int r) { return had_[r]; });
    ++had_[who];
    return who;
  }

 private:
  std::map<int, std::int64_t> had_;
};

}  // namespace

void find_shares(MultiplyPlan& plan, const TileMap& a, const TileMap& b, const TileMap& c,
                 const std::vector<int>& nodes, bool shares_a) {
  plan.nodes = nodes, plan.copies.clear(), plan.sums.clear();
  const auto node = [&](int rank) { return nodes[static_cast<std::size_t>(rank)]; };
  NodeUsers of_a, of_b, of_c;
  std::map<NodeTile, std::int64_t> products;
  for (const auto& p : plan.products) {
    const auto here = node(p.owner);
    if (shares_a && node(a.owner(p.i, p.k)) != here) of_a[{here, a.number(p.i, p.k)}].insert(p.owner);
    if (node(b.owner(p.k, p.j)) != here) of_b[{here, b.number(p.k, p.j)}].insert(p.owner);
    if (node(c.owner(p.i, p.j)) != here)
      of_c[{here, c.number(p.i, p.j)}].insert(p.owner), ++products[{here, c.number(p.i, p.j)}];
  }
  Appointer who;
  for (const auto* users : {&of_a, &of_b})
    for (const auto& [place, ranks] : *users)
      if (ranks.size() > 1)
        plan.copies.push_back(
            {.node = place.first, .of_a = users == &of_a, .tile = place.second, .rank = who.appoint(ranks)});
  for (const auto& [place, ranks] : of_c)
    if (ranks.size() > 1)
      plan.sums.push_back({.node = place.first,
                           .tile = place.second,
                           .rank = who.appoint(ranks),
                           .products = products[place]});
}

std::int64_t most_bytes(const NodeCopy& copy, const TileMap& a, const TileMap& b) {
  const auto& of = copy.of_a ? a : b;
  return of.bytes(copy.tile / of.across(), copy.tile % of.across());
}

double sparse_sum_bytes(const TileMap& c, const TileAt& tile, double entries) {
  // Both the sums that are merged and their result are in memory at once, so all bytes count twice.
  return 2 * (static_cast<double>(tile.rows) * 8 + entries * static_cast<double>(4 + bytes_of(c.value)));
}

std::vector<double> bytes_of_node_sums(const MultiplyPlan& plan, const TileMap& c,
                                       std::span<const ProductCount> counts, const TileMap* mask) {
  std::map<NodeTile, double> entries;
  for (const auto& p : plan.products)
    if (!counts.empty())
      entries[{plan.nodes[static_cast<std::size_t>(p.owner)], c.number(p.i, p.j)}] +=
          counts[static_cast<std::size_t>((p.i * plan.k + p.k) * plan.n + p.j)].nnz;
  std::vector<double> out(static_cast<std::size_t>(plan.ranks));
  for (const auto& sum : plan.sums) {
    const auto i = sum.tile / c.across(), j = sum.tile % c.across();
    const auto& tile = c.at(i, j);
    const auto most = mask ? static_cast<double>(mask->at(i, j).nnz)
                           : static_cast<double>(tile.rows) * static_cast<double>(tile.cols);
    out[static_cast<std::size_t>(sum.rank)] +=
        c.sparse ? sparse_sum_bytes(c, tile, std::min(entries[{sum.node, sum.tile}], most))
                 : static_cast<double>(c.bytes(i, j));
  }
  return out;
}

}  // namespace penstock
