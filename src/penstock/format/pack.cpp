// CSR to packed blocks (the layout is in format/packed_view.hpp). A first pass over the columns measures every block, a second
// one writes the blocks. In both, threads take blocks in any order; the bytes depend on the matrix alone.
#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/format/bits.hpp"
#include "penstock/format/pack_blocks.hpp"
#include "penstock/format/pack_values.hpp"

namespace penstock {
namespace {

// Rows of a block at most, because even empty rows take a bit each, and memory for sums.
constexpr std::int64_t kMostRows = 1 << 22;

constexpr std::int64_t up(std::int64_t n, std::int64_t align) { return (n + align - 1) / align * align; }

/// Where the sections of a block begin.
struct Layout {
  template <class V>
  Layout(const PackedBlock& b, std::int64_t words, ValueKind kind, const V*) {
    tiles = place(b.tiles() * std::int64_t(sizeof(PackedTile)));
    chunks = place(((b.rows + kChunkRows - 1) / kChunkRows + 1) * std::int64_t(sizeof(PackedChunk)));
    if (b.ranks < b.rows) present = place(up(b.rows, kChunkRows) / 8);
    this->words = place((words + 2) * 4);  // decoders read two words beyond what they need
    if (dictionary_size(kind) > 0) dictionary = place(dictionary_size(kind) * value_bytes<V>);
    if (const auto bytes = value_section_bytes(kind, value_bytes<V>, b.nnz)) values = place(bytes);
    total = up(end, kPackedAlign);
  }
  std::int64_t place(std::int64_t bytes) {
    const auto at = end;
    end = up(end + bytes, 16);
    return at;
  }
  std::int64_t end = sizeof(PackedHeader);
  std::int64_t tiles = 0, chunks = 0, present = 0, words = 0, dictionary = 0, values = 0, total = 0;
};

/// The tiles of one block, one after the other.
class Tiles {
 public:
  /// `columns`: of the block's entries.
  Tiles(const Offset* indptr, const Index* columns, const PackedBlock& b, std::uint32_t mask)
      : indptr_(indptr + b.first_row), columns_(columns), b_(b), mask_(mask) {}

  int count = 0;   // nonzeros of the tile
  int starts = 0;  // rows that begin in the tile
  std::uint32_t carry = 0;
  bool open = false;
  std::uint16_t at[kTileNnz];
  std::uint32_t gaps[kTileNnz];

  bool next() {
    const auto first = b_.first_nnz + done_;
    count = static_cast<int>(std::min<Offset>(kTileNnz, b_.nnz - done_));
    if (count == 0) return false;
    const auto* columns = columns_ + done_;
    carry = done_ > 0 ? static_cast<std::uint32_t>(columns[-1]) + 1 : 0;
    gaps[0] = (static_cast<std::uint32_t>(columns[0]) - carry) & mask_;
    for (int i = 1; i < count; ++i)
      gaps[i] =
          (static_cast<std::uint32_t>(columns[i]) - static_cast<std::uint32_t>(columns[i - 1]) - 1) & mask_;
    std::fill(gaps + count, gaps + up(count, kGroupNnz), 0u);
    find_starts(first);
    for (int i = 0; i < starts; ++i) gaps[at[i]] = static_cast<std::uint32_t>(columns[at[i]]);
    done_ += count;
    return true;
  }

  int width(int group) const {
    std::uint32_t any = 0;
    for (int i = 0; i < kGroupNnz; ++i) any |= gaps[group * kGroupNnz + i];
    return static_cast<int>(std::bit_width(any));
  }
  int groups() const { return (count + kGroupNnz - 1) / kGroupNnz; }

 private:
  void find_starts(Offset first) {
    starts = 0;
    const auto end = first + count;
    if (b_.piece) {
      if (done_ == 0) at[starts++] = 0;
      open = end < b_.first_nnz + b_.nnz;
      return;
    }
    for (; row_ < b_.rows && indptr_[row_] < end; ++row_)
      if (indptr_[row_ + 1] > indptr_[row_]) at[starts++] = static_cast<std::uint16_t>(indptr_[row_] - first);
    open = indptr_[row_] > end;
  }

