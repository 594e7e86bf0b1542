// Passes over the vertices of a level. In each round those whose turn it is look around at once and then move together; the seed
// deals them to rounds anew for every pass, so that neighbours rarely move at once, and never do so for long.
#include <algorithm>
#include <array>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/community/device_level_run.hpp"
#include "penstock/graph/community/device_steps.hpp"

namespace penstock::community {
namespace {

constexpr std::int64_t kHubSlotBytes = sizeof(Index) + sizeof(std::int64_t);
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
    for (const auto& hubs : batches_[at(round)]) PENSTOCK_ON(stream_, wake_of_hubs, m, hubs);
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

}  // namespace

DevicePartition move_on(const DeviceLevel& level, MoveRule rule, const DevicePasses& passes,
                        const DeviceRoom& room, Stream stream) {
  const auto n = level.vertices;
  const auto seed = rule.seed;
  DevicePartition out{held<Index>(n, stream), held<std::int64_t>(n, stream)};
  const auto members = held<std::int64_t>(n, stream);
  const auto waiting = held<std::uint8_t>(n, stream);
  const auto moved = held<Index>(n, stream), wanted = held<Index>(n, stream);
  const auto counts = held<PassCounts>(1, stream);
  each(n, BeginAlone{level.degree.data, out.labels.data, out.totals.data, members.data, waiting.data},
       stream);
  const auto classes = classes_of(level, stream);
  HubRounds hubs(classes, n, room, stream);
  DeviceMoves m{.lists = level.lists,
                .vertices = n,
                .degree = level.degree.data,
                .labels = out.labels.data,
                .total = out.totals.data,
                .members = members.data,
                .waiting = waiting.data,
                .moved = moved.data,
                .wanted = wanted.data,
                .counts = counts.data};
  for (int pass = 0; pass < passes.most; ++pass) {
    poll_interrupt();
    rule.seed = drawn(seed, static_cast<std::uint64_t>(pass));
    m.all = pass == 0;  // most of them move
    hubs.deal(rule);
    fill_async(counts.data, 0, counts.bytes(), stream);
    for (int round = 0; round < rule.rounds; ++round) {
      for (int c = 0; c < kClasses - 1; ++c) {
        const auto first = classes.first[at(c)];
        PENSTOCK_ON(stream, look, m, rule, round, classes.vertices.data + first,
                    classes.first[at(c + 1)] - first, c);
      }
      hubs.look(m, rule, round);
      PENSTOCK_ON(stream, commit, m, round);
      if (m.all) continue;
      PENSTOCK_ON(stream, wake, m, round);
      hubs.wake(m, round);
    }
    const auto found = fetch(counts.data, stream);
    std::int64_t now = 0;
    for (const auto one : found.moved) now += one;
    out.moved += now;
    if (now == 0) break;
    if (!rule.propagates && static_cast<double>(found.gain) / kGainUnits < passes.tolerance) break;
  }
  return out;
}

}  // namespace penstock::community
