// Which ranks of a node share which tiles of other nodes, and which add up sums for them. The plan says who needs which tile.
// Which rows of it, the owners of A's tiles know: they tell those who fetch for a node, in one exchange, and those who add for
// one. These form unions and tell all ranks how long they are. So every rank knows every byte before it moves.
#include "penstock/dist/tile/tile_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "penstock/comm/arena.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/tile/node_shares.hpp"
#include "penstock/dist/tile/tile_cover.hpp"
#include "penstock/dist/tile/tile_spans.hpp"

namespace penstock {
namespace {

/// Rows or columns with entries of a tile of A, for a rank that forms unions of them. `part` 1: of the part that goes to B.
struct ListKey {
  int part = 0;
  std::int64_t i = 0, k = 0;
  bool rows = false;
  int to = 0;
  auto operator<=>(const ListKey&) const = default;
};

/// Row numbers; all of a span where they are not named.
class Union {
 public:
  explicit Union(std::int64_t rows) : marked_(static_cast<std::size_t>(rows)) {}
  void add(std::span<const Index> rows) {
    for (const auto r : rows) marked_[static_cast<std::size_t>(r)] = 1;
  }
  void add(Span rows) {
    std::fill(marked_.begin() + rows.first, marked_.begin() + std::max(rows.first, rows.end), 1);
  }
  TileRows list() const {
    std::vector<Index> out;
    for (std::size_t r = 0; r < marked_.size(); ++r)
      if (marked_[r]) out.push_back(static_cast<Index>(r));
    return std::make_shared<TileNames>(std::move(out));
  }

 private:
  std::vector<std::uint8_t> marked_;
};

TileRows rows_with_entries(const std::byte* blob, const TileAt& tile) {
  std::vector<Index> out;
  const auto a = csr_of<One>(blob, tile);
  for (std::int64_t r = 0; r < tile.rows; ++r)
    if (a.indptr[r] < a.indptr[r + 1]) out.push_back(static_cast<Index>(r));
  return std::make_shared<TileNames>(std::move(out));
}

class Sharing {
 public:
  Sharing(TilePlan& prepared, TileMatrix& a, TileMatrix& b, const std::vector<int>& nodes,
          std::span<const ProductCount> counts, const HostRoom& room)
      : prepared_(prepared),
        plan_(prepared.plan),
        a_(a),
        b_(b),
        c_(prepared.c),
        nodes_(nodes),
        counts_(counts),
        room_(room),
        comm_(*a.comm()),
        me_(comm_.rank()) {
    near_.value = b.map().value, near_.sparse = b.map().sparse, near_.gathers = b.map().gathers;
  }

  void run() {
    find();
    exchange();
    form_unions();
    tell();
    require_room();
    fetch();
    for (auto& p : plan_.products) price(p);
  }

 private:
  using Place = std::pair<int, std::int64_t>;  // a node, and the number of a tile
  int node(int rank) const { return nodes_[static_cast<std::size_t>(rank)]; }
  TileMatrix& left_of(const TileProduct& p) { return penstock::left_of(prepared_, a_, p); }
  bool shares_a(const TileProduct&) const {
    return !prepared_.split;
  }  // parts of a cover are where they are needed
  Place place_a(const TileProduct& p) const { return {node(p.owner), a_.map().number(p.i, p.k)}; }
  Place place_b(const TileProduct& p) const { return {node(p.owner), b_.map().number(p.k, p.j)}; }
  Place place_c(const TileProduct& p) const { return {node(p.owner), c_.number(p.i, p.j)}; }

  void find() {
    find_shares(plan_, a_.map(), b_.map(), c_, nodes_, !prepared_.split);
    for (std::size_t n = 0; n < plan_.copies.size(); ++n)
      (plan_.copies[n].of_a ? copies_a_ : copies_b_)[{plan_.copies[n].node, plan_.copies[n].tile}] = n;
    for (std::size_t n = 0; n < plan_.sums.size(); ++n) sums_[{plan_.sums[n].node, plan_.sums[n].tile}] = n;
    for (const auto& p : plan_.products) {
      if (const auto at = copies_b_.find(place_b(p)); at != copies_b_.end())
        lists_.try_emplace(ListKey{p.at_b, p.i, p.k, false, plan_.copies[at->second].rank});
      if (const auto at = sums_.find(place_c(p)); at != sums_.end() && !c_.sparse)
        lists_.try_emplace(ListKey{p.at_b, p.i, p.k, true, plan_.sums[at->second].rank});
    }
  }

  TileMatrix& part(const ListKey& key) {
    return !prepared_.split ? a_ : key.part ? prepared_.split->at_b : prepared_.split->at_c;
  }

