// The graph of the communities: vertices are sorted by community, and the entries of as many as there is room for are sorted by
// the communities of both ends and added up. Rows come in ascending order, so what chunks make is put end to end.
#include <algorithm>
#include <array>
#include <optional>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/community/device_level_run.hpp"
#include "penstock/graph/community/device_steps.hpp"

namespace penstock::community {
namespace {

// Of keys and weights twice, and the places of heads; beside them, what a sort takes.
constexpr Offset kMostChunk = 1 << 28;

struct JoinedEntries {
  Array<Index> indices;
  Array<std::int64_t> weights;
};

/// Memory that is on the device where that has room, and in pinned memory else.
class Places {
 public:
  Places(const DeviceRoom& room, Stream stream) : left_(room.bytes), stream_(stream) {}
  template <class T>
  Array<T> take(std::int64_t count) {
    const auto bytes = count * static_cast<std::int64_t>(sizeof(T));
    if (!stream_.where.is_gpu() || bytes <= left_) {
      left_ -= bytes;
      return held<T>(count, stream_);
    }
    return allocate<T>(count, {Memory::pinned, 0});
  }

 private:
  std::int64_t left_;
  Stream stream_;
};

/// The vertices of a level in the order of their communities, and the entries before each.
struct Ordered {
  Array<Index> vertices;
  Array<Offset> before;
  std::int64_t communities = 0;
};

class Joining {
 public:
  Joining(const DeviceLevel& level, const DevicePartition& found, const Ordered& ordered,
          const DeviceRoom& room, Stream stream)
      : level_(level),
        labels_(found.labels.data),
        ordered_(ordered),
        stream_(stream),
        places_({room.bytes / 2}, stream),
        bits_(bits_below(ordered.communities + 1)),
        most_(std::max(std::min({room.bytes / 2 / kChunkEntryBytes, level.entries, kMostChunk}),
                       std::min(level.entries, kLeastChunk))) {}

  ~Joining() { drain(stream_); }  // what is in pinned memory is written, and copied
  Joining(const Joining&) = delete;
  Joining& operator=(const Joining&) = delete;

  DeviceLevel run() {
    const auto count = ordered_.communities;
    auto indptr = held<Offset>(count + 1, stream_);
    fill_async(indptr.data, 0, indptr.bytes(), stream_);
    for (std::int64_t first = 0; first < level_.vertices;) first = add_chunk(first, indptr.data);
    prefix_sums(indptr.data, count + 1, stream_);
    DeviceLevel out;
    out.vertices = count;
    out.indptr = indptr;
    out.outward = outward_;
    for (const auto& piece : pieces_) out.entries += piece.indices.size;
    put_together(out);
    out.lists.view = {.vertices = count, .offsets = out.indptr.data, .edges = out.indices.data};
    out.lists.weights = out.weights.data;
    out.lists.kind = WeightKind::units;
    return out;
  }

 private:
  std::int64_t add_chunk(std::int64_t first, Offset* indptr) {
    poll_interrupt();
    const auto cut = held<std::int64_t>(3, stream_);
    each(1, CutChunk{ordered_.before.data, first, level_.vertices, most_, cut.data}, stream_);
    std::array<std::int64_t, 3> found{};
    copy_async(found.data(), cut.data, cut.bytes(), stream_);
    synchronize(stream_);
    const auto [last, begin, end] = found;
    if (const auto n = end - begin; n > 0) {
      EmitTo to{.order = ordered_.vertices.data,
                .before = ordered_.before.data,
                .first = first,
                .last = last,
                .begin = begin,
                .end = end,
                .labels = labels_,
                .bits = bits_};
      reduce(to, n, indptr);
    }
    return last;
  }

