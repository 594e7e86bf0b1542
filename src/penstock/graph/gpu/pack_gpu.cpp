// Packs lists on a device (pack_gpu.hpp). The matrix comes in pieces of whole groups of 64 vertices, three of which are there at once, on
// streams of their own: while one travels, others are packed. First each list's bits are counted, by the text that the CPU packs with too; sums over
// groups say where lists begin; then the bits are written (packed_steps.hpp). The tables are chosen before, by some lists that the
// CPU reads while the first pieces travel.
#include "penstock/graph/gpu/pack_gpu.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/graph/gpu/graph_room.hpp"
#include "penstock/graph/gpu/packed_steps.hpp"
#include "penstock/graph/gpu/packed_tables.hpp"
#include "penstock/graph/gpu/upload.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kPieceEntries = 8 << 20;   // 0.6 ms of a link of 55 GB/s
constexpr std::int64_t kLeastEntries = 64 << 10;  // smaller pieces are all waits
constexpr std::int64_t kVerticesShare = 4;        // a piece has a vertex for so many entries at most
constexpr double kSpare = 1.02;                   // of what a sample promises
constexpr std::int64_t kSpareWords = 16 << 10;
constexpr std::int64_t kAlways = 64;        // groups that a piece may have, however small
constexpr int kSlots = 3;                   // five took 1.5 ms more of 30 (H100)
constexpr std::int64_t kBytesOfEntry = 14;  // more than pieces take for each

/// Bytes that pieces take on the device, what is computed of them included.
std::int64_t bytes_of_pieces(std::int64_t entries, std::int64_t vertices) {
  const auto longs = entries / kPackedWhole + 1;
  return kSlots * (4 * entries + vertices + 8 * (vertices / kPackedGroup + 4) + 40 * longs);
}

template <class T>
std::shared_ptr<T> scratch_for(std::int64_t count, Stream stream) {
  return std::static_pointer_cast<T>(
      allocate_scratch(std::max<std::int64_t>(1, count) * std::int64_t(sizeof(T)), stream));
}

/// Vertices [first, last) of the range, and the long ones among them: counted from the first, with the number of their parts before each.
struct HostPiece {
  std::int64_t first = 0, last = 0;
  Offset begin = 0, end = 0;
  bool is_empty() const { return first == last; }
  std::vector<Index> longs = {};
  std::vector<Offset> parts = {0};
};

class DevicePacker {
 public:
  DevicePacker(const Array<const Offset>& offsets, const Array<const Index>& columns, Stream stream,
               const PackGpuOptions& options)
      : graph_{.rows = offsets.size - 1,
               .cols = offsets.size - 1,
               .indptr = offsets.data,
               .indices = columns.data,
               .count = columns.size},
        own_offsets_(offsets.slice(options.first,
                                   options.count < 0 ? offsets.size - options.first : options.count + 1)),
        offsets_(own_offsets_.data),
        columns_(columns),
        stream_(stream),
        copies_(stream.where),
        options_(options) {
    n_ = own_offsets_.size - 1;
    begin_ = n_ > 0 ? std::clamp<Offset>(offsets_[0], 0, columns.size) : 0;
    const auto end = n_ == graph_.rows ? columns.size : n_ > 0 ? offsets_[n_] : 0;
    edges_ = std::clamp<Offset>(end - begin_, 0, columns.size - begin_);
    groups_ = (n_ + kPackedGroup - 1) / kPackedGroup;
    here_ = device_place(stream.where);
  }
  ~DevicePacker() {
    drain(copies_);
    for (const auto& slot : slots_) drain(slot.stream);
    drain(stream_);
  }
  DevicePacker(const DevicePacker&) = delete;
  DevicePacker& operator=(const DevicePacker&) = delete;

  std::optional<PackedOnGpu> run(std::string* why) {
    const auto begin = Clock::now();
    bool done = prepare() && pack(false);
    if (!done && meets_repeats_) done = prepare() && pack(true);
    if (!done) {
      *why = why_;
      return {};
    }
    if (out_.long_words > 0)
      each(groups_ + 1, AddToBases{out_.bases.data, std::uint64_t(out_.long_words)}, stream_);
    synchronize(stream_);
    out_.seconds = since(begin), out_.parts = parts_;
    return std::move(out_);
  }

