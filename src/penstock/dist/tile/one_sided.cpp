// C = A B by gets and by mail (Brock, Buluc and Yelick, ICS 2024). A rank repeats four steps until no product is left:
//
//   open       the next product of tiles in the plan's order, or one that is worth helping another rank with (tile_work)
//   fetch      the product's tiles that are elsewhere; some products ahead, so that gets travel while a product is computed
//   claim      parts of the product that nobody does: ranges of rows; without stealing it is one part (tile_parts)
//   multiply   these into its own tile of C, or into a partial sum for the rank that owns the tile
//   mail       a partial sum that is complete, and take in what other ranks have sent for own tiles (tile_mail)
//
// At the end it waits until its tiles of C have all parts of their products, from whichever ranks; `missing_` counts those to
// come.
#include "penstock/dist/tile/one_sided.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>

#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/tile/tile_gpu.hpp"
#include "penstock/dist/tile/tile_nodes.hpp"
#include "penstock/dist/tile/tile_parts.hpp"
#include "penstock/dist/tile/tile_work.hpp"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 3> kSteals{"none", "random", "locality"};

/// Products that may be under way where the products of one tile of C are computed together: more of them hold more memory.
constexpr std::int64_t kMostAhead = 16;

/// Bytes of a piece of a sum. Between GPUs a get of 1 MB took 6.2 us (170 GB/s) and one of 16 MB 50 us (337 GB/s), to which
/// come a copy, a kernel and three waits of some 10 us each.
constexpr std::int64_t kHostPiece = 4 << 20, kDevicePiece = 32 << 20;

/// The least size of a piece that TileMail takes, and the bytes that a piece of a dense tile may need for its head.
constexpr std::int64_t kLeastPiece = 1024, kPieceHead = 64;

/// A product whose tiles are under way. Which rows of B it needs, its tile of A says: where that is another rank's, they are
/// asked for when it is here. Where entries of a sparse B are, the offsets of their rows say.
struct Fetched {
  std::int64_t product = TileWork::kNone;
  TileHere a, b, mask, offsets;
  bool asked_for_b = false;
};

/// What keeps the bytes of a tile: the memory that it has landed in, or the arena of this rank.
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

/// Room for the largest piece that this product sends, so that small products make small arenas.
TileMail::Options mail_options(const MultiplyPlan& plan, const TileMap& c, const TileMultiplyOptions& options,
                               bool on_device, bool steals) {
  const auto asked = options.piece_bytes > 0 ? options.piece_bytes : on_device ? kDevicePiece : kHostPiece;
  bool sends = steals;
  std::int64_t largest = kLeastPiece;
  for (const auto& p : plan.products) {
    sends |= p.sent > 0;
    largest = std::max(largest, c.sparse ? asked : c.bytes(p.i, p.j) + kPieceHead);
  }
  return {.piece_bytes = std::min(asked, largest),
          .pieces = options.pieces,
          .sends = sends,
          .counters = steals ? TileWork::counters(plan) : 0};
}

/// A sum for another rank, while products of one tile follow one another.
struct Partial {
  int to = 0;
  std::int64_t i = 0, j = 0, products = 0;
  std::unique_ptr<TileSum> sum;
};

/// The sum of all products that ranks of this node have for a tile of another node.
struct SumOfNode {
  std::int64_t products = 0, missing = 0;
  std::unique_ptr<TileSum> sum;
};

/// One product, seen from this rank.
class OneSidedProduct {
 public:
  OneSidedProduct(TileMatrix& a, TileMatrix& b, const TileMultiplyOptions& options)
      : a_(a),
        b_(b),
        options_(options),
        comm_(a.comm()),
        steals_(options.steal != Steal::none && comm_->size() > 1),
        prepared_(in_parts(prepare(a, b, options))),
        sums_(prepared_, a),
        missing_(parts_of_mine()),
        mail_(
            comm_, a.make_transport(),
            mail_options(prepared_.plan, prepared_.c, options, a.on_device(), steals_),
            [this](auto number, auto products, auto* piece, auto bytes) {
              take_in(number, products, piece, bytes);
            },
            a.mailbox()),
        work_(prepared_, a, b, mail_, options.steal, options.seed),
        ahead_(products_ahead(*prepared_.local, prepared_.plan, a, b, options, steals_)) {
    if (ahead_ > 0)
      waits_ = std::ranges::any_of(
          products(), [&](const auto& p) { return (steals_ || p.owner == comm_->rank()) && waits(p); });
    times_.counted = prepared_.counted;
    for (const auto& p : products())  // counted in parts, as claims are
      if (!mine(p) && receiver(plan(), prepared_.c, p) == comm_->rank()) {
        auto& sum = of_node_[prepared_.c.number(p.i, p.j)];
        sum.products += p.parts, sum.missing += p.parts;
      }
    for (const auto& copy : plan().copies)
      if (copy.rank == comm_->rank()) times_.fetched += copy.bytes, times_.far_fetched += copy.bytes;
    times_.prepare = clock_.lap();
  }