  /// Each list from the owner of the tile to who needs it.
  void exchange() {
    const auto size = static_cast<std::size_t>(comm_.size());
    std::vector<std::vector<Index>> out(size);
    std::vector<std::int64_t> sends(size + 1), receives(size + 1);
    for (const auto& [key, list] : lists_) {
      auto& from = part(key);
      const auto owner = from.map().owner(key.i, key.k);
      const auto& tile = from.map().at(key.i, key.k);
      if (key.to == me_)
        receives[static_cast<std::size_t>(owner) + 1] += 4 * (key.rows ? tile.rows_met : tile.cols_met);
      if (owner != me_) continue;
      const auto here = from.async_get_tile(key.i, key.k);
      const auto found =
          key.rows ? rows_with_entries(here.data(), here.tile()) : from.columns_met(key.i, key.k, here);
      auto& to = out[static_cast<std::size_t>(key.to)];
      to.insert(to.end(), found->begin(), found->end());
    }
    std::vector<Index> all;
    for (std::size_t r = 0; r < size; ++r) {
      all.insert(all.end(), out[r].begin(), out[r].end());
      sends[r + 1] = std::ssize(all) * 4;
    }
    std::partial_sum(receives.begin(), receives.end(), receives.begin());
    std::vector<Index> come(static_cast<std::size_t>(receives.back() / 4));
    comm_.all_to_all_v(all.data(), sends, come.data(), receives);
    const auto own = static_cast<std::size_t>(me_);
    prepared_.counted += receives.back() - (receives[own + 1] - receives[own]);
    for (auto& [key, list] : lists_) {
      if (key.to != me_) continue;
      auto& from = part(key);
      const auto& tile = from.map().at(key.i, key.k);
      auto& next = receives[static_cast<std::size_t>(from.map().owner(key.i, key.k))];
      const auto begin = come.begin() + next / 4;
      list.assign(begin, begin + (key.rows ? tile.rows_met : tile.cols_met));
      next += 4 * std::ssize(list);
    }
  }

  void form_unions() {
    std::map<std::size_t, Union> of_copies, of_sums;
    std::map<std::pair<std::size_t, int>, Union>
        of_givers;  // rows of what a rank gives to a sum, one of a layer's copy
    for (const auto& p : plan_.products) {
      const auto& tile = left_of(p).map().at(p.i, p.k);
      if (const auto at = copies_b_.find(place_b(p));
          at != copies_b_.end() && plan_.copies[at->second].rank == me_) {
        auto& sum = of_copies.try_emplace(at->second, b_.map().at(p.k, p.j).rows).first->second;
        const auto row = b_.map().at(p.k, p.j).cols * bytes_of(b_.map().value);
        if (b_.map().sparse || near_.names_rows(tile.cols_met, tile.col_span(), row))
          sum.add(lists_.at({p.at_b, p.i, p.k, false, me_}));
        else sum.add(tile.col_span());
      }
      if (const auto at = sums_.find(place_c(p));
          !c_.sparse && at != sums_.end() && plan_.sums[at->second].rank == me_) {
        const auto rows = c_.at(p.i, p.j).rows;
        auto& sum = of_sums.try_emplace(at->second, rows).first->second;
        const auto& list = lists_.at({p.at_b, p.i, p.k, true, me_});
        // A sum that came in one piece has all rows between the first and the last.
        if (p.owner == me_) sum.add(list);
        else if (plan_.replicas > 1)
          of_givers.try_emplace({at->second, p.owner}, rows).first->second.add(list);
        else if (c_.one_by_one(p.i, p.j, tile.rows_met, tile.row_span())) sum.add(list);
        else sum.add(tile.row_span());
      }
    }
    for (const auto& [giver, rows] : of_givers) {  // the products of a layer leave as one
      const auto tile = plan_.sums[giver.first].tile;
      const auto list = rows.list();
      auto& sum = of_sums.at(giver.first);
      if (c_.one_by_one(tile / c_.across(), tile % c_.across(), list->list.size, list->span)) sum.add(*list);
      else sum.add(list->span);
    }
    for (auto& [n, rows] : of_copies) count_copy(n, rows.list());
    for (auto& [n, rows] : of_sums) {
      const auto list = rows.list();
      auto& sum = plan_.sums[n];
      sum.bytes =
          c_.bytes_of_sum(sum.tile / c_.across(), sum.tile % c_.across(), list->list.size, list->span);
    }
    for (auto& copy : plan_.copies)
      if (copy.rank == me_ && copy.of_a) {
        copy.bytes = copy.size = a_.map().bytes(copy.tile / a_.map().across(), copy.tile % a_.map().across());
        copy.nnz = a_.map().tiles[static_cast<std::size_t>(copy.tile)].nnz;
      }
    lists_.clear();
  }