 private:
  struct Slot;

  bool fails(std::string why) {
    why_ = std::move(why);
    return false;
  }

  /// Sizes of pieces, and the memory that does not depend on the sample.
  bool prepare() {
    const ScopedTimer timer(&parts_.prepare);
    drain(copies_);
    for (auto& slot : slots_) {  // of a pass that met a column twice
      drain(slot.stream);
      slot.columns = {}, slot.info = {}, slot.before = {};
    }
    all_offsets_ = {};
    const auto fixed = 8 * (n_ + 1) + 4 * n_ + 8 * (groups_ + 1);
    auto entries = options_.piece_bytes / 4;
    if (entries <= 0) {  // what searches take later is free until then
      const auto later = n_ * (kVertexBytes - 8) + kPackedRoom;
      const auto spare = 4 * edges_ / 50 + 16 * kSpareWords;  // more than kSpare of what is packed
      entries = std::clamp<std::int64_t>((later - spare) / kBytesOfEntry, kLeastEntries, kPieceEntries);
    }
    const auto all = std::max<std::int64_t>(1, edges_);
    entries_ = std::min(std::max(entries, largest_group()), all);
    const auto usual = std::int64_t(2.0 * double(n_) * (double(entries_) / double(all)));
    const auto most = std::max(std::min(entries_ / kVerticesShare, usual), kAlways * kPackedGroup);
    vertices_ = std::min(most / kPackedGroup, std::max<std::int64_t>(1, groups_)) * kPackedGroup;
    room_ = options_.memory - fixed - bytes_of_pieces(entries_, vertices_);
    if (room_ < 0) return fails("the GPU's budget has no room for pieces of the matrix");
    out_ = {.vertices = n_, .first = options_.first, .edges = edges_, .link_bytes = out_.link_bytes};
    out_.bases = allocate<std::uint64_t>(groups_ + 1, here_);
    out_.heads = allocate<std::uint32_t>(n_, here_);
    for (auto& slot : slots_) {
      slot.columns = scratch_for<Index>(entries_, slot.stream);
      slot.info = scratch_for<std::uint8_t>(vertices_, slot.stream);
      slot.before = scratch_for<Offset>(vertices_ / kPackedGroup + 1, slot.stream);
      record(slot.free, slot.stream);
    }
    const Place pinned{stream_.where.is_gpu() ? Memory::pinned : Memory::host, 0};
    if (!totals_)
      totals_ = std::static_pointer_cast<Offset>(reuse_bytes(2 * kSlots * sizeof(Offset), pinned));
    all_offsets_ = scratch_for<Offset>(n_ + 1, copies_);
    return true;
  }

  /// Memory for the words, by what the sample says, or all that is left.
  bool take_words(const PackedSample& sample) {
    const auto with_spare = [](std::int64_t words) {
      return std::int64_t(double(words) * kSpare) + kSpareWords;
    };
    auto lists = with_spare(sample.list_words()), longs = with_spare(sample.long_words());
    const auto most = std::max<std::int64_t>(0, room_ / 4 - 2 * kPackedPad);
    if (lists + longs > most) {
      lists = std::int64_t(double(most) * (double(lists) / double(lists + longs)));
      longs = most - lists;
    }
    return grow(out_.lists, 0, lists) && grow(out_.longs, 0, longs);
  }

  /// Gives spare memory back if the lists may not keep it.
  bool trim() {
    const auto most = options_.words;
    if (most <= 0 || out_.word_bytes() <= most) return true;
    for (auto& slot : slots_) slot.columns = {};
    room_ += kSlots * 4 * entries_;
    return grow(out_.lists, out_.list_words, out_.list_words) &&
           grow(out_.longs, out_.long_words, out_.long_words) &&
           (out_.word_bytes() <= most || fails("the packed lists exceed what the GPU's budget has for them"));
  }