  /// Computes what this rank claims, and returns when its tiles of C are complete.
  TileResult run() {
    while (fetch_ahead()) compute_next();
    settle_own();
    mail_partial();
    times_.accumulation += clock_.lap();
    wait_for_others();
    auto c = sums_.finish(times_.accumulation, times_.imbalance);
    mail_.leave();
    times_.sent = mail_.sent(), times_.received = mail_.received();
    times_.seconds = whole_.lap();
    return {std::move(c), std::move(prepared_.plan), times_};
  }

 private:
  const MultiplyPlan& plan() const { return prepared_.plan; }
  const std::vector<TileProduct>& products() const { return plan().products; }
  TileMatrix& right_of(const TileProduct& p) const { return penstock::right_of(prepared_, b_, p); }
  bool far(int rank) const {
    const auto node = [&](int r) { return plan().nodes[static_cast<std::size_t>(r)]; };
    return !plan().nodes.empty() && node(rank) != node(comm_->rank());
  }
  void count(const TileHere& tile, int from) {
    times_.fetched += tile.fetched();
    if (far(from)) times_.far_fetched += tile.fetched();
  }
  TileMatrix& left_of(const TileProduct& p) const { return penstock::left_of(prepared_, a_, p); }
  bool mine(const TileProduct& p) const { return prepared_.c.owner(p.i, p.j) == comm_->rank(); }
  /// Where there are thieves, products are cut into parts.
  TilePlan in_parts(TilePlan plan) const {
    if (steals_ && plan.local->takes_rows())
      cut_into_parts(plan.plan, options_.part_flops, plan.c.sparse ? 0 : bytes_of(plan.c.value));
    return plan;
  }
  std::int64_t parts_of_mine() const {
    std::int64_t parts = 0;
    for (const auto& p : products()) parts += mine(p) ? p.parts_here() : 0;
    return parts;
  }

  /// Adds a piece that another rank has sent to an own tile of C.
  void take_in(std::int64_t number, std::int64_t products, const std::byte* piece, std::int64_t bytes) {
    const auto across = prepared_.c.across();
    if (prepared_.c.owner(number / across, number % across) != comm_->rank()) {
      auto& sum = sum_of_node(number);
      sum.add_piece(piece, bytes);
      return note(number, products);
    }
    sums_.sum(number / across, number % across).add_piece(piece, bytes);
    missing_ -= products;
    if (missing_ < 0)
      throw Error(Errc::comm, "rank " + std::to_string(comm_->rank()) +
                                  " was sent more products of its tiles than there are");
  }

  /// Opens products and starts to fetch their tiles, until as many are under way as should be. False: no product is left.
  bool fetch_ahead() {
    while (more_ && std::ssize(under_way_) <= ahead_ + waits_) {
      const auto n = work_.open(times_);
      more_ = n != TileWork::kNone;
      if (!more_) break;
      const auto& p = products()[static_cast<std::size_t>(n)];
      under_way_.push_back({n,
                            left_of(p).async_get_tile(p.i, p.k),
                            {},
                            options_.mask ? options_.mask->async_get_tile(p.i, p.j) : TileHere{},
                            needs_offsets(p) ? right_of(p).async_get_offsets(
                                                   p.k, p.j, left_of(p).map().at(p.i, p.k).col_span())
                                             : TileHere{}});
      auto& tiles = under_way_.back();
      if (!waits(p)) ask_for_b(tiles);
      count(tiles.a, left_of(p).owner(p.i, p.k)), count(tiles.offsets, right_of(p).owner(p.k, p.j));
      count(tiles.mask, prepared_.c.owner(p.i, p.j));
    }
    return !under_way_.empty();
  }

