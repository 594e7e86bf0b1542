#include "penstock/dist/tile/one_sided.hpp"

#include <algorithm>
#include <array>
#include <deque>

#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/tile/tile_gpu.hpp"
#include "penstock/dist/tile/tile_work.hpp"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 3> kSteals{"none", "random", "locality"};
// Of a piece. Between GPUs a get of 1 MB took 6.2 us (170 GB/s) and one of 16 MB 50 us (337 GB/s), to which come a copy, a
// kernel and three waits of some 10 us each.
constexpr std::int64_t kMostAhead = 16;
constexpr std::int64_t kHostPiece = 4 << 20, kDevicePiece = 32 << 20;

struct Fetched {
  std::int64_t product = TileWork::kNone;
  TileHere a, b, mask;
};

std::shared_ptr<const void> kept(const TileHere& here, const TileMatrix& from) {
  if (auto landing = here.landing()) return landing;
  return from.transport();
}

/// Products whose tiles are under way. Where those of one tile of C are computed together, meanwhile all of the next one's
/// should come, as far as memory allows.
int products_ahead(const LocalProduct& local, const MultiplyPlan& plan, const TileMatrix& a,
                   const TileMatrix& b, const TileMultiplyOptions& options, bool steals) {
  if (!local.joins() || steals || options.kept != Stationary::c || options.prefetch == 0)
    return options.prefetch;
  std::int64_t largest = 1;
  for (const auto& p : plan.products)
    largest = std::max(largest, a.map().bytes(p.i, p.k) + b.map().bytes(p.k, p.j));
  return static_cast<int>(
      std::max<std::int64_t>(options.prefetch, std::min({plan.k, kJoinedBytes / largest, kMostAhead})));
}

/// A sum for another rank, while products of one tile follow one another.
struct Partial {
  std::int64_t i = 0, j = 0, products = 0;
  std::unique_ptr<TileSum> sum;
};

}  // namespace

Steal steal(std::string_view name) {
  for (std::size_t i = 0; i < kSteals.size(); ++i)
    if (name == kSteals[i]) return static_cast<Steal>(i);
  throw Error(Errc::invalid_argument,
              "steal '" + std::string(name) + "' is unknown: choose one of none, random, locality");
}

TileResult multiply_one_sided(TileMatrix& a, TileMatrix& b, const TileMultiplyOptions& options) {
  require(options.prefetch >= 0, "prefetch=" + std::to_string(options.prefetch) + " is negative");
  LapClock clock, whole;
  TileTimes times;
  auto prepared = prepare(a, b, options);
  const auto& plan = prepared.plan;
  const auto& c = prepared.c;
  const auto comm = a.comm();
  const auto me = comm->rank();
  TileSums sums(prepared, a);

  std::int64_t missing = 0;  // products that this rank's tiles of C still wait for
  for (const auto& p : plan.products) missing += c.owner(p.i, p.j) == me;
  const auto take = [&](std::int64_t number, std::int64_t products, const std::byte* piece,
                        std::int64_t bytes) {
    sums.sum(number / c.across(), number % c.across()).add_piece(piece, bytes);
    missing -= products;
    if (missing < 0)
      throw Error(Errc::comm,
                  "rank " + std::to_string(me) + " was sent more products of its tiles than there are");
  };
  const auto piece_bytes = options.piece_bytes > 0 ? options.piece_bytes
                           : a.on_device()         ? kDevicePiece
                                                   : kHostPiece;
  const bool steals = options.steal != Steal::none && comm->size() > 1;
  bool sends = steals;
  std::int64_t largest = 0;
  for (const auto& p : plan.products) {
    sends |= p.sent > 0;
    largest = std::max(largest, c.sparse ? piece_bytes : c.bytes(p.i, p.j) + 64);
  }
  TileMail mail(comm, a.make_transport(),
                {.piece_bytes = std::min(piece_bytes, std::max<std::int64_t>(largest, 1024)),
                 .pieces = options.pieces,
                 .sends = sends,
                 .counters = steals ? TileWork::counters(plan) : 0},
                take, a.mailbox());
  TileWork work(plan, a, b, c, mail, options.steal, options.seed);
  times.prepare = clock.lap();

  Partial partial;
  const auto flush = [&] {
    if (!partial.sum) return;
    times.accumulation += clock.lap();
    partial.sum->settle();
    times.compute += clock.lap();
    mail.send(c.owner(partial.i, partial.j), c.number(partial.i, partial.j), partial.products, *partial.sum);
    partial = {};
  };
  const auto sum_of = [&](const TileProduct& p) -> TileSum& {
    if (c.owner(p.i, p.j) == me) {
      --missing;
      return sums.sum(p.i, p.j);
    }
    if (partial.sum && (partial.i != p.i || partial.j != p.j)) flush();
    if (!partial.sum) partial = {p.i, p.j, 0, prepared.local->start(c.at(p.i, p.j), nullptr)};
    ++partial.products;
    return *partial.sum;
  };

  const bool at_once = steals || options.kept == Stationary::c;
  TileSum* last = nullptr;
  bool mine_last = false;  // else it may be gone
  const auto ahead = products_ahead(*prepared.local, plan, a, b, options, steals);
  std::deque<Fetched> under_way;
  Fetched done;  // kept until the next are asked for: they may share a tile
  bool more = true;
  while (true) {
    while (more && std::ssize(under_way) <= ahead) {
      const auto n = work.next(times);
      more = n != TileWork::kNone;
      if (!more) break;
      const auto& p = plan.products[static_cast<std::size_t>(n)];
      under_way.push_back({n, a.async_get_tile(p.i, p.k), b.async_get_for(a.map().at(p.i, p.k), p.k, p.j),
                           options.mask ? options.mask->async_get_tile(p.i, p.j) : TileHere{}});
      times.fetched +=
          under_way.back().a.fetched() + under_way.back().b.fetched() + under_way.back().mask.fetched();
    }
    if (under_way.empty()) break;
    done = std::move(under_way.front());
    under_way.pop_front();
    const auto& p = plan.products[static_cast<std::size_t>(done.product)];
    const TileView av{done.a.data(), done.a.tile(), kept(done.a, a)},
        bv{done.b.data(), done.b.tile(), kept(done.b, b)},
        mask{options.mask ? done.mask.data() : nullptr, done.mask.tile()};
    times.communication += clock.lap();
    auto& sum = sum_of(p);
    times.accumulation += clock.lap();
    // What is begun is done before the next tile of C: thieves go by it, and copies are few.
    if (at_once && last && last != &sum && mine_last) last->settle();
    last = &sum, mine_last = c.owner(p.i, p.j) == me;
    if (options.mask) sum.multiply_add_on(mask, av, bv);
    else sum.multiply_add(av, bv);
    times.compute += clock.lap();
    ++(p.owner == me ? times.own : times.stolen);
    times.flops += p.flops;
    mail.look();
    times.accumulation += clock.lap();
  }
  sums.settle();
  times.compute += clock.lap();
  flush();
  times.accumulation += clock.lap();
  const auto looked = mail.looking();
  wait_until(
      *comm,
      [&] {
        mail.look();
        return missing == 0;
      },
      "other ranks' parts of its tiles");
  times.accumulation += mail.looking() - looked;
  times.imbalance = clock.lap() - (mail.looking() - looked);
  auto result = sums.finish(times.accumulation, times.imbalance);
  mail.leave();
  times.sent = mail.sent(), times.received = mail.received();
  times.seconds = whole.lap();
  return {std::move(result), std::move(prepared.plan), times};
}

}  // namespace penstock