  std::int64_t largest_group() const {
    std::atomic<std::int64_t> most = 0;
    parallel_ranges(groups_, 4096, [&](std::int64_t g, std::int64_t last) {
      std::int64_t own = 0;
      for (; g < last; ++g) own = std::max(own, offsets_[end_of(g)] - offsets_[g * kPackedGroup]);
      auto held = most.load();
      while (own > held && !most.compare_exchange_weak(held, own)) {}
    });
    return most;
  }
  std::int64_t end_of(std::int64_t group) const { return std::min(n_, (group + 1) * kPackedGroup); }

  bool pack(bool repeats) {
    const bool inside = n_ < graph_.rows;
    PartUpload offsets(as_bytes(own_offsets_), copies_, inside);
    PartUpload columns(as_bytes(columns_.slice(begin_, edges_)), copies_, inside);
    send_offsets(offsets);
    std::int64_t sent = 0;  // vertices
    const auto send_next = [&](Slot& slot) {
      slot.piece = {.first = sent, .last = sent};
      if (!cut(slot)) return false;
      sent = slot.piece.last;
      send(slot, columns);
      return true;
    };
    for (auto& slot : slots_)
      if (!send_next(slot)) return false;
    const auto sample = [&] {
      const ScopedTimer timer(&parts_.sample);
      return sample_lists(graph_, options_.first, n_, repeats);
    }();
    code_ = sample.code;
    out_.repeats = sample.repeats, out_.table_bits = code_.table_bits;
    std::copy_n(code_.tables, kPackedTables, out_.tables);
    for (auto& slot : slots_) size_piece(slot);
    if (!take_words(sample)) return false;
    for (int i = 0; !slots_[i].piece.is_empty(); i = (i + 1) % kSlots) {
      auto& slot = slots_[i];
      if (!write_piece(slot)) return false;
      record(slot.free, slot.stream);
      if (!send_next(slot)) return false;
      size_piece(slot);
    }
    const ScopedTimer timer(&parts_.finish);
    for (const auto& slot : slots_) synchronize(slot.stream);
    if (!trim()) return false;
    // What readers may touch behind the last word.
    fill_async(out_.lists.data + out_.list_words, 0, 4 * kPackedPad, stream_);
    fill_async(out_.longs.data + out_.long_words, 0, 4 * kPackedPad, stream_);
    if (n_ == 0) fill_async(out_.bases.data, 0, 8, stream_);
    return true;
  }

  /// The next piece: as many groups as fit, from next.first on. Looks at its offsets.
  bool cut(Slot& slot) {
    const ScopedTimer timer(&parts_.look);
    auto& next = slot.piece;
    const auto* const at = offsets_;
    const auto first = next.first / kPackedGroup, most = std::min(groups_, first + vertices_ / kPackedGroup);
    auto low = std::min(groups_, first + 1), high = most;  // a group fits
    while (low < high) {
      const auto middle = low + (high - low + 1) / 2;
      if (at[std::min(n_, middle * kPackedGroup)] - at[next.first] <= entries_) low = middle;
      else high = middle - 1;
    }
    next.last = std::min(n_, low * kPackedGroup);
    next.begin = at[next.first], next.end = at[next.last];
    return look_at(next);
  }

  /// Finds the long lists of a piece, in order.
  bool look_at(HostPiece& piece) {
    constexpr std::int64_t kRange = 1 << 14;
    const auto count = piece.last - piece.first;
    std::vector<std::vector<Index>> found(std::size_t((count + kRange - 1) / kRange));
    std::atomic<bool> bad =
        piece.begin < begin_ || piece.end > begin_ + edges_ || piece.end - piece.begin > entries_;
    const auto* const at = offsets_ + piece.first;
    parallel_ranges(count, kRange, [&](std::int64_t i, std::int64_t last) {
      auto& own = found[std::size_t(i / kRange)];
      for (; i < last; ++i) {
        if (at[i] > at[i + 1]) bad.store(true, std::memory_order_relaxed);
        if (at[i + 1] - at[i] > kPackedWhole) own.push_back(Index(i));
      }
    });
    if (bad) return fails("the offsets descend");
    for (const auto& own : found)
      for (const auto i : own) {
        piece.longs.push_back(i);
        piece.parts.push_back(piece.parts.back() + (at[i + 1] - at[i] + kPackedPiece - 1) / kPackedPiece);
      }
    return true;
  }