  bool needs_names(const TileProduct& p) const {
    const auto& left = left_of(p).map().at(p.i, p.k);
    return !b_.map().sparse && !right_of(p).mine(p.k, p.j) &&
           right_of(p).map().one_by_one(p.k, p.j, left.cols_met, left.col_span());
  }
  /// Whether single rows of a sparse tile travel.
  bool needs_offsets(const TileProduct& p) const {
    const auto& b = right_of(p);
    return b.map().sparse && !b.mine(p.k, p.j) && p.of_b < b.map().bytes(p.k, p.j);
  }
  /// The entries of a sparse B that travel for a product, as the plan counts them; of copies it does not know.
  Offset entries_alone(const TileProduct& p) const {
    if (prepared_.copies) return -1;
    const auto offsets = (left_of(p).map().at(p.i, p.k).col_span().size() + 1) * 8;
    return (p.of_b - offsets) / (4 + bytes_of(b_.map().value));
  }
  /// Whether rows of B cannot be asked for before something else is here.
  bool waits(const TileProduct& p) const {
    return needs_offsets(p) || (!left_of(p).mine(p.i, p.k) && needs_names(p));
  }

  /// Starts to fetch what a product needs of B; before that, waits for what says which rows these are and where they lie.
  void ask_for_b(Fetched& tiles) {
    if (std::exchange(tiles.asked_for_b, true)) return;
    const auto& p = products()[static_cast<std::size_t>(tiles.product)];
    auto &a = left_of(p), &b = right_of(p);
    if (needs_offsets(p))
      tiles.b = b.async_get_rows(p.k, p.j, a.columns_met(p.i, p.k, tiles.a), tiles.offsets, entries_alone(p));
    else if (b.map().sparse) tiles.b = b.async_get_tile(p.k, p.j);
    else if (needs_names(p)) tiles.b = b.async_get_rows(p.k, p.j, a.columns_met(p.i, p.k, tiles.a));
    else tiles.b = b.async_get_rows(p.k, p.j, a.map().at(p.i, p.k).col_span());
    count(tiles.b, b.owner(p.k, p.j));
  }

  /// Works on the product whose tiles were asked for first, for as long as parts of it are left.
  void compute_next() {
    current_ = std::move(under_way_.front());
    under_way_.pop_front();
    ask_for_b(current_);
    for (int n = 0; n < std::min<std::int64_t>(ahead_, std::ssize(under_way_)); ++n)
      ask_for_b(under_way_[static_cast<std::size_t>(n)]);
    const auto& p = products()[static_cast<std::size_t>(current_.product)];
    TileView left{current_.a.data(), current_.a.tile(), kept(current_.a, left_of(p))};
    if (left_of(p).mine(p.i, p.k)) left.memo = &left_of(p).memo(p.i, p.k);
    const TileView right{current_.b.data(), current_.b.tile(), kept(current_.b, right_of(p))};
    const TileView mask{options_.mask ? current_.mask.data() : nullptr, current_.mask.tile()};
    times_.communication += clock_.lap();
    const auto take = [&] { return work_.take(current_.product, times_); };
    for (auto taken = take(); taken.size() > 0; taken = take()) compute_parts(p, taken, left, right, mask);
    if (p.parts > 1 && mine(p)) sums_.sum(p.i, p.j).end_parts();
    times_.communication += clock_.lap();
  }

  /// Multiplies parts of a product, and looks for mail.
  void compute_parts(const TileProduct& p, Span taken, TileView left, const TileView& right,
                     const TileView& mask) {
    times_.communication += clock_.lap();
    auto& sum = sum_for(p, taken.size());
    times_.accumulation += clock_.lap();
    settle_before(sum, p);
    if (taken.size() < p.parts) left.product = current_.product;
    left.stolen = p.owner != comm_->rank();
    if (p.parts > 1)
      left.tile.in_rows =
          rows_of_parts(reinterpret_cast<const Offset*>(left.data), left.tile.row_span(), taken, p.parts);
    if (left.tile.row_span().size() > 0) {
      if (options_.mask) sum.multiply_add_on(mask, left, right);
      else sum.multiply_add(left, right);
    }
    times_.compute += clock_.lap();
    (p.owner == comm_->rank() ? times_.own : times_.stolen) += taken.size();
    times_.flops += p.flops * static_cast<double>(taken.size()) / p.parts_here();
    if (!mine(p) && receiver(plan(), prepared_.c, p) == comm_->rank())
      note(prepared_.c.number(p.i, p.j), taken.size());
    mail_.look();
    mail_of_node();
    times_.accumulation += clock_.lap();
  }

