// Passes over the vertices of a level. In each round those whose turn it is look around at once and then move together; the seed
// deals them to rounds anew for every pass, so that neighbours rarely move at once, and never do so for long. A refinement goes the
// same way: those who are alone join parts, which nobody leaves.
#include <algorithm>
#include <array>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/community/device_level_run.hpp"
#include "penstock/graph/community/device_steps.hpp"

namespace penstock::community {
namespace {

constexpr std::int64_t kHubSlotBytes = sizeof(Index) + sizeof(std::int64_t);
constexpr int kRefiningPasses = 2;            // those who met others of their round look once more
constexpr std::int64_t kMostArena = 1 << 23;  // slots for hubs

/// The vertices of a level by class; those with long lists are known to the host, too.
struct Classes {
  Array<Index> vertices;
  std::array<std::int64_t, kClasses + 1> first = {};
  std::vector<Index> hubs;
  std::vector<Offset> sizes;
};

Classes classes_of(const DeviceLevel& level, Stream stream) {
  const auto n = level.vertices;
  Buffers<std::uint32_t> keys(n, stream);
  Buffers<Index> vertices(n, stream);
  each(n, KeyByClass{level.lists, keys.first.data, vertices.first.data}, stream);
  constexpr int kBits = 2;
  static_assert(kClasses <= 1 << kBits);
  sort_pairs(keys, vertices, kBits, stream);
  Classes out;
  const auto found = held<std::int64_t>(kClasses + 1, stream);
  each(kClasses + 1, FindClass{keys.first.data, n, found.data}, stream);
  copy_async(out.first.data(), found.data, found.bytes(), stream);
  synchronize(stream);
  out.vertices = vertices.first;
  const auto begin = out.first[kClasses - 1], count = n - begin;
  if (count == 0) return out;
  const auto sizes = held<Offset>(count, stream);
  each(count, SizesOf{level.lists, out.vertices.data + begin, sizes.data}, stream);
  out.hubs.resize(at(count)), out.sizes.resize(at(count));
  copy_async(out.hubs.data(), out.vertices.data + begin, count * std::int64_t(sizeof(Index)), stream);
  copy_async(out.sizes.data(), sizes.data, sizes.bytes(), stream);
  synchronize(stream);
  return out;
}

/// Hubs as the rounds of a pass take them: in batches whose tables fit the arena.
class HubRounds {
 public:
  HubRounds(const Classes& classes, std::int64_t vertices, const DeviceRoom& room, Stream stream)
      : classes_(classes), stream_(stream), count_(std::ssize(classes.hubs)) {
    if (count_ == 0) return;
    std::int64_t largest = 0, all = 0;
    for (const auto size : classes.sizes) {
      slots_.push_back(std::int64_t{1} << log_slots_for(std::min<Offset>(size, vertices)));
      largest = std::max(largest, slots_.back());
      all += slots_.back();
    }
    const auto most = std::clamp(room.bytes / 8 / kHubSlotBytes, kLeastArena, kMostArena);
    arena_ = std::max(largest, std::min(all, most));
    keys_ = held<Index>(arena_, stream);
    sums_ = held<std::int64_t>(arena_, stream);
    moves_ = held<std::uint8_t>(count_, stream);
    vertices_ = held<Index>(count_, stream);
    pieces_ = held<Offset>(2 * count_, stream);  // a batch has one more than hubs
    tables_ = held<Offset>(2 * count_, stream);
  }
  ~HubRounds() { drain(stream_); }  // copies from host memory
  HubRounds(const HubRounds&) = delete;
  HubRounds& operator=(const HubRounds&) = delete;

  void deal(const MoveRule& rule) {
    batches_.assign(at(rule.rounds), {});
    if (count_ == 0) return;
    synchronize(stream_);  // the last pass has read the arrays
    std::vector<std::vector<std::size_t>> of_round(at(rule.rounds));
    for (std::size_t h = 0; h < classes_.hubs.size(); ++h)
      of_round[at(round_of(classes_.hubs[h], rule))].push_back(h);
    order_.clear(), first_piece_.clear(), table_.clear();
    for (int r = 0; r < rule.rounds; ++r) {
      DeviceHubs* batch = nullptr;
      for (const auto h : of_round[at(r)]) {
        if (!batch || table_.back() + slots_[h] > arena_) batch = begin_batch(r);
        order_.push_back(classes_.hubs[h]);
        first_piece_.push_back(first_piece_.back() + hub_pieces(classes_.sizes[h]));
        table_.push_back(table_.back() + slots_[h]);
        ++batch->count;
        batch->pieces = first_piece_.back();
        batch->slots = table_.back();
      }
    }
    const auto send = [&](auto& there, const auto& here) {
      copy_async(there.data, here.data(), std::ssize(here) * std::int64_t(sizeof here[0]), stream_);
    };
    send(vertices_, order_), send(pieces_, first_piece_), send(tables_, table_);
  }

  void look(const DeviceMoves& m, const MoveRule& rule, int round) const {
    for (const auto& hubs : batches_[at(round)]) {
      fill_async(keys_.data, 0xff, keys_.slice(0, hubs.slots).bytes(), stream_);
      fill_async(sums_.data, 0, sums_.slice(0, hubs.slots).bytes(), stream_);
      PENSTOCK_ON(stream_, look_at_hubs, m, rule, round, hubs);
    }
  }
  void wake(const DeviceMoves& m, int round) const {
    for (const auto& hubs : batches_[at(round)]) PENSTOCK_ON(stream_, wake_of_hubs, m, round, hubs);
  }