  /// A piece on its way, and what is computed of it on the device.
  struct Slot {
    explicit Slot(Where where) : stream(where), copied(where), free(where) {}
    OwnedStream stream;
    OwnedEvent copied, free;
    HostPiece piece;
    ListRange rows;
    LongLists longs;
    std::shared_ptr<Index> columns;
    std::shared_ptr<std::uint8_t> info;
    std::shared_ptr<Offset> before;
    std::shared_ptr<Index> long_vertices;
    std::shared_ptr<Offset> long_parts, long_words;
    std::shared_ptr<std::uint8_t> long_table;
  };
  std::int64_t count(const Slot& slot) const { return slot.piece.last - slot.piece.first; }
  std::int64_t groups(const Slot& slot) const { return (count(slot) + kPackedGroup - 1) / kPackedGroup; }
  std::uint32_t* heads(const Slot& slot) const { return out_.heads.data + slot.piece.first; }
  Offset* totals(const Slot& slot) const { return totals_.get() + 2 * (&slot - slots_); }

  /// All of them at first, while the CPU reads the lists that the tables are chosen by.
  void send_offsets(PartUpload& offsets) {
    const ScopedTimer timer(&parts_.send);
    const auto bytes = 8 * (n_ + 1);
    offsets.copy(all_offsets_.get(), 0, bytes);
    out_.link_bytes += bytes;
  }

  void send(Slot& slot, PartUpload& columns) {
    const ScopedTimer timer(&parts_.send);
    const auto& piece = slot.piece;
    if (piece.is_empty()) return;
    wait(copies_, slot.free);
    const auto bytes = 4 * (piece.end - piece.begin);
    columns.copy(slot.columns.get(), 4 * (piece.begin - begin_), bytes);
    out_.link_bytes += bytes;
    record(slot.copied, copies_);
  }

  /// Queues the counts of bits, the sums of which reach totals().
  void size_piece(Slot& slot) {
    if (slot.piece.is_empty()) return;
    place_long(slot);
    wait(slot.stream, slot.copied);
    slot.rows = {.offsets = all_offsets_.get() + slot.piece.first,
                 .columns = slot.columns.get(),
                 .base = slot.piece.begin,
                 .first = Index(options_.first + slot.piece.first),
                 .vertices = count(slot),
                 .cols = graph_.cols};
    const auto n = groups(slot);
    auto* const before = slot.before.get();
    each_part(count(slot), SizeLists{slot.rows, code_, heads(slot), slot.info.get()}, slot.stream);
    each(n + 1, PlaceLists{count(slot), n, heads(slot), slot.info.get(), before}, slot.stream);
    prefix_sums(before, n + 1, slot.stream);
    copy_async(totals(slot), before + n, sizeof(Offset), slot.stream);
    totals(slot)[1] = 0;
    if (slot.longs.count == 0) return;
    each_part(slot.longs.parts + 1, SizeLong{slot.rows, code_, slot.longs}, slot.stream);
    prefix_sums(slot.longs.words, slot.longs.parts + 1, slot.stream);
    copy_async(totals(slot) + 1, slot.longs.words + slot.longs.parts, sizeof(Offset), slot.stream);
  }