  void reduce(EmitTo& to, Offset n, Offset* indptr) {
    make_room(n);
    keys_->first = all_keys_[0].slice(0, n), keys_->second = all_keys_[1].slice(0, n);
    weights_->first = all_weights_[0].slice(0, n), weights_->second = all_weights_[1].slice(0, n);
    to.keys = keys_->first.data, to.weights = weights_->first.data;
    PENSTOCK_ON(stream_, emit, level_.lists, to);
    sort_pairs(*keys_, *weights_, 2 * bits_, stream_);
    const auto* const keys = keys_->first.data;
    auto* const sums = weights_->first.data;
    // The other buffers are free, and have an entry more.
    auto* const heads = reinterpret_cast<Offset*>(weights_->second.data);
    auto* const places = reinterpret_cast<Offset*>(keys_->second.data);
    const auto none = no_key(bits_);
    each(n + 1, IsHead<std::uint64_t>{keys, n, none, heads}, stream_);
    prefix_sums(heads, n + 1, stream_);
    fill_async(sums + n, 0, sizeof(*sums), stream_);
    prefix_sums(sums, n + 1, stream_);
    each(n, PlaceHeads{keys, n, none, heads, places}, stream_);
    const auto entries = fetch(heads + n, stream_);
    if (entries == 0) return;
    const JoinedEntries piece{places_.take<Index>(entries), places_.take<std::int64_t>(entries)};
    each(entries, JoinEntries{keys, places, sums, bits_, piece.indices.data, piece.weights.data}, stream_);
    const auto first = fetch(keys, stream_) >> bits_;
    const auto end = fetch(places + entries, stream_);
    const auto last = fetch(keys + end - 1, stream_) >> bits_;
    outward_ += fetch(sums + end, stream_);
    each(static_cast<std::int64_t>(last - first) + 1,
         CountRows{keys, places, entries, bits_, static_cast<Index>(first), indptr}, stream_);
    pieces_.push_back(piece);
  }

  void make_room(Offset n) {
    if (keys_ && all_keys_[0].size > n) return;
    const auto size = std::max(n, most_) + 1;
    for (auto* const some : {&all_keys_[0], &all_keys_[1]})
      *some = {}, *some = held<std::uint64_t>(size, stream_);
    for (auto* const some : {&all_weights_[0], &all_weights_[1]})
      *some = {}, *some = held<std::int64_t>(size, stream_);
    if (!keys_) keys_.emplace(1, stream_), weights_.emplace(1, stream_);
  }

  void put_together(DeviceLevel& out) {
    keys_.reset(), weights_.reset();
    for (auto* const some : {&all_keys_[0], &all_keys_[1]}) *some = {};
    for (auto* const some : {&all_weights_[0], &all_weights_[1]}) *some = {};
    if (pieces_.size() == 1) {
      out.indices = pieces_[0].indices, out.weights = pieces_[0].weights;
      return;
    }
    out.indices = places_.take<Index>(out.entries), out.weights = places_.take<std::int64_t>(out.entries);
    Offset at = 0;
    for (const auto& piece : pieces_) {
      copy_async(out.indices.data + at, piece.indices.data, piece.indices.bytes(), stream_);
      copy_async(out.weights.data + at, piece.weights.data, piece.weights.bytes(), stream_);
      at += piece.indices.size;
    }
    synchronize(stream_);  // pieces may be in pinned memory
  }

  const DeviceLevel& level_;
  const Index* labels_;
  const Ordered& ordered_;
  Stream stream_;
  Places places_;
  int bits_;
  Offset most_;
  std::array<Array<std::uint64_t>, 2> all_keys_;
  std::array<Array<std::int64_t>, 2> all_weights_;
  std::optional<Buffers<std::uint64_t>> keys_;
  std::optional<Buffers<std::int64_t>> weights_;
  std::vector<JoinedEntries> pieces_;
  std::int64_t outward_ = 0;
};

}  // namespace

DeviceLevel join_on(const DeviceLevel& level, DevicePartition& found, const DeviceRoom& room, Stream stream) {
  const auto n = level.vertices;
  Ordered ordered;
  Array<std::int64_t> degree;
  {
    Buffers<std::uint32_t> keys(n, stream);
    Buffers<Index> vertices(n, stream);
    each(n, KeyByLabel{found.labels.data, keys.first.data, vertices.first.data}, stream);
    sort_pairs(keys, vertices, bits_below(n), stream);
    const auto heads = held<Offset>(n + 1, stream);
    constexpr auto kNoLabel = ~std::uint32_t{0};
    each(n + 1, IsHead<std::uint32_t>{keys.first.data, n, kNoLabel, heads.data}, stream);
    prefix_sums(heads.data, n + 1, stream);
    ordered.communities = fetch(heads.data + n, stream);
    degree = held<std::int64_t>(ordered.communities, stream);
    each(n,
         NumberCommunities{keys.first.data, vertices.first.data, heads.data, found.totals.data,
                           found.labels.data, degree.data},
         stream);
    ordered.vertices = vertices.first;
    synchronize(stream);
  }
  ordered.before = held<Offset>(n + 1, stream);
  fill_async(ordered.before.data + n, 0, sizeof(Offset), stream);
  each(n, SizesOf{level.lists, ordered.vertices.data, ordered.before.data}, stream);
  prefix_sums(ordered.before.data, n + 1, stream);
  auto out = Joining(level, found, ordered, room, stream).run();
  out.degree = degree;
  return out;
}

}  // namespace penstock::community
