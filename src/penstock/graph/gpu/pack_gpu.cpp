// Packs lists on a device (pack_gpu.hpp). The matrix comes in pieces of whole groups of 64 vertices, three of which are there at once: while
// two travel, the one before is packed. First each list's bits are counted, by the text that the CPU packs with too; sums over
// groups say where lists begin; then the bits are written (packed_steps.hpp). The tables are chosen before, by some lists that the
// CPU reads while the first pieces travel.
#include "penstock/graph/gpu/pack_gpu.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
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
constexpr std::int64_t kAlways = 64;  // groups that a piece may have, however small
constexpr int kSlots = 3;
constexpr std::int64_t kBytesOfEntry = 24;  // more than pieces take for each

/// Bytes that pieces take on the device, what is computed of them included.
std::int64_t bytes_of_pieces(std::int64_t entries, std::int64_t vertices) {
  const auto longs = entries / kPackedWhole + 1;
  return kSlots * (4 * entries + 8 * (vertices + 1)) + 9 * vertices + 8 * (vertices / kPackedGroup + 2) +
         40 * longs;
}

template <class T>
std::shared_ptr<T> scratch_for(std::int64_t count, Stream stream) {
  return std::static_pointer_cast<T>(
      allocate_scratch(std::max<std::int64_t>(1, count) * std::int64_t(sizeof(T)), stream));
}

/// Vertices [first, last), and the long ones among them: counted from the first, with the number of their parts before each.
struct HostPiece {
  std::int64_t first = 0, last = 0;
  Offset begin = 0, end = 0;
  std::vector<Index> longs = {};
  std::vector<Offset> parts = {0};
};

class DevicePacker {
 public:
  DevicePacker(const Array<const Offset>& offsets, const Array<const Index>& columns, Stream stream,
               const PackGpuOptions& options)
      : offsets_(offsets), columns_(columns), stream_(stream), copies_(stream.where), options_(options) {
    n_ = offsets.size - 1;
    groups_ = (n_ + kPackedGroup - 1) / kPackedGroup;
    here_ = device_place(stream.where);
  }
  ~DevicePacker() {
    drain(copies_);
    drain(stream_);
  }
  DevicePacker(const DevicePacker&) = delete;
  DevicePacker& operator=(const DevicePacker&) = delete;

  std::optional<PackedOnGpu> run(std::string* why) {
    const auto begin = Clock::now();
    const CsrView<One> graph{
        .rows = n_, .cols = n_, .indptr = offsets_.data, .indices = columns_.data, .count = columns_.size};
    bool done = prepare() && pack(graph, false);
    if (!done && meets_repeats_) done = prepare() && pack(graph, true);
    if (!done) {
      *why = why_;
      return {};
    }
    if (out_.long_words > 0)
      each(groups_ + 1, AddToBases{out_.bases.data, std::uint64_t(out_.long_words)}, stream_);
    synchronize(stream_);
    out_.seconds = since(begin);
    return std::move(out_);
  }

 private:
  bool fails(std::string why) {
    why_ = std::move(why);
    return false;
  }

  /// Sizes of pieces, and the memory that does not depend on the sample.
  bool prepare() {
    const auto fixed = 4 * n_ + 8 * (groups_ + 1);
    auto entries = options_.piece_bytes / 4;
    if (entries <= 0) {  // what searches take later is free until then
      const auto later = n_ * kVertexBytes + kPackedRoom;
      const auto spare = std::int64_t(double(options_.memory) * (kSpare - 1)) + 16 * kSpareWords;
      entries = std::clamp<std::int64_t>((later - spare) / kBytesOfEntry, kLeastEntries, kPieceEntries);
    }
    entries_ = std::min(std::max(entries, largest_group()), std::max<std::int64_t>(1, columns_.size));
    vertices_ = std::min(std::max(entries_ / kVerticesShare, kAlways * kPackedGroup) / kPackedGroup,
                         std::max<std::int64_t>(1, groups_)) *
                kPackedGroup;
    room_ = options_.memory - fixed - bytes_of_pieces(entries_, vertices_);
    if (room_ < 0) return fails("the GPU's budget has no room for pieces of the matrix");
    out_ = {.vertices = n_, .edges = columns_.size, .link_bytes = out_.link_bytes};
    out_.bases = allocate<std::uint64_t>(groups_ + 1, here_);
    out_.heads = allocate<std::uint32_t>(n_, here_);
    for (auto& slot : slots_) {
      slot.offsets = scratch_for<Offset>(vertices_ + 1, stream_);
      slot.columns = scratch_for<Index>(entries_, stream_);
      record(slot.free, stream_);
    }
    info_ = scratch_for<std::uint8_t>(vertices_, stream_);
    edges_ = scratch_for<std::uint32_t>(2 * vertices_, stream_);
    before_ = scratch_for<Offset>(vertices_ / kPackedGroup + 1, stream_);
    return true;
  }