  /// Queues the bits, when the sums are known.
  bool write_piece(Slot& slot) {
    {
      const ScopedTimer timer(&parts_.wait);
      synchronize(slot.stream);
    }
    const auto words = totals(slot)[0];
    auto long_words = totals(slot)[1];
    if (words >= kFault || long_words >= kFault) return explain_fault(slot.piece);
    long_words += slot.longs.parts;  // the directories
    slot.longs.before = out_.long_words;
    const auto done = double(slot.piece.end - begin_) / double(std::max<Offset>(1, edges_));
    if (!ensure(out_.lists, out_.list_words, words, done) ||
        !ensure(out_.longs, out_.long_words, long_words, done))
      return false;
    auto* const to = out_.lists.data + out_.list_words;
    const auto* const before = slot.before.get();
    fill_async(to, 0, 4 * words, slot.stream);
    each_part(count(slot), WriteLists{slot.rows, code_, slot.longs, heads(slot), slot.info.get(), before, to},
              slot.stream);
    each(groups(slot),
         PlaceGroups{before, out_.bases.data + slot.piece.first / kPackedGroup, out_.list_words},
         slot.stream);
    if (slot.longs.count > 0) {
      fill_async(out_.longs.data + out_.long_words, 0, 4 * long_words, slot.stream);
      each_part(slot.longs.parts, WriteLong{slot.rows, code_, slot.longs, out_.longs.data}, slot.stream);
    }
    out_.list_words += words, out_.long_words += long_words;
    if (slot.piece.last == n_) {
      last_base_ = std::uint64_t(out_.list_words);
      copy_async(out_.bases.data + groups_, &last_base_, sizeof last_base_, slot.stream);
    }
    return true;
  }

  void place_long(Slot& slot) {
    const auto& piece = slot.piece;
    const auto n = std::ssize(piece.longs);
    slot.longs = {};
    if (n == 0) return;
    const auto parts = piece.parts.back();
    slot.long_vertices = scratch_for<Index>(n, slot.stream);
    slot.long_parts = scratch_for<Offset>(n + 1, slot.stream);
    slot.long_words = scratch_for<Offset>(parts + 1, slot.stream);
    slot.long_table = scratch_for<std::uint8_t>(parts, slot.stream);
    copy_async(slot.long_vertices.get(), piece.longs.data(), 4 * n, slot.stream);
    copy_async(slot.long_parts.get(), piece.parts.data(), 8 * (n + 1), slot.stream);
    slot.longs = {.vertices = slot.long_vertices.get(),
                  .first_part = slot.long_parts.get(),
                  .count = n,
                  .parts = parts,
                  .words = slot.long_words.get(),
                  .table = slot.long_table.get()};
  }

  /// What is wrong with a piece: a column twice, or what only the CPU packs or refuses.
  bool explain_fault(const HostPiece& piece) {
    std::atomic<bool> other = false;
    parallel_ranges(piece.last - piece.first, 1024, [&](std::int64_t i, std::int64_t last) {
      for (; i < last; ++i) {
        const auto* const at = offsets_ + piece.first + i;
        const auto* const list = columns_.data + at[0];
        const auto size = at[1] - at[0];
        if (!std::is_sorted(list, list + size) ||
            (size > 0 && (list[0] < 0 || list[size - 1] >= graph_.cols)))
          other.store(true, std::memory_order_relaxed);
      }
    });
    meets_repeats_ = !other;
    return fails("a list does not ascend, so the CPU sorts and packs the lists");
  }

  /// Room for `more` words behind `used` ones. If the sample promised too few, as many are expected of the rest as of what is done.
  bool ensure(Array<std::uint32_t>& words, std::int64_t used, std::int64_t more, double done) {
    const auto wanted = used + more;
    if (wanted + kPackedPad <= words.size) return true;
    const auto expected = std::int64_t(double(wanted) * kSpare / std::max(done, 0.05)) + kSpareWords;
    return grow(words, used, expected) || grow(words, used, wanted);
  }
  bool grow(Array<std::uint32_t>& words, std::int64_t used, std::int64_t most) {
    const auto bytes = 4 * (most + kPackedPad);
    if (bytes > room_) return fails("the packed lists exceed the room that is left of the GPU's budget");
    auto more = allocate<std::uint32_t>(most + kPackedPad, here_);
    if (used > 0) {
      for (const auto& slot : slots_) synchronize(slot.stream);  // they write to it
      copy_async(more.data, words.data, 4 * used, stream_);
      synchronize(stream_);
    }
    room_ += words.bytes() - bytes;
    words = std::move(more);
    return true;
  }