  /// The sum that a product is added to: that of an own tile of C, or a partial one for its owner.
  TileSum& sum_for(const TileProduct& p, std::int64_t parts) {
    if (mine(p)) {
      missing_ -= parts;
      return sums_.sum(p.i, p.j);
    }
    const auto to = receiver(plan(), prepared_.c, p);
    if (to == comm_->rank()) return sum_of_node(prepared_.c.number(p.i, p.j));
    if (partial_.sum && (partial_.i != p.i || partial_.j != p.j)) mail_partial();
    if (!partial_.sum)
      partial_ = {to, p.i, p.j, 0, prepared_.local->start(prepared_.c.at(p.i, p.j), nullptr)};
    partial_.products += parts;
    return *partial_.sum;
  }

  /// Where a tile of C is completed before the next one is begun, computes what was put off of the tile before: thieves
  /// see what has been begun, and fewer copies of tiles wait. A partial sum may be gone by now, and mail_partial() has
  /// computed what it put off.
  void settle_before(TileSum& sum, const TileProduct& p) {
    const bool tile_by_tile = steals_ || options_.kept == Stationary::c;
    if (tile_by_tile && last_own_ && last_own_ != &sum) last_own_->settle();
    last_own_ = mine(p) ? &sum : nullptr;
  }

  void settle_own() {
    sums_.settle();
    times_.compute += clock_.lap();
  }

  /// Sends the partial sum to the owner of its tile, if there is one.
  void mail_partial() {
    if (!partial_.sum) return;
    const auto& c = prepared_.c;
    times_.accumulation += clock_.lap();
    partial_.sum->settle();
    times_.compute += clock_.lap();
    send(partial_.to, c.number(partial_.i, partial_.j), partial_.products, *partial_.sum);
    partial_ = {};
  }

  void send(int to, std::int64_t number, std::int64_t products, TileSum& sum) {
    const auto before = mail_.sent();
    mail_.send(to, number, products, sum);
    if (far(to)) times_.far_sent += mail_.sent() - before;
  }

  /// The sum that this rank adds up for its node.
  TileSum& sum_of_node(std::int64_t number) {
    const auto at = of_node_.find(number);
    if (at == of_node_.end())
      throw Error(Errc::comm, "rank " + std::to_string(comm_->rank()) +
                                  " was sent a part of a tile that it does not add up");
    auto& sum = at->second.sum;
    const auto& c = prepared_.c;
    if (!sum) sum = prepared_.local->start(c.at(number / c.across(), number % c.across()), nullptr);
    return *sum;
  }
  /// So many products of a sum of this node have come. It is sent later: a sender looks for mail.
  void note(std::int64_t number, std::int64_t products) {
    if ((of_node_.at(number).missing -= products) == 0) complete_.push_back(number);
  }
  /// Sends the sums of this node that are complete to the owners of their tiles.
  void mail_of_node() {
    const auto& c = prepared_.c;
    while (!complete_.empty()) {
      const auto number = complete_.front();
      complete_.pop_front();
      auto found = of_node_.extract(number);
      found.mapped().sum->settle();
      send(c.owner(number / c.across(), number % c.across()), number, found.mapped().products,
           *found.mapped().sum);
    }
  }

  /// Takes in mail until no own tile of C lacks a product. Waiting counts as imbalance, adding what comes does not.
  void wait_for_others() {
    const auto before = mail_.looking();
    const auto complete = [&] {
      mail_.look();
      mail_of_node();
      return missing_ == 0 && of_node_.empty();
    };
    wait_until(*comm_, complete, "other ranks' parts of its tiles");
    const auto adding = mail_.looking() - before;
    times_.accumulation += adding;
    times_.imbalance = clock_.lap() - adding;
  }

  LapClock clock_, whole_;
  TileTimes times_;
  TileMatrix &a_, &b_;
  const TileMultiplyOptions& options_;
  std::shared_ptr<Comm> comm_;
  bool steals_;
  TilePlan prepared_;
  TileSums sums_;
  std::int64_t missing_;  // parts of products that this rank's tiles of C still wait for
  TileMail mail_;
  TileWork work_;
  int ahead_;
  bool waits_ =
      false;  // whether what says which rows of B are needed is asked for one product earlier than these
  Partial partial_;
  std::map<std::int64_t, SumOfNode> of_node_;  // by number of tile: what this rank adds up and has not sent
  std::deque<std::int64_t> complete_;          // of these, those that can be sent
  TileSum* last_own_ = nullptr;                // the own tile of C that the product before went to
  std::deque<Fetched> under_way_;
  Fetched current_;  // kept until the next are asked for: they may share a tile with it
  bool more_ = true;
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
  return OneSidedProduct(a, b, options).run();
}

}  // namespace penstock
