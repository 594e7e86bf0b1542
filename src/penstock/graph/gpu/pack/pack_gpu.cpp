// Packs lists on a device (pack_gpu.hpp). The matrix comes in pieces of whole groups of 64 vertices, three of which are there at once, on
// streams of their own: while one travels, others are packed. First each list's bits are counted, by the text that the CPU packs with too; sums over
// groups say where lists begin; then the bits are written (packed_steps.hpp). The tables are chosen before, by some lists that the
// CPU reads while the first pieces travel.
#include "penstock/graph/gpu/pack_gpu.hpp"

#include <algorithm>
#include <atomic>

#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/graph/gpu/graph_room.hpp"
#include "penstock/graph/gpu/pack/pack_pieces.hpp"
#include "penstock/graph/gpu/pack/pack_words.hpp"
#include "penstock/graph/gpu/packed_steps.hpp"
#include "penstock/graph/gpu/packed_tables.hpp"
#include "penstock/schedule/device/upload.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kPieceEntries = 16 << 20;  // 1.2 ms of a link of 55 GB/s
constexpr std::int64_t kLeastEntries = 64 << 10;  // smaller pieces are all waits
constexpr std::int64_t kVerticesShare = 4;        // a piece has a vertex for so many entries at most
constexpr std::int64_t kAlways = 64;              // groups that a piece may have, however small
constexpr int kSlots = 3;                         // five took 1.5 ms more of 30 (H100)
constexpr std::int64_t kVertexShare = 11;         // of a vertex of a piece: its degree, offset, info
constexpr std::int64_t kEntryShare =
    2;  // bytes, more than pieces take for each entry beside what comes of it

/// Bytes that pieces take on the device, what is computed of them included, if `entry_bytes` of each entry come there.
std::int64_t bytes_of_pieces(std::int64_t entries, std::int64_t vertices, std::int64_t entry_bytes) {
  const auto longs = entries / kPackedWhole + 1;
  return kSlots *
         (entry_bytes * entries + kVertexShare * vertices + 8 * (vertices / kPackedGroup + 5) + 40 * longs);
}