  const Offset* indptr_;
  const Index* columns_;
  const PackedBlock b_;
  const std::uint32_t mask_;
  Offset done_ = 0;
  std::int64_t row_ = 0;
};

/// How many words a whole block takes.
std::int64_t measure(Tiles& tiles) {
  std::int64_t words = 0;
  while (tiles.next()) {
    int widths = 0;
    for (int g = 0; g < tiles.groups(); ++g) widths += tiles.width(g);
    words += kWidthWords + start_words(tiles.starts) + (widths + 1) / 2;
  }
  return words;
}

std::uint32_t* write_tile(const Tiles& tiles, std::uint32_t* words) {
  int widths[kTileGroups] = {};
  for (int g = 0; g < tiles.groups(); ++g) widths[g] = tiles.width(g);
  BitWriter head(words);
  for (const int w : widths) head.put(static_cast<std::uint32_t>(w), kWidthBits);
  words = head.finish();
  if (tiles.starts <= kMostListed) {
    BitWriter list(words);
    for (int i = 0; i < tiles.starts; ++i) list.put(tiles.at[i], kStartBits);
    words = list.finish();
  } else {
    for (int i = 0; i < tiles.starts; ++i) words[tiles.at[i] / 32] |= 1u << (tiles.at[i] % 32);
    words += kTileNnz / 32;
  }
  BitWriter gaps(words);
  for (int g = 0; g < tiles.groups(); ++g)
    for (int i = 0; i < kGroupNnz; ++i) gaps.put(tiles.gaps[g * kGroupNnz + i], widths[g]);
  return gaps.finish();
}

void write_rows(const Offset* indptr, const PackedBlock& b, PackedChunk* chunks, std::uint32_t* present) {
  std::int64_t chunk = 0;
  std::uint32_t rank = 0;
  for (std::int64_t r = 0; r < b.rows; ++r) {
    const auto from = b.piece ? b.first_nnz : indptr[b.first_row + r];
    if (!b.piece && indptr[b.first_row + r + 1] == from) continue;
    for (; chunk * kChunkRows <= r; ++chunk)
      chunks[chunk] = {rank, static_cast<std::uint32_t>((from - b.first_nnz) / kTileNnz)};
    if (present) present[r / 32] |= 1u << (r % 32);
    ++rank;
  }
  for (; chunk <= (b.rows + kChunkRows - 1) / kChunkRows; ++chunk)
    chunks[chunk] = {rank, static_cast<std::uint32_t>(b.tiles())};
}

std::int64_t rows_with_entries(const Offset* indptr, const PackedBlock& b) {
  if (b.piece) return 1;
  std::int64_t n = 0;
  for (auto r = b.first_row; r < b.first_row + b.rows; ++r) n += indptr[r + 1] > indptr[r];
  return n;
}

std::uint32_t mask_of(std::int64_t cols) {
  return low_bits(std::bit_width(static_cast<std::uint32_t>(std::max<std::int64_t>(cols - 1, 0))));
}

/// Finds how many bytes and ranks a block has; returns how many words.
template <class V>
std::int64_t measure_block(const Offset* indptr, const Index* columns, std::uint32_t mask, ValueKind kind,
                           PackedBlock& b, const V* type) {
  Tiles tiles(indptr, columns, b, mask);
  const auto words = measure(tiles);
  b.ranks = rows_with_entries(indptr, b);
  b.bytes = Layout(b, words, kind, type).total;
  return words;
}

template <class V>
void write_block(const Offset* indptr, const Index* columns, std::uint32_t mask, const ValueCode& code,
                 const V* values, const PackedBlock& b, std::int64_t words, std::byte* base) {
  const Layout at(b, words, code.kind, values);
  std::memset(base, 0, std::size_t(b.bytes));
  const auto u32 = [](std::int64_t n) { return static_cast<std::uint32_t>(n); };
  const PackedHeader header{
      .magic = PackedHeader::kMagic,
      .version = PackedHeader::kVersion,
      .bytes = b.bytes,
      .first_row = b.first_row,
      .first_nnz = b.first_nnz,
      .rows = u32(b.rows),
      .nnz = u32(b.nnz),
      .tiles = u32(b.tiles()),
      .ranks = u32(b.ranks),
      .column_mask = mask,
      .kind = code.kind,
      .type = static_cast<std::uint8_t>(AnyPacked(std::in_place_type<Packed<V>>).index()),
      .piece = b.piece,
      .unused_byte = 0,
      .tiles_at = u32(at.tiles),
      .chunks_at = u32(at.chunks),
      .present_at = u32(at.present),
      .words_at = u32(at.words),
      .words = u32(words),
      .dictionary_at = u32(at.dictionary),
      .values_at = u32(at.values),
      .unused = {}};
  std::memcpy(base, &header, sizeof(header));
  auto* table = reinterpret_cast<PackedTile*>(base + at.tiles);
  auto* const first_word = reinterpret_cast<std::uint32_t*>(base + at.words);
  auto* word = first_word;
  Tiles tiles(indptr, columns, b, mask);
  for (std::uint32_t rank = 0; tiles.next(); rank += std::uint32_t(tiles.starts)) {
    *table++ = {u32(word - first_word), rank, tiles.carry,
                u32(tiles.starts) | (tiles.open ? PackedTile::kOpen : 0)};
    word = write_tile(tiles, word);
  }
  write_rows(indptr, b, reinterpret_cast<PackedChunk*>(base + at.chunks),
             at.present > 0 ? reinterpret_cast<std::uint32_t*>(base + at.present) : nullptr);
  if constexpr (!is_pattern<V>)
    write_values(code, values, b.nnz, base + at.values, reinterpret_cast<V*>(base + at.dictionary));
}

}  // namespace

std::vector<PackedBlock> cut_blocks(std::span<const Offset> indptr, std::int64_t most) {
  const auto rows = std::ssize(indptr) - 1;
  std::vector<PackedBlock> blocks;
  for (std::int64_t r = 0; r < rows;) {
    const auto from = indptr[std::size_t(r)], length = indptr[std::size_t(r) + 1] - from;
    if (length > most) {
      for (Offset k = 0; k < length; k += most)
        blocks.push_back({.first_row = r,
                          .rows = 1,
                          .first_nnz = from + k,
                          .nnz = std::min(most, length - k),
                          .piece = true});
      ++r;
      continue;
    }
    const auto limit = indptr.begin() + std::min(rows, r + kMostRows) + 1;
    const auto end = std::upper_bound(indptr.begin() + r + 1, limit, from + most) - indptr.begin() - 1;
    blocks.push_back(
        {.first_row = r, .rows = end - r, .first_nnz = from, .nnz = indptr[std::size_t(end)] - from});
    r = end;
  }
  return blocks;
}

Array<std::byte> pack_block(const Offset* indptr, const Index* columns, std::int64_t cols, PackedBlock& b) {
  const auto mask = mask_of(cols);
  const One* none = nullptr;
  const auto words = measure_block(indptr, columns, mask, ValueKind::none, b, none);
  auto bytes = allocate<std::byte>(b.bytes);
  write_block(indptr, columns, mask, ValueCode{}, none, b, words, bytes.data);
  return bytes;
}

template <class V>
Packed<V> pack(const Csr<V>& a, const PackOptions& options) {
  require(options.threads >= 0,
          "pack: threads = " + std::to_string(options.threads) + "; give 0 for all, or a number from 1");
  require(options.block_nnz >= kTileNnz && options.block_nnz <= 1 << 20,
          "pack: block_nnz = " + std::to_string(options.block_nnz) + " is outside [1024, 2^20]");
  for (const Place place :
       {a.indptr.place, a.indices.place, is_pattern<V> ? a.indices.place : a.values.place})
    if (!can_read(Where{}, place))
      throw Error(Errc::not_accessible, "pack reads the matrix on the CPU, but it is in " +
                                            std::string(name(place.memory)) +
                                            " memory: move it to the host first");
  const auto mask = mask_of(a.cols);
  const auto code = choose_code(a.values, options.threads);
  auto blocks = cut_blocks(a.indptr.span(), options.block_nnz);
  const auto count = std::ssize(blocks);
  std::vector<std::int64_t> words(blocks.size());
  parallel_up_to(options.threads, count, [&](std::int64_t i) {
    auto& b = blocks[std::size_t(i)];
    words[std::size_t(i)] =
        measure_block(a.indptr.data, a.indices.data + b.first_nnz, mask, code.kind, b, a.values.data);
  });
  std::int64_t total = 0;
  for (auto& b : blocks) b.at = total, total += b.bytes;
  const auto bytes = allocate<std::byte>(total);
  parallel_up_to(options.threads, count, [&](std::int64_t i) {
    const auto& b = blocks[std::size_t(i)];
    write_block(a.indptr.data, a.indices.data + b.first_nnz, mask, code,
                is_pattern<V> ? nullptr : a.values.data + b.first_nnz, b, words[std::size_t(i)],
                bytes.data + b.at);
  });
  return {
      a.rows, a.cols, a.nnz(), code.kind, std::make_shared<const std::vector<PackedBlock>>(std::move(blocks)),
      bytes};
}

#define X(V) template Packed<V> pack(const Csr<V>&, const PackOptions&);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