  std::int64_t largest_group() const {
    std::atomic<std::int64_t> most = 0;
    parallel_ranges(groups_, 4096, [&](std::int64_t g, std::int64_t last) {
      std::int64_t own = 0;
      for (; g < last; ++g) own = std::max(own, offsets_.data[end_of(g)] - offsets_.data[g * kPackedGroup]);
      auto held = most.load();
      while (own > held && !most.compare_exchange_weak(held, own)) {}
    });
    return most;
  }
  std::int64_t end_of(std::int64_t group) const { return std::min(n_, (group + 1) * kPackedGroup); }

  bool pack(const CsrView<One>& graph, bool repeats) {
    PartUpload offsets(as_bytes(offsets_), copies_), columns(as_bytes(columns_), copies_);
    HostPiece pieces[kSlots];
    std::int64_t sent = 0;  // vertices
    const auto send_next = [&](int slot) {
      pieces[slot] = {.first = sent, .last = sent};
      if (!cut(pieces[slot])) return false;
      sent = pieces[slot].last;
      send(pieces[slot], slots_[slot], offsets, columns);
      return true;
    };
    for (int slot = 0; slot < kSlots; ++slot)
      if (!send_next(slot)) return false;
    const auto sample = sample_lists(graph, 0, n_, repeats);
    code_ = sample.code;
    out_.repeats = sample.repeats, out_.table_bits = code_.table_bits;
    std::copy_n(code_.tables, kPackedTables, out_.tables);
    const auto first = [&](std::int64_t words) { return std::int64_t(double(words) * kSpare) + kSpareWords; };
    if (!grow(out_.lists, 0, first(sample.list_words())) || !grow(out_.longs, 0, first(sample.long_words())))
      return false;
    for (int slot = 0; pieces[slot].first < pieces[slot].last; slot = (slot + 1) % kSlots) {
      if (!pack_piece(pieces[slot], slots_[slot])) return false;
      record(slots_[slot].free, stream_);
      if (!send_next(slot)) return false;
    }
    // What readers may touch behind the last word.
    fill_async(out_.lists.data + out_.list_words, 0, 4 * kPackedPad, stream_);
    fill_async(out_.longs.data + out_.long_words, 0, 4 * kPackedPad, stream_);
    if (n_ == 0) fill_async(out_.bases.data, 0, 8, stream_);
    return true;
  }