  CsrView<One> graph_;
  Array<const Offset> own_offsets_;  // of the range
  const Offset* offsets_;            // theirs
  Array<const Index> columns_;
  Stream stream_;
  OwnedStream copies_;
  PackGpuOptions options_;
  Place here_;
  std::int64_t n_ = 0, groups_ = 0, entries_ = 0, vertices_ = 0;  // entries and vertices are those of a piece
  Offset begin_ = 0, edges_ = 0;                                  // of the range
  std::int64_t room_ = 0;  // bytes of the device that words may still take
  PackedCode code_;
  PackedOnGpu out_;
  Slot slots_[kSlots] = {Slot(stream_.where), Slot(stream_.where), Slot(stream_.where)};
  std::shared_ptr<Offset> all_offsets_;  // on the device
  std::shared_ptr<Offset> totals_;       // of each slot: words of lists, and of long ones
  PackSeconds parts_;
  std::uint64_t last_base_ = 0;
  bool meets_repeats_ = false;
  std::string why_;
};

}  // namespace

PackedListsView PackedOnGpu::view() const {
  PackedListsView out{.vertices = vertices,
                      .first = std::uint32_t(first),
                      .bases = bases.data,
                      .heads = heads.data,
                      .near = longs.data,
                      .far = lists.data - long_words,
                      .near_words = long_words,
                      .table_bits = table_bits,
                      .step = repeats ? 0u : 1u,
                      .all_near = true};
  std::copy_n(tables, kPackedTables, out.tables);
  return out;
}

std::optional<PackedOnGpu> pack_lists_on(const Array<const Offset>& offsets,
                                         const Array<const Index>& columns, Stream stream,
                                         const PackGpuOptions& options, std::string* why) {
  require(can_read(Where{}, offsets.place) && can_read(Where{}, columns.place),
          "pack_lists_on: the host cannot read the matrix");
  require(options.first >= 0 && options.first + std::max<std::int64_t>(0, options.count) < offsets.size,
          "pack_lists_on: vertices " + std::to_string(options.first) + " to " +
              std::to_string(options.first + options.count) + " reach beyond a graph of " +
              std::to_string(offsets.size - 1));
  return DevicePacker(offsets, columns, stream, options).run(why);
}

PackedLists to_host(const PackedOnGpu& there, Stream stream) {
  PackedLists out;
  out.vertices = there.vertices, out.first = there.first, out.edges = there.edges;
  const auto bases = allocate<std::uint64_t>(there.bases.size);
  const auto heads = allocate<std::uint32_t>(there.heads.size);
  const auto words = allocate<std::uint32_t>(there.long_words + there.list_words + kPackedPad);
  copy_async(bases.data, there.bases.data, bases.bytes(), stream);
  copy_async(heads.data, there.heads.data, heads.bytes(), stream);
  copy_async(words.data, there.longs.data, 4 * there.long_words, stream);
  copy_async(words.data + there.long_words, there.lists.data, 4 * (there.list_words + kPackedPad), stream);
  synchronize(stream);
  out.bases = bases, out.heads = heads, out.words = words;
  std::copy_n(there.tables, kPackedTables, out.tables);
  out.table_bits = there.table_bits, out.repeats = there.repeats, out.seconds = there.seconds;
  // A long list ends where the next one begins.
  const auto view = out.view();
  std::vector<std::int64_t> begins;
  for (std::int64_t v = 0; v < out.vertices; ++v)
    if (heads.data[v] >> kAtBits == kInPieces) begins.push_back(packed_list(view, Index(v)).at / 32);
  const auto ends = allocate<std::int64_t>(std::ssize(begins));
  for (std::size_t i = 0; i < begins.size(); ++i)
    ends.data[i] = i + 1 < begins.size() ? begins[i + 1] : there.long_words;
  out.long_ends = ends;
  return out;
}

}  // namespace penstock