 private:
  DeviceHubs* begin_batch(int round) {
    const auto hubs = std::ssize(order_), ends = std::ssize(table_);
    batches_[at(round)].push_back({.vertices = vertices_.data + hubs,
                                   .first_piece = pieces_.data + ends,
                                   .table = tables_.data + ends,
                                   .keys = keys_.data,
                                   .sums = sums_.data,
                                   .moves = moves_.data + hubs});
    first_piece_.push_back(0), table_.push_back(0);
    return &batches_[at(round)].back();
  }

  const Classes& classes_;
  Stream stream_;
  std::int64_t count_, arena_ = 0;
  std::vector<std::int64_t> slots_;
  std::vector<std::vector<DeviceHubs>> batches_;
  std::vector<Index> order_;
  std::vector<Offset> first_piece_, table_;
  Array<Index> keys_, vertices_;
  Array<std::int64_t> sums_;
  Array<std::uint8_t> moves_;
  Array<Offset> pieces_, tables_;
};

/// The vertices of a level, each alone at first, and passes over them.
class DeviceMover {
 public:
  DeviceMover(const DeviceLevel& level, const DeviceRoom& room, Stream stream)
      : level_(level),
        room_(room),
        stream_(stream),
        n_(level.vertices),
        found_{held<Index>(n_, stream), held<std::int64_t>(n_, stream)},
        members_(held<std::int64_t>(n_, stream)),
        waiting_(held<std::uint8_t>(n_, stream)),
        moved_(held<Index>(n_, stream)),
        wanted_(held<Index>(n_, stream)),
        counts_(held<PassCounts>(1, stream)) {
    each(n_,
         BeginAlone{level.degree.data, found_.labels.data, found_.totals.data, members_.data, waiting_.data},
         stream);
    m_ = {.lists = level.lists,
          .vertices = n_,
          .degree = level.degree.data,
          .labels = found_.labels.data,
          .total = found_.totals.data,
          .members = members_.data,
          .waiting = waiting_.data,
          .moved = moved_.data,
          .wanted = wanted_.data,
          .counts = counts_.data};
  }

  /// Vertices are in these communities instead.
  void begin_with(const Array<Index>& labels) {
    each(n_, MoveAll{labels.data, moved_.data, wanted_.data}, stream_);
    PassCounts all;
    all.moved[0] = n_;
    copy_async(counts_.data, &all, counts_.bytes(), stream_);
    PENSTOCK_ON(stream_, commit, m_, 0);
    synchronize(stream_);
  }
  void refine(const DevicePartition& within, const Array<std::int64_t>& outward) {
    m_.within = within.labels.data, m_.community = within.totals.data, m_.outward = outward.data;
  }

  DevicePartition run(MoveRule rule, const DevicePasses& passes) {
    if (passes.most == 0) return found_;
    const auto classes = classes_of(level_, stream_);
    HubRounds hubs(classes, n_, room_, stream_);
    const auto seed = rule.seed;
    for (int pass = 0; pass < passes.most; ++pass) {
      poll_interrupt();
      rule.seed = drawn(seed, static_cast<std::uint64_t>(pass));
      m_.all = m_.within || pass == 0;  // most of them move
      if (m_.within) fill_async(waiting_.data, 1, waiting_.bytes(), stream_);
      hubs.deal(rule);
      fill_async(counts_.data, 0, counts_.bytes(), stream_);
      for (int round = 0; round < rule.rounds; ++round) look(classes, hubs, rule, round);
      const auto found = fetch(counts_.data, stream_);
      std::int64_t now = 0;
      for (const auto one : found.moved) now += one;
      found_.moved += now;
      if (now == 0) break;
      if (!rule.propagates && static_cast<double>(found.gain) / kGainUnits < passes.tolerance) break;
    }
    return found_;
  }

 private:
  void look(const Classes& classes, const HubRounds& hubs, const MoveRule& rule, int round) const {
    for (int c = 0; c < kClasses - 1; ++c) {
      const auto first = classes.first[at(c)];
      PENSTOCK_ON(stream_, look, m_, rule, round, classes.vertices.data + first,
                  classes.first[at(c + 1)] - first, c);
    }
    hubs.look(m_, rule, round);
    PENSTOCK_ON(stream_, commit, m_, round);
    if (m_.all && !m_.within) return;
    PENSTOCK_ON(stream_, wake, m_, round);
    hubs.wake(m_, round);
  }

  const DeviceLevel& level_;
  DeviceRoom room_;
  Stream stream_;
  std::int64_t n_;
  DevicePartition found_;
  Array<std::int64_t> members_;
  Array<std::uint8_t> waiting_;
  Array<Index> moved_, wanted_;
  Array<PassCounts> counts_;
  DeviceMoves m_;
};

}  // namespace

DevicePartition move_on(const DeviceLevel& level, const MoveRule& rule, const DevicePasses& passes,
                        const DeviceRoom& room, Stream stream, const Array<Index>& start) {
  DeviceMover mover(level, room, stream);
  if (start.size > 0) mover.begin_with(start);
  return mover.run(rule, passes);
}

DevicePartition refine_on(const DeviceLevel& level, const DevicePartition& within, const MoveRule& rule,
                          const DeviceRoom& room, Stream stream) {
  const auto outward = held<std::int64_t>(level.vertices, stream);
  PENSTOCK_ON(stream, add_inner, level.lists, level.vertices, within.labels.data, outward.data);
  const auto inside = add_all(outward, stream);
  DeviceMover mover(level, room, stream);
  mover.refine(within, outward);
  auto parts = mover.run(rule, {.most = inside > 0 ? kRefiningPasses : 0});
  parts.inside = inside;
  return parts;
}

}  // namespace penstock::community