  /// The next piece: as many groups as fit, from next.first on. Looks at its offsets.
  bool cut(HostPiece& next) {
    const auto* const at = offsets_.data;
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
        piece.begin < 0 || piece.end > columns_.size || piece.end - piece.begin > entries_;
    const auto* const at = offsets_.data + piece.first;
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

  struct Slot {
    explicit Slot(Where where) : copied(where), free(where) {}
    std::shared_ptr<Offset> offsets;
    std::shared_ptr<Index> columns;
    OwnedEvent copied, free;
  };

  void send(const HostPiece& piece, const Slot& slot, PartUpload& offsets, PartUpload& columns) {
    if (piece.first == piece.last) return;
    wait(copies_, slot.free);
    const auto there = 8 * (piece.last - piece.first + 1), bytes = 4 * (piece.end - piece.begin);
    offsets.copy(slot.offsets.get(), 8 * piece.first, there);
    columns.copy(slot.columns.get(), 4 * piece.begin, bytes);
    out_.link_bytes += there + bytes;
    record(slot.copied, copies_);
  }

  bool pack_piece(const HostPiece& piece, const Slot& slot) {
    const auto count = piece.last - piece.first, groups = (count + kPackedGroup - 1) / kPackedGroup;
    const RowPiece rows{.offsets = slot.offsets.get(),
                        .columns = slot.columns.get(),
                        .base = piece.begin,
                        .first = Index(piece.first),
                        .vertices = count,
                        .cols = n_};
    auto* const heads = out_.heads.data + piece.first;
    const auto longs = place_long(piece);
    wait(stream_, slot.copied);
    each(count, SizeLists{rows, code_, heads, info_.get()}, stream_);
    each(groups + 1, PlaceLists{count, groups, heads, info_.get(), before_.get()}, stream_);
    prefix_sums(before_.get(), groups + 1, stream_);
    if (longs.count > 0) {
      each(longs.parts + 1, SizeLong{rows, code_, longs}, stream_);
      prefix_sums(longs.words, longs.parts + 1, stream_);
    }
    Offset words = 0, long_words = 0;
    copy_async(&words, before_.get() + groups, sizeof words, stream_);
    if (longs.count > 0) copy_async(&long_words, longs.words + longs.parts, sizeof long_words, stream_);
    synchronize(stream_);
    if (words >= kFault || long_words >= kFault) return explain_fault(piece);
    if (longs.count > 0) long_words += longs.parts;  // the directories
    const auto done = double(piece.end) / double(std::max<Offset>(1, columns_.size));
    if (!ensure(out_.lists, out_.list_words, words, done) ||
        !ensure(out_.longs, out_.long_words, long_words, done))
      return false;
    auto* const to = out_.lists.data + out_.list_words;
    each(count, WriteLists{rows, code_, longs, heads, info_.get(), before_.get(), to, edges_.get()}, stream_);
    each(groups,
         WriteEdges{count, heads, edges_.get(), before_.get(), to,
                    out_.bases.data + piece.first / kPackedGroup, out_.list_words},
         stream_);
    if (longs.count > 0) each(longs.parts, WriteLong{rows, code_, longs, out_.longs.data}, stream_);
    out_.list_words += words, out_.long_words += long_words;
    if (piece.last == n_) {
      last_base_ = std::uint64_t(out_.list_words);
      copy_async(out_.bases.data + groups_, &last_base_, sizeof last_base_, stream_);
    }
    return true;
  }

  LongLists place_long(const HostPiece& piece) {
    const auto count = std::ssize(piece.longs);
    if (count == 0) return {};
    const auto parts = piece.parts.back();
    long_vertices_ = scratch_for<Index>(count, stream_);
    long_parts_ = scratch_for<Offset>(count + 1, stream_);
    long_words_ = scratch_for<Offset>(parts + 1, stream_);
    long_table_ = scratch_for<std::uint8_t>(parts, stream_);
    copy_async(long_vertices_.get(), piece.longs.data(), 4 * count, stream_);
    copy_async(long_parts_.get(), piece.parts.data(), 8 * (count + 1), stream_);
    return {.vertices = long_vertices_.get(),
            .first_part = long_parts_.get(),
            .count = count,
            .parts = parts,
            .words = long_words_.get(),
            .table = long_table_.get(),
            .before = out_.long_words};
  }

  /// What is wrong with a piece: a column twice, or what only the CPU packs or refuses.
  bool explain_fault(const HostPiece& piece) {
    std::atomic<bool> other = false;
    parallel_ranges(piece.last - piece.first, 1024, [&](std::int64_t i, std::int64_t last) {
      for (; i < last; ++i) {
        const auto* const at = offsets_.data + piece.first + i;
        const auto* const list = columns_.data + at[0];
        const auto size = at[1] - at[0];
        if (!std::is_sorted(list, list + size) || (size > 0 && (list[0] < 0 || list[size - 1] >= n_)))
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
    const auto expected = std::int64_t(double(wanted) * kSpare / std::max(done, 1e-3)) + kSpareWords;
    return grow(words, used, expected) || grow(words, used, wanted);
  }
  bool grow(Array<std::uint32_t>& words, std::int64_t used, std::int64_t most) {
    const auto bytes = 4 * (most + kPackedPad);
    if (bytes > room_) return fails("the packed lists exceed the room that is left of the GPU's budget");
    auto more = allocate<std::uint32_t>(most + kPackedPad, here_);
    if (used > 0) {
      copy_async(more.data, words.data, 4 * used, stream_);
      synchronize(stream_);
    }
    room_ += words.bytes() - bytes;
    words = std::move(more);
    return true;
  }

  Array<const Offset> offsets_;
  Array<const Index> columns_;
  Stream stream_;
  OwnedStream copies_;
  PackGpuOptions options_;
  Place here_;
  std::int64_t n_ = 0, groups_ = 0, entries_ = 0, vertices_ = 0;
  std::int64_t room_ = 0;  // bytes of the device that words may still take
  PackedCode code_;
  PackedOnGpu out_;
  Slot slots_[kSlots] = {Slot(stream_.where), Slot(stream_.where), Slot(stream_.where)};
  std::shared_ptr<std::uint8_t> info_, long_table_;
  std::shared_ptr<std::uint32_t> edges_;
  std::shared_ptr<Offset> before_, long_parts_, long_words_;
  std::shared_ptr<Index> long_vertices_;
  std::uint64_t last_base_ = 0;
  bool meets_repeats_ = false;
  std::string why_;
};

}  // namespace

PackedListsView PackedOnGpu::view() const {
  PackedListsView out{.vertices = vertices,
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
  return DevicePacker(offsets, columns, stream, options).run(why);
}

PackedLists to_host(const PackedOnGpu& there, Stream stream) {
  PackedLists out;
  out.vertices = there.vertices, out.edges = there.edges;
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