  /// What this rank fetches of a tile of B for its node.
  void count_copy(std::size_t n, TileRows rows) {
    auto& copy = plan_.copies[n];
    const auto& map = b_.map();
    const auto k = copy.tile / map.across(), j = copy.tile % map.across();
    TileAt left{.rows = 0, .cols = map.at(k, j).rows};
    left.in_cols = rows->span, left.cols_met = rows->list.size;
    auto& mine = mine_[n];
    mine.left = left, mine.rows = std::move(rows);
    if (!map.sparse) {
      copy.bytes = map.bytes_for(left, map.at(k, j));
      copy.size = left.in_cols.end * map.at(k, j).cols * bytes_of(map.value);
      return;
    }
    mine.offsets = b_.async_get_offsets(k, j, left.col_span());
    const auto* const ends = reinterpret_cast<const Offset*>(mine.offsets.data());
    RowsAlone alone;
    mine.rows = with_gaps(*mine.rows, ends, 4 + bytes_of(map.value), map.range_bytes, alone);
    copy.nnz = alone.entries;
    copy.bytes = map.bytes_for(left, map.at(k, j), alone);
    if (copy.bytes == map.bytes(k, j)) {
      copy.nnz = map.at(k, j).nnz;
      prepared_.counted += mine.offsets.fetched();
    }
    copy.size = blob_bytes(true, map.value, map.at(k, j).rows, map.at(k, j).cols, copy.nnz);
  }

  /// Tells all ranks what those who fetch and add have found.
  void tell() {
    std::vector<std::int64_t> facts;
    for (const auto& copy : plan_.copies) facts.insert(facts.end(), {copy.bytes, copy.nnz, copy.size});
    for (const auto& sum : plan_.sums) facts.push_back(sum.bytes);
    if (facts.empty()) return;
    comm_.all_reduce(std::span<std::int64_t>(facts), Reduce::sum);
    const auto* next = facts.data();
    std::map<int, std::int64_t> used;
    for (auto& copy : plan_.copies) {
      copy.bytes = *next++, copy.nnz = *next++, copy.size = *next++;
      copy.offset = used[copy.rank];
      used[copy.rank] += padded_to(copy.size, Arena::kAlignment);
    }
    for (auto& sum : plan_.sums) sum.bytes = *next++;
    for (const auto& [rank, bytes] : used) arena_ = std::max(arena_, bytes);
  }

  /// Throws on all ranks where one has no memory for the copies of its node, the sums that it adds, and its part of C.
  void require_room() {
    const auto* mask = prepared_.mask ? &*prepared_.mask : nullptr;
    const auto sums = bytes_of_node_sums(plan_, c_, counts_, mask)[static_cast<std::size_t>(me_)];
    const auto shared = static_cast<double>(arena_) + sums;
    struct Room {
      double needed, have;
    } mine{room_.needed + shared, room_.have(room_.needed + shared)};
    std::vector<Room> all(static_cast<std::size_t>(comm_.size()));
    comm_.all_gather(&mine, sizeof mine, all.data());
    const auto worst =
        std::ranges::max_element(all, {}, [](const Room& r) { return r.needed - r.have; }) - all.begin();
    const auto& [needed, have] = all[static_cast<std::size_t>(worst)];
    if (needed <= have) return;
    const auto megabytes = [](double bytes) {
      return std::to_string(std::llround(std::ceil(bytes / 1e6))) + " MB";
    };
    throw Error(Errc::out_of_memory,
                "rank " + std::to_string(worst) + " needs about " + megabytes(needed) +
                    " for its tiles of C and for what its node shares (nodes=), and has " + megabytes(have) +
                    ": use more ranks, leave nodes out, or raise memory=");
  }

  /// Fetches what this rank fetches for its node, and lets the node see it.
  void fetch() {
    if (plan_.copies.empty()) return;
    auto transport = a_.make_transport()(a_.comm(), arena_, 0);
    std::vector<Transport::Ticket> of_a, of_b;
    for (std::size_t n = 0; n < plan_.copies.size(); ++n) {
      const auto& copy = plan_.copies[n];
      if (copy.rank != me_) continue;
      auto* const to = transport->arena() + copy.offset;
      if (copy.of_a) {
        of_a.push_back(a_.fetch_to(to, copy.tile, {}, nullptr, nullptr));
        continue;
      }
      const auto& mine = mine_.at(n);
      const auto& map = b_.map();
      const auto k = copy.tile / map.across(), j = copy.tile % map.across();
      const bool whole = map.sparse ? copy.bytes == map.bytes(k, j)
                                    : !map.one_by_one(k, j, mine.left.cols_met, mine.left.col_span());
      of_b.push_back(b_.fetch_to(to, copy.tile, mine.left.col_span(), whole ? nullptr : mine.rows,
                                 map.sparse && !whole ? &mine.offsets : nullptr));
    }
    for (const auto t : of_a) a_.transport()->wait(t);
    for (const auto t : of_b) b_.transport()->wait(t);
    mine_.clear();
    transport->barrier();
    NodeCopies here{a_.elsewhere(transport), b_.elsewhere(transport), {}, {}};
    here.of_a.resize(a_.map().tiles.size()), here.of_b.resize(b_.map().tiles.size());
    for (const auto& copy : plan_.copies) {
      if (copy.node != node(me_)) continue;
      (copy.of_a ? here.of_a : here.of_b)[static_cast<std::size_t>(copy.tile)] = 1;
      (copy.of_a ? here.a : here.b).move_tile(copy.tile, copy.rank, copy.offset, copy.nnz);
    }
    prepared_.copies = std::make_shared<NodeCopies>(std::move(here));
  }

