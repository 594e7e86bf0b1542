// Who works on what next, without a master: ranks claim parts of products by fetch-and-add on counters of the products'
// owners, and a rank that has run out of own products takes parts of others' where that pays (Brock, Buluc and Yelick, ICS
// 2024, take whole products). tile_work.hpp says how the strategies differ.
#include "penstock/dist/tile/tile_work.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "penstock/core/machine.hpp"
#include "penstock/dist/tile/tile_parts.hpp"

namespace penstock {
namespace {

/// Operations and bytes that a rank is taken to do and to fetch a second as long as it has measured none: a coarse guess,
/// which the first products replace.
constexpr double kFlops = 1e9, kBytes = 4e9;
/// The same of a GPU: SpMV of R-MAT 26 ran at 129 GFLOP/s, a get of 1 MB at 170 GB/s.
constexpr double kGpuFlops = 1e11, kGpuBytes = 170e9;
/// Passes over a sum that is sent: it is written to its place, fetched by its owner, and added.
constexpr double kPasses = 3;

}  // namespace

TileWork::TileWork(const TilePlan& prepared, TileMatrix& a, TileMatrix& b, TileMail& mail, Steal steal,
                   std::uint64_t seed)
    : prepared_(prepared),
      plan_(prepared.plan),
      a_(a),
      b_(b),
      c_(prepared.c),
      mail_(mail),
      steal_(a.comm()->size() > 1 ? steal : Steal::none),
      me_(a.comm()->rank()),
      loads_(static_cast<std::size_t>(plan_.ranks)),
      begin_(static_cast<std::size_t>(plan_.ranks), -1) {
  for (const auto& p : plan_.products) loads_[static_cast<std::size_t>(p.owner)] += p.parts;
  for (std::int64_t g = std::ssize(plan_.groups) - 2; g >= 0; --g)
    begin_[static_cast<std::size_t>(product(group(g)).owner)] = g;
  std::vector<std::vector<std::int64_t>> near(static_cast<std::size_t>(plan_.ranks)), groups;
  for (std::int64_t g = 0; g + 1 < std::ssize(plan_.groups); ++g) {
    const auto first = soonest(g);
    std::vector<std::int64_t> others;
    for (std::int64_t turn = 0; turn < group(g + 1) - group(g); ++turn) {
      const auto n = in_turn(g, first, turn);
      const auto& p = product(n);
      if (p.owner == me_) own_.push_back(n);
      else if (steal_ == Steal::none || !within_node(p)) continue;
      else if (steal_ == Steal::random) others.push_back(n);
      else if (steal_ == Steal::locality &&
               (left_of(p).mine(p.i, p.k) || b.mine(p.k, p.j) || c_.owner(p.i, p.j) == me_))
        near[static_cast<std::size_t>(p.owner)].push_back(n);
    }
    if (!others.empty()) groups.push_back(std::move(others));
  }
  std::mt19937_64 random(seed * 1000003 + static_cast<std::uint64_t>(me_));
  std::shuffle(groups.begin(), groups.end(), random);
  for (const auto& products : groups) any_.insert(any_.end(), products.begin(), products.end());
  // Every rank begins with the rank after it: of victims with equally much left, ranks try different ones.
  for (int step = 1; step < plan_.ranks; ++step) {
    const auto r = (me_ + step) % plan_.ranks;
    if (auto& found = near[static_cast<std::size_t>(r)]; !found.empty())
      victims_.push_back({r, std::move(found)});
  }
}

/// Whether another rank can do a product without a byte between nodes: it is the same node's, and all of its tiles are there, or
/// shared there.
bool TileWork::within_node(const TileProduct& p) const {
  if (plan_.nodes.empty()) return true;
  const auto near = [&](int rank) {
    return plan_.nodes[static_cast<std::size_t>(rank)] == plan_.nodes[static_cast<std::size_t>(me_)];
  };
  return near(p.owner) && near(left_of(p).owner(p.i, p.k)) && near(right_of(p).owner(p.k, p.j)) &&
         near(receiver(plan_, c_, p)) && (!prepared_.mask || near(c_.owner(p.i, p.j)));
}

/// The product of a stationary tile that its owner begins with. Nothing hides what a rank's very first product waits for:
/// it is the one whose factors are there soonest, even if all others of a row or column of the grid ask the same owner for
/// them. All ranks know it.
std::int64_t TileWork::soonest(std::int64_t g) const {
  const auto begin = group(g), end = group(g + 1);
  const auto owner = product(begin).owner;
  if (begin_[static_cast<std::size_t>(owner)] != g) return begin;
  const auto wait = [&](std::int64_t n, std::int64_t in_row, std::int64_t in_column) {
    const auto& p = product(n);
    return (left_of(p).map().owner(p.i, p.k) == owner ? 0 : left_of(p).map().bytes(p.i, p.k) * in_row) +
           (b_.map().owner(p.k, p.j) == owner ? 0 : p.of_b * in_column);
  };
  const auto crowded = [&](std::int64_t n) {
    return wait(n, std::max(c_.grid.cols - 1, 1), std::max(c_.grid.rows - 1, 1));
  };
  auto best = begin;
  for (auto n = begin + 1; n < end; ++n)
    if (crowded(n) < crowded(best)) best = n;
  return crowded(best) < wait(begin, 1, 1) ? best : begin;
}

/// The product of a stationary tile that comes after `turn` others, beginning with `first`.
std::int64_t TileWork::in_turn(std::int64_t g, std::int64_t first, std::int64_t turn) const {
  const auto n = first + turn;
  return n < group(g + 1) ? n : n - group(g + 1) + group(g);
}

std::int64_t TileWork::open(const TileTimes& so_far) {
  if (const auto n = open_own(); n != kNone) return n;
  if (steal_ == Steal::none || cpus_are_busy()) return kNone;
  if (left(me_) == 0) say_idle();
  return steal_ == Steal::locality ? rob_near(so_far) : rob_any(so_far);
}

std::int64_t TileWork::open_own() {
  while (at_ < own_.size()) {
    const auto n = own_[at_++];
    if (steal_ == Steal::none || rest(product(n)) > 0) return n;
  }
  return kNone;
}

Span TileWork::take(std::int64_t n, const TileTimes& so_far) {
  const auto& p = product(n);
  if (steal_ == Steal::none)
    return std::exchange(whole_, n) == n ? Span{0, 0} : Span{p.first_part, p.first_part + p.parts_here()};
  const auto there = rest(p);
  if (there <= 0) return {0, 0};
  if (p.owner != me_) say_idle();  // all of its own have been done
  const auto idle = p.parts > 1 ? mail_.read(p.owner, 1) : 0;
  // A thief that would be done after the owner leaves it the rest.
  if (p.owner != me_ && p.parts > 1 && so_far.flops > 0) {
    const auto each = p.flops / p.parts * so_far.compute / so_far.flops;
    if (seconds_left(p, left(p.owner), each, so_far) < each) return {0, 0};
  }
  const auto wish = p.owner == me_ ? parts_for_owner(there, p.parts, idle) : parts_for_thief(there, idle);
  const auto first = mail_.claim(p.owner, counter(p), wish);
  const Span taken{std::min<std::int64_t>(first, p.parts), std::min<std::int64_t>(first + wish, p.parts)};
  if (taken.size() > 0) mail_.claim(p.owner, 0, taken.size());
  return taken;
}

/// Tells those whose products this rank may take, so that they take fewer of their parts at once.
void TileWork::say_idle() {
  if (std::exchange(idle_, true)) return;
  std::vector<int> owners;
  for (const auto& v : victims_) owners.push_back(v.rank);
  for (const auto n : any_) owners.push_back(product(n).owner);
  std::ranges::sort(owners);
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  for (const auto r : owners) mail_.claim(r, 1, 1);
}

bool TileWork::cpus_are_busy() {
  const auto& comm = *a_.comm();
  static const int cpus = probe_topology().cpus;
  if (!comm.one_process() || comm.size() <= cpus) return false;
  int busy = 0;
  for (int r = 0; r < comm.size() && busy < cpus; ++r) busy += left(r) > 0;
  return busy >= cpus;
}

/// Whether opening p pays: its owner, who has `left` parts of about this size, or another rank does them meanwhile, and before
/// the last of them is done, p's tiles must be here and the result of a part back.
bool TileWork::worth(const TileProduct& p, std::int64_t left, const TileTimes& t) const {
  if (left < 2) return false;
  const bool gpu = a_.where().is_gpu();
  const auto flops = t.compute > 0 && t.flops > 0 ? t.flops / t.compute : gpu ? kGpuFlops : kFlops;
  const auto bytes = t.communication > 0 && t.fetched > 0 ? static_cast<double>(t.fetched) / t.communication
                     : gpu                                ? kGpuBytes
                                                          : kBytes;
  double moved = 0;
  if (!left_of(p).mine(p.i, p.k)) moved += static_cast<double>(left_of(p).map().bytes(p.i, p.k));
  if (!b_.mine(p.k, p.j)) moved += static_cast<double>(p.of_b);
  if (c_.owner(p.i, p.j) != me_) {
    const auto& at = c_.at(p.i, p.j);
    const auto& left_tile = left_of(p).map().at(p.i, p.k);
    // Sparse: a result has at most an entry for each product.
    const auto sum = c_.sparse
                         ? blob_bytes(true, c_.value, at.rows, at.cols, static_cast<Offset>(p.flops / 2))
                         : c_.bytes_of_sum(p.i, p.j, left_tile.rows_met, left_tile.row_span());
    moved += kPasses * static_cast<double>(sum) / p.parts;
  }
  if (p.parts == 1) return static_cast<double>(left - 1) * p.flops / flops > moved / bytes;
  const auto each = p.flops / p.parts / flops;
  return seconds_left(p, left, each, t) > moved / bytes + each;
}

/// What the owner of p, and those who help it, will take for the `left` parts, of which this rank would need `each` seconds a
/// part. Owners may be faster, where their rows are longer. How fast they are cannot be told exactly, since parts that have
/// been taken need not be done: the mean of what that would be and of the pace here.
double TileWork::seconds_left(const TileProduct& p, std::int64_t left, double each,
                              const TileTimes& t) const {
  const auto taken = loads_[static_cast<std::size_t>(p.owner)] - left;
  const auto passed = t.compute + t.communication + t.accumulation;
  const auto pace = taken > 0 && t.flops > 0 ? passed / static_cast<double>(taken) : each;
  return static_cast<double>(left) * std::sqrt(each * std::min(each, pace));
}

std::int64_t TileWork::rob_near(const TileTimes& so_far) {
  while (true) {
    Victim* best = nullptr;
    std::int64_t most = 0;
    for (auto& v : victims_) {
      if (v.near.empty()) continue;
      const auto l = left(v.rank);
      if (l < 2) v.near.clear();  // it only becomes less
      else if (l > most) best = &v, most = l;
    }
    if (!best) return kNone;
    const auto n = best->near.back();
    best->near.pop_back();
    const auto& p = product(n);
    if (rest(p) > 0 && worth(p, most, so_far)) return n;
  }
}

std::int64_t TileWork::rob_any(const TileTimes& so_far) {
  while (!any_.empty()) {
    const auto n = any_.back();
    any_.pop_back();
    const auto& p = product(n);
    if (rest(p) > 0 && worth(p, left(p.owner), so_far)) return n;
  }
  return kNone;
}

}  // namespace penstock