template <class T>
std::shared_ptr<T> scratch_for(std::int64_t count, Stream stream) {
  return std::static_pointer_cast<T>(
      allocate_scratch(std::max<std::int64_t>(1, count) * std::int64_t(sizeof(T)), stream));
}

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
    begin_ = std::clamp<Offset>(offsets_[0], 0, columns.size);
    const auto end = n_ == graph_.rows ? columns.size : offsets_[n_];
    edges_ = std::clamp<Offset>(end - begin_, 0, columns.size - begin_);
    groups_ = (n_ + kPackedGroup - 1) / kPackedGroup;
    here_ = device_place(stream.where);
    host_ = {.offsets = offsets_, .vertices = n_, .begin = begin_, .edges = edges_};
    require(
        !options.lengths.any() || options.lengths.values.size == columns.size * options.lengths.entry_bytes,
        "pack_lists_on: the lengths are not those of the matrix");
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
    const auto attempt = [&] { return prepare() && pack(); };
    const auto again = [&] {  // each reason once
      const bool repeats = meets_repeats_ && !repeats_;
      const bool far = memory_.exceeds() && options_.far && !expects_far_;
      const bool wider = promise_.broken();
      repeats_ |= repeats, expects_far_ |= far, exceeded_ |= far && writes_;
      if (wider) promise_.raise();
      return repeats || far || wider;
    };
    bool done = attempt();
    while (!done && again()) done = attempt();
    if (!done) return *why = why_, std::nullopt;
    if (out_.long_words > 0)
      each(groups_ + 1, AddToBases{out_.bases.data, std::uint64_t(out_.long_words)}, stream_);
    synchronize(stream_);
    out_.seconds = since(begin), out_.parts = parts_;
    return std::move(out_);
  }

 private:
  struct Slot;
  bool fails(std::string why) { return why_ = std::move(why), false; }

  /// Sizes of pieces, and the memory that does not depend on the sample.
  bool prepare() {
    const ScopedTimer timer(&parts_.prepare);
    drain(copies_), memory_.stop();
    for (auto& slot : slots_) {  // of a pass that met a column twice
      drain(slot.stream);
      slot.columns = {}, slot.lengths = {}, slot.info = {}, slot.before = {}, slot.degrees = {};
      slot.offsets = {}, slot.staged.words = {}, slot.staged.size = 0;
    }
    const auto fixed = 4 * n_ + 8 * (groups_ + 1);
    const auto all = std::max<std::int64_t>(1, edges_);
    const auto vertices_of_entry = 2.0 * double(n_) / double(all);  // of pieces with short lists
    auto entries = options_.piece_bytes / 4;
    if (entries <= 0) {  // what searches take later is free until then
      const auto later =
          options_.words > 0 ? options_.memory - fixed - options_.words : n_ * kVertexBytes + kPackedRoom;
      const auto spare = 4 * edges_ / 50 + 16 * kSpareWords;  // more than kSpare of what is packed
      const auto vertices = std::min(vertices_of_entry, 1.0 / double(kVerticesShare));
      auto of_entry =
          kSlots * sent_of_entry() + kEntryShare + std::int64_t(double(kSlots * kVertexShare) * vertices);
      if (options_.sample && options_.far && edges_ > 0) {
        const auto words = expected(*options_.sample);
        const auto bytes = 4 * (words.lists + words.longs);
        expects_far_ |= options_.words > 0 && WordMemory::bytes_with_spare(words) > options_.words;
        if (expects_far_)
          of_entry += std::int64_t(kSlots * promise_.staged(double(bytes) / double(edges_))) + 1;
      }
      entries = std::clamp<std::int64_t>((later - (expects_far_ ? 0 : spare)) / of_entry, kLeastEntries,
                                         kPieceEntries);
    }
    entries_ = std::min(std::max(entries, host_.largest_group()), all);
    const auto usual = std::int64_t(vertices_of_entry * double(entries_));
    const auto most = std::max(std::min(entries_ / kVerticesShare, usual), kAlways * kPackedGroup);
    vertices_ = std::min(most / kPackedGroup, std::max<std::int64_t>(1, groups_)) * kPackedGroup;
    room_ = options_.memory - fixed - bytes_of_pieces(entries_, vertices_, sent_of_entry());
    if (room_ < 0) return fails("the GPU's budget has no room for pieces of the matrix");
    out_ = {.vertices = n_, .first = options_.first, .edges = edges_, .link_bytes = out_.link_bytes};
    out_.lengths = options_.lengths.any();
    out_.length_bits = options_.lengths.bits, out_.length_least = options_.lengths.least;
    const Place pinned{stream_.where.is_gpu() ? Memory::pinned : Memory::host, 0};
    totals_ = std::static_pointer_cast<Offset>(reuse_bytes(2 * kSlots * (8 + vertices_), pinned));
    std::int64_t number = 0;
    out_.bases = allocate<std::uint64_t>(groups_ + 1, here_);
    out_.heads = allocate<std::uint32_t>(n_, here_);
    for (auto& slot : slots_) {
      slot.columns = scratch_for<Index>(entries_, slot.stream);
      slot.lengths = scratch_for<std::byte>(entries_ * length_bytes(), slot.stream);
      slot.info = scratch_for<std::uint8_t>(vertices_, slot.stream);
      slot.before = scratch_for<Offset>(vertices_ / kPackedGroup + 1, slot.stream);
      slot.degrees = scratch_for<std::uint16_t>(vertices_, slot.stream);
      slot.offsets = scratch_for<Offset>(vertices_ + 1, slot.stream);
      slot.host_degrees = reinterpret_cast<std::uint16_t*>(totals_.get() + 2 * kSlots) + number++ * vertices_;
      record(slot.free, slot.stream);
    }
    return true;
  }

  /// Bytes of an entry's length that come to the device, and all that come of it.
  int length_bytes() const { return options_.lengths.bits > 0 ? options_.lengths.entry_bytes : 0; }
  int sent_of_entry() const { return 4 + length_bytes(); }

  /// What the lists take, with their lengths, by some of them.
  ExpectedWords expected(const PackedSample& sample) const {
    const auto more = [&](double bits, Offset entries) {
      return sample.words(bits + double(options_.lengths.bits) * double(entries));
    };
    return {more(sample.bits, sample.entries), more(sample.long_bits, sample.long_entries)};
  }
  std::int64_t most_of_words() const { return options_.words > 0 ? std::min(options_.words, room_) : room_; }

  bool take_words(const PackedSample& sample) {
    const auto some = expected(sample);
    const auto all = some.lists + some.longs;
    // One block takes what it can hold. Of two, one may be too small while the other has room, or both larger than what may stay, which takes
    // a copy to mend: then everything would travel again.
    if (!options_.far || !(expects_far_ || WordMemory::bytes_with_spare(some) > most_of_words()))
      return memory_.take(some, room_) || lacks();
    ExpectedWords more{.lists = some.lists};
    const auto of_entry = double(all) / double(std::max<Offset>(1, edges_));
    if (const auto cut = host_.all_cut(); cut.entries > 0) {
      const auto entries = double(cut.entries), looked = double(std::min(sample.long_entries, cut.entries));
      const auto each =
          looked > 0 ? double(some.longs) * double(sample.all_looked()) / looked / double(edges_) : of_entry;
      const auto longs = entries * each * (1 + kLongSpare * (1 - looked / entries));
      more.longs = std::int64_t(promise_.longs(longs, entries)) + cut.pieces + 64;
    }
    const auto staged = std::int64_t(promise_.staged(4 * of_entry) * double(kSlots * entries_)) + (1 << 16);
    auto near = std::min(most_of_words(), room_ - staged);
    if (!expects_far_ && near < most_of_words()) return memory_.lacks_staging() || lacks();
    if (options_.leaves_sample)
      near = packed_near_room(n_, exceeded_ ? std::max(4 * all, near + 1) : 4 * all, near);
    // Where long lists leave one block no room to spare, two may do, if all fits.
    const bool fits = !exceeded_ && 4 * (all + 2 * kPackedPad) <= most_of_words();
    return memory_.take_far(more, near, room_ - near, 2 * edges_ + 5 * n_ + (1 << 10)) ||
           (fits && memory_.take(some, room_)) || lacks();
  }
  bool lacks() { return fails(memory_.why()); }
  bool pack() {
    const bool inside = n_ < graph_.rows;
    PartUpload offsets(as_bytes(own_offsets_), copies_, inside);
    PartUpload columns(as_bytes(columns_.slice(begin_, edges_)), copies_, inside);
    PartUpload lengths(options_.lengths.values.slice(begin_ * length_bytes(), edges_ * length_bytes()),
                       copies_, inside);
    std::int64_t sent = 0;  // vertices
    const auto send_next = [&](Slot& slot) {
      slot.piece = {.first = sent, .last = sent};
      {
        const ScopedTimer timer(&parts_.look);
        if (!host_.cut(slot.piece, entries_, vertices_, slot.host_degrees))
          return fails("the offsets descend");
      }
      sent = slot.piece.last;
      send(slot, offsets, columns, lengths);
      return true;
    };
    for (auto& slot : slots_)
      if (!send_next(slot)) return false;
    const auto sample = [&] {
      const ScopedTimer timer(&parts_.sample);
      auto& known = options_.sample;
      if (!known || known->repeats < repeats_)
        known = std::make_shared<const PackedSample>(sample_lists(graph_, options_.first, n_, repeats_));
      return *known;
    }();
    code_ = sample.code;
    out_.repeats = sample.repeats, out_.table_bits = code_.table_bits;
    std::copy_n(code_.tables, kPackedTables, out_.tables);
    for (auto& slot : slots_) size_piece(slot);
    if (!take_words(sample)) return false;
    writes_ = true;
    for (int i = 0; !slots_[i].piece.is_empty(); i = (i + 1) % kSlots) {
      auto& slot = slots_[i];
      if (!write_piece(slot)) return false;
      record(slot.free, slot.stream);
      if (!send_next(slot)) return false;
      size_piece(slot);
    }
    const ScopedTimer timer(&parts_.finish);
    settle();
    if (n_ == 0) fill_async(out_.bases.data, 0, 8, stream_);
    if (memory_.is_far())
      return memory_.finish_far(reinterpret_cast<std::uint32_t*>(slots_[0].columns.get()), entries_) ||
             lacks();
    if (options_.words > 0 && out_.word_bytes() > options_.words) {
      for (auto& slot : slots_) slot.columns = {}, slot.lengths = {};
      if (!memory_.trim(options_.words, kSlots * sent_of_entry() * entries_)) return lacks();
    }
    // What readers may touch behind the last word.
    fill_async(out_.lists.data + out_.list_words, 0, 4 * kPackedPad, stream_);
    fill_async(out_.longs.data + out_.long_words, 0, 4 * kPackedPad, stream_);
    out_.near_words = out_.words(), out_.near_vertices = n_;
    return true;
  }

  /// A piece on its way, and what is computed of it on the device.
  struct Slot {
    explicit Slot(Where where) : stream(where), copied(where), free(where), staged(where) {}
    OwnedStream stream;
    OwnedEvent copied, free;
    HostPiece piece;
    ListRange rows;
    LongLists longs;
    std::shared_ptr<Index> columns;
    std::shared_ptr<std::byte> lengths;
    std::uint16_t* host_degrees = nullptr;  // of the piece's lists
    std::shared_ptr<std::uint16_t> degrees;
    std::shared_ptr<Offset> offsets;  // from the first of the piece on
    std::shared_ptr<std::uint8_t> info;
    std::shared_ptr<Offset> before;
    std::shared_ptr<Index> long_vertices;
    std::shared_ptr<Offset> long_parts, long_words;
    std::shared_ptr<std::uint8_t> long_table;
    WordMemory::Staged staged;
  };
  void settle() const {
    for (const auto& slot : slots_) synchronize(slot.stream);
  }
  std::int64_t count(const Slot& slot) const { return slot.piece.last - slot.piece.first; }
  std::int64_t groups(const Slot& slot) const { return (count(slot) + kPackedGroup - 1) / kPackedGroup; }
  std::uint32_t* heads(const Slot& slot) const { return out_.heads.data + slot.piece.first; }
  Offset* totals(const Slot& slot) const { return totals_.get() + 2 * (&slot - slots_); }

  void send(Slot& slot, PartUpload& offsets, PartUpload& columns, PartUpload& lengths) {
    const ScopedTimer timer(&parts_.send);
    const auto& piece = slot.piece;
    if (piece.is_empty()) return;
    wait(copies_, slot.free);
    const auto first = piece.begin - begin_, count = piece.end - piece.begin, lists = this->count(slot);
    if (piece.narrow) copy_async(slot.degrees.get(), slot.host_degrees, 2 * lists, copies_);
    else offsets.copy(slot.offsets.get(), 8 * piece.first, 8 * (lists + 1));
    columns.copy(slot.columns.get(), 4 * first, 4 * count);
    lengths.copy(slot.lengths.get(), length_bytes() * first, length_bytes() * count);
    out_.link_bytes += sent_of_entry() * count + (piece.narrow ? 2 * lists : 8 * (lists + 1));
    record(slot.copied, copies_);
  }

  /// Queues the counts of bits, the sums of which reach totals().
  void size_piece(Slot& slot) {
    if (slot.piece.is_empty()) return;
    place_long(slot);
    wait(slot.stream, slot.copied);
    if (slot.piece.narrow) {
      each(count(slot) + 1, WidenDegrees{slot.degrees.get(), slot.offsets.get(), count(slot)}, slot.stream);
      prefix_sums(slot.offsets.get(), count(slot) + 1, slot.stream);
    }
    slot.rows = {.offsets = slot.offsets.get(),
                 .columns = slot.columns.get(),
                 .base = slot.piece.narrow ? 0 : slot.piece.begin,
                 .first = Index(options_.first + slot.piece.first),
                 .vertices = count(slot),
                 .cols = graph_.cols};
    const auto n = groups(slot);
    auto* const before = slot.before.get();
    each_part(count(slot), SizeLists{slot.rows, code_, heads(slot), slot.info.get()}, slot.stream);
    const int length_bits = options_.lengths.bits;
    each(n + 1, PlaceLists{count(slot), n, length_bits, heads(slot), slot.info.get(), before}, slot.stream);
    prefix_sums(before, n + 1, slot.stream);
    copy_async(totals(slot), before + n, sizeof(Offset), slot.stream);
    totals(slot)[1] = 0;
    if (slot.longs.count == 0) return;
    each_part(slot.longs.parts + 1, SizeLong{slot.rows, code_, slot.longs, length_bits}, slot.stream);
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
    auto* const to = memory_.lists_for(slot.staged, words, done, slot.stream);
    if (!to && memory_.is_far())
      promise_.break_staged(4 * double(words) /
                            double(std::max<Offset>(1, slot.piece.end - slot.piece.begin)));
    if (!to) return lacks();
    if (!memory_.longs_for(long_words, done)) return promise_.break_longs(memory_.is_far()), lacks();
    const auto* const before = slot.before.get();
    fill_async(to, 0, 4 * words, slot.stream);
    with_lengths(slot, [&]<class L>(const L& lengths) {
      each_part(
          count(slot),
          WriteLists<L>{slot.rows, code_, lengths, slot.longs, heads(slot), slot.info.get(), before, to},
          slot.stream);
    });
    each(groups(slot),
         PlaceGroups{before, out_.bases.data + slot.piece.first / kPackedGroup, out_.list_words},
         slot.stream);
    if (slot.longs.count > 0) {
      fill_async(out_.longs.data + out_.long_words, 0, 4 * long_words, slot.stream);
      with_lengths(slot, [&]<class L>(const L& lengths) {
        each_part(slot.longs.parts, WriteLong<L>{slot.rows, code_, lengths, slot.longs, out_.longs.data},
                  slot.stream);
      });
    }
    memory_.written(slot.staged, to, words, before, groups(slot), slot.stream);
    out_.list_words += words, out_.long_words += long_words;
    if (slot.piece.last == n_) {
      last_base_ = std::uint64_t(out_.list_words);
      copy_async(out_.bases.data + groups_, &last_base_, sizeof last_base_, slot.stream);
    }
    return true;
  }

  /// Calls f with the lengths of a piece's entries.
  template <class F>
  void with_lengths(const Slot& slot, F&& f) const {
    const auto of = [&]<class N>(N) {
      f(EdgeLengths<N>{reinterpret_cast<const N*>(slot.lengths.get()), options_.lengths.least,
                       options_.lengths.bits});
    };
    switch (length_bytes()) {
      case 0: return f(NoLengths{});
      case 1: return of(std::uint8_t());
      case 2: return of(std::uint16_t());
      default: return of(std::uint32_t());
    }
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

  CsrView<One> graph_;
  HostLists host_;                   // of the range
  Array<const Offset> own_offsets_;  // of the range
  const Offset* offsets_;            // theirs
  Array<const Index> columns_;
  Stream stream_;
  OwnedStream copies_;
  PackGpuOptions options_;
  Place here_;
  std::int64_t n_ = 0, groups_ = 0, entries_ = 0, vertices_ = 0;  // entries and vertices are those of a piece
  Offset begin_ = 0, edges_ = 0;                                  // of the range
  std::int64_t room_ = 0;                                         // bytes of the device that words may take
  PackedCode code_;
  PackedOnGpu out_;
  Slot slots_[kSlots] = {Slot(stream_.where), Slot(stream_.where), Slot(stream_.where)};
  std::shared_ptr<Offset> totals_;  // of each slot: words of lists, and of long ones
  PackSeconds parts_;
  std::uint64_t last_base_ = 0;
  WordMemory memory_{out_, stream_, [this] { settle(); }};
  StagedPromise promise_;
  bool meets_repeats_ = false, repeats_ = false, expects_far_ = false;
  bool writes_ = false, exceeded_ = false;  // lists were written, and had less room than they take
  std::string why_;
};

}  // namespace

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

}  // namespace penstock