  /// The bytes of a product, with copies and sums of its node.
  void price(TileProduct& p) {
    p.fetched = p.far_fetched = p.far_sent = 0;
    const auto add = [&](std::int64_t bytes, int from) {
      if (from == p.owner) return;
      p.fetched += bytes;
      if (node(from) != node(p.owner)) p.far_fetched += bytes;
    };
    const auto& left = left_of(p).map();
    const auto at_a = shares_a(p) ? copies_a_.find(place_a(p)) : copies_a_.end();
    add(left.bytes(p.i, p.k),
        at_a == copies_a_.end() ? left.owner(p.i, p.k) : plan_.copies[at_a->second].rank);
    if (const auto at = copies_b_.find(place_b(p)); at == copies_b_.end()) {
      add(p.of_b, b_.map().owner(p.k, p.j));
    } else {
      auto tile = b_.map().at(p.k, p.j);
      if (b_.map().sparse) tile.nnz = plan_.copies[at->second].nnz;
      const auto n = (p.i * plan_.k + p.k) * plan_.n + p.j;
      p.of_b = near_.bytes_for(left.at(p.i, p.k), tile,
                               counts_.empty() ? RowsAlone{} : counts_[static_cast<std::size_t>(n)].met);
      add(p.of_b, plan_.copies[at->second].rank);
    }
    if (prepared_.mask) add(prepared_.mask->bytes(p.i, p.j), c_.owner(p.i, p.j));
    if (p.sent == 0) return;
    if (const auto at = sums_.find(place_c(p)); at == sums_.end()) {
      if (node(c_.owner(p.i, p.j)) != node(p.owner)) p.far_sent = p.sent;
    } else {
      auto& sum = plan_.sums[at->second];
      if (c_.sparse) {  // expected entries, added up
        const auto& tile = c_.at(p.i, p.j);
        const auto none = blob_bytes(true, c_.value, tile.rows, tile.cols, 0),
                   all = blob_bytes(true, c_.value, tile.rows, tile.cols, tile.rows * tile.cols);
        sum.bytes = std::min(sum.bytes + p.sent - (sum.bytes > 0 ? none : 0), all);
      }
      if (sum.rank == p.owner) p.sent = 0;
    }
  }

  TilePlan& prepared_;
  MultiplyPlan& plan_;
  TileMatrix &a_, &b_;
  const TileMap& c_;
  TileMap near_;  // B's, without tiles, as far as copies are concerned
  const std::vector<int>& nodes_;
  std::span<const ProductCount> counts_;
  const HostRoom& room_;
  Comm& comm_;
  int me_;
  std::map<Place, std::size_t> copies_a_, copies_b_, sums_;  // their numbers in the plan
  std::map<ListKey, std::vector<Index>> lists_;
  struct Mine {
    TileAt left;  // whose columns are the rows that the node needs
    TileRows rows;
    TileHere offsets;
  };
  std::map<std::size_t, Mine> mine_;  // copies that this rank makes, by number
  std::int64_t arena_ = 0;
};

}  // namespace

void require_nodes(const TileMatrix& a, const TileMultiplyOptions& options) {
  require(std::ssize(options.nodes) == a.comm()->size(), [&] {
    return "nodes: " + std::to_string(options.nodes.size()) + " numbers for " +
           std::to_string(a.comm()->size()) + " ranks: give one for each";
  });
  if (a.on_device())
    throw Error(
        Errc::not_compiled,
        "nodes: the ranks of a node share tiles in host memory: cut the tiles without device=, or leave "
        "nodes out");
}

void share_within_nodes(TilePlan& plan, TileMatrix& a, TileMatrix& b, const std::vector<int>& nodes,
                        std::span<const ProductCount> counts, const HostRoom& room) {
  Sharing(plan, a, b, nodes, counts, room).run();
}

}  // namespace penstock
