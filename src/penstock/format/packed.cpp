// Checks of packed matrices, so that decoders need none: the directory, every block's header, and, on request, everything that
// a decoder follows in the bytes. Also the directory as numbers and back, for files.
#include "penstock/format/packed.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/packed_tile.hpp"

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "packed blocks are little-endian");

constexpr std::int64_t kMagic = 0x50534e4544434150;  // "PACDENSP"

template <class V>
constexpr int type_index() {
  return is_pattern<V>                ? 0
         : std::same_as<V, float>     ? 1
         : std::same_as<V, double>    ? 2
         : std::same_as<V, Complex64> ? 3
                                      : 4;
}

[[noreturn]] void fault(std::int64_t block, const std::string& what) {
  throw Error(Errc::invalid_argument,
              "packed block " + std::to_string(block) + " is damaged: " + what + "; pack the matrix again");
}

bool kind_suits(ValueKind kind, int type) {
  switch (kind) {
    case ValueKind::none: return type == 0;
    case ValueKind::constant:
    case ValueKind::dictionary4:
    case ValueKind::dictionary8:
    case ValueKind::raw: return type > 0;
    case ValueKind::int8:
    case ValueKind::int16:
    case ValueKind::bfloat16:
    case ValueKind::float16: return type == 1 || type == 2;
    case ValueKind::float32: return type == 2;
  }
  return false;
}

/// Checks that the blocks of the directory are in order, without gaps, and within the bytes.
template <class V>
void check_directory(const Packed<V>& a) {
  std::int64_t at = 0, row = 0;
  Offset nnz = 0;
  for (std::int64_t i = 0; i < std::ssize(*a.blocks); ++i) {
    const auto& b = (*a.blocks)[std::size_t(i)];
    if (b.at != at || b.bytes < std::int64_t(sizeof(PackedHeader)) || b.bytes % kPackedAlign != 0 ||
        b.bytes > a.bytes.size - at)
      fault(i, std::to_string(b.bytes) + " bytes at " + std::to_string(b.at) + " do not follow the " +
                   std::to_string(at) + " bytes before it, of " + std::to_string(a.bytes.size));
    const bool more = i > 0 && (*a.blocks)[std::size_t(i) - 1].piece && b.piece && b.first_row == row - 1;
    if ((b.first_row != row && !more) || b.rows < 1 || b.rows > a.rows - b.first_row ||
        (b.piece && (b.rows != 1 || b.nnz < 1)))
      fault(i, std::to_string(b.rows) + " rows from " + std::to_string(b.first_row) + " do not follow row " +
                   std::to_string(row));
    if (b.first_nnz != nnz || b.nnz < 0 || b.nnz > 1 << 20 || b.nnz > a.nnz - nnz || b.ranks < 0 ||
        b.ranks > std::min(b.rows, b.nnz))
      fault(i, std::to_string(b.nnz) + " nonzeros from " + std::to_string(b.first_nnz) + " do not follow " +
                   std::to_string(nnz));
    at += b.bytes, row = b.first_row + b.rows, nnz += b.nnz;
  }
  if (at != a.bytes.size || row != a.rows || nnz != a.nnz)
    fault(std::ssize(*a.blocks), "the blocks end at byte " + std::to_string(at) + ", row " +
                                     std::to_string(row) + ", nonzero " + std::to_string(nnz) +
                                     ", the matrix at " + std::to_string(a.bytes.size) + ", " +
                                     std::to_string(a.rows) + ", " + std::to_string(a.nnz));
}

template <class V>
void check_header(const Packed<V>& a, std::int64_t i) {
  const auto& b = (*a.blocks)[std::size_t(i)];
  const PackedView view{a.bytes.data + b.at};
  const auto& h = view.header();
  if (h.magic != PackedHeader::kMagic) fault(i, "it does not begin with a block's mark");
  if (h.version != PackedHeader::kVersion)
    fault(i, "version " + std::to_string(h.version) + " is not " + std::to_string(PackedHeader::kVersion));
  if (h.bytes != b.bytes || h.first_row != b.first_row || h.first_nnz != b.first_nnz || h.rows != b.rows ||
      h.nnz != b.nnz || h.tiles != b.tiles() || h.ranks != b.ranks || (h.piece != 0) != b.piece)
    fault(i, "its header differs from the directory");
  if (h.type != type_index<V>() || h.kind != a.kind || !kind_suits(h.kind, h.type))
    fault(i, "its values are not of the matrix's kind");
  if (h.column_mask !=
      low_bits(std::bit_width(static_cast<std::uint32_t>(std::max<std::int64_t>(a.cols - 1, 0)))))
    fault(i, "its column mask is not that of " + std::to_string(a.cols) + " columns");
  std::int64_t end = sizeof(PackedHeader);
  const auto section = [&](std::uint32_t at, std::int64_t bytes, bool wanted) {
    if (!wanted && at == 0) return;
    if (!wanted || at < end || at % 16 != 0 || bytes > b.bytes - at)
      fault(i, "a section does not lie within it");
    end = at + bytes;
  };
  section(h.tiles_at, h.tiles * std::int64_t(sizeof(PackedTile)), true);
  section(h.chunks_at, ((b.rows + kChunkRows - 1) / kChunkRows + 1) * std::int64_t(sizeof(PackedChunk)),
          true);
  section(h.present_at, (b.rows + kChunkRows - 1) / kChunkRows * (kChunkRows / 8), b.ranks < b.rows);
  section(h.words_at, (std::int64_t(h.words) + 2) * 4, true);
  section(h.dictionary_at, dictionary_size(h.kind) * value_bytes<V>, dictionary_size(h.kind) > 0);
  const auto values = value_section_bytes(h.kind, value_bytes<V>, b.nnz);
  section(h.values_at, values, values > 0);
}

/// Checks everything in the bytes of block i that a decoder follows.
template <class V>
void check_tiles(const Packed<V>& a, std::int64_t i) {
  const PackedView view{a.bytes.data + (*a.blocks)[std::size_t(i)].at};
  const auto& h = view.header();
  DecodedTile tile;
  std::uint32_t rank = 0;
  bool open = false;
  for (std::int64_t t = 0; t < h.tiles; ++t) {
    const auto& said = view.tiles()[t];
    const auto name = "tile " + std::to_string(t);
    const auto room = std::int64_t(h.words) - said.at;
    if (said.rank != rank || said.starts() > nonzeros_of(h, t) ||
        said.starts() > std::int64_t(h.ranks) - rank || room < kWidthWords ||
        room < kWidthWords + start_words(said.starts()) + (gap_half_words(view.words() + said.at) + 1) / 2)
      fault(i, name + " does not lie within it");
    const auto* words = view.words() + said.at + kWidthWords;
    if (said.starts() > kMostListed) {
      int set = 0;
      for (int w = 0; w < kTileNnz / 32; ++w) set += std::popcount(words[w]);
      if (set != said.starts())
        fault(i, name + " marks " + std::to_string(set) + " rows, not " + std::to_string(said.starts()));
    }
    decode_starts(words, said.starts(), tile.start);
    for (int s = 0; s < said.starts(); ++s)
      if (tile.start[s] >= nonzeros_of(h, t) || (s > 0 && tile.start[s] <= tile.start[s - 1]))
        fault(i, name + " has rows out of order");
    const bool enters = said.starts() == 0 || tile.start[0] > 0;
    if (enters != open) fault(i, name + " does not go on where the tile before it ends");
    open = said.open();
    decode_tile(view, t, tile);
    if (std::any_of(tile.columns, tile.columns + tile.count, [&](Index c) { return c >= a.cols; }))
      fault(i, name + " has a column outside [0, " + std::to_string(a.cols) + ")");
    rank += static_cast<std::uint32_t>(said.starts());
  }
  if (rank != h.ranks || open) fault(i, "its tiles do not end with its rows");
  const auto chunks = (std::int64_t(h.rows) + kChunkRows - 1) / kChunkRows;
  rank = 0;
  for (std::int64_t c = 0; c <= chunks; ++c) {
    const auto& chunk = view.chunks()[c];
    const bool right = chunk.rank == rank &&
                       (rank == h.ranks ? chunk.tile == h.tiles
                                        : chunk.tile < h.tiles && view.tiles()[chunk.tile].rank <= rank &&
                                              rank < view.tiles()[chunk.tile].rank +
                                                         std::uint32_t(view.tiles()[chunk.tile].starts()));
    if (!right) fault(i, "chunk " + std::to_string(c) + " of its rows does not fit its tiles");
    if (c == chunks) break;
    const auto rows = std::min<std::int64_t>(kChunkRows, h.rows - c * kChunkRows);
    if (h.present_at == 0) rank += static_cast<std::uint32_t>(rows);
    for (std::int64_t r = 0; r < kChunkRows && h.present_at > 0; ++r) {
      const bool set = (view.present()[c * (kChunkRows / 32) + r / 32] >> (r % 32) & 1) != 0;
      if (set && r >= rows) fault(i, "it marks a row that it does not have");
      rank += set;
    }
  }
}

}  // namespace

template <class V>
void validate(const Packed<V>& a, bool every_entry) {
  if (!can_read(Where{}, a.bytes.place))
    throw Error(Errc::not_accessible, "validate reads the packed matrix on the CPU, but it is in " +
                                          std::string(name(a.bytes.place.memory)) +
                                          " memory: move it to the host first");
  check_directory(a);
  {
    const ReadsAlone headers(a.bytes);
    for (const auto& b : *a.blocks) headers.announce(a.bytes.data + b.at);
    for (std::int64_t i = 0; i < std::ssize(*a.blocks); ++i) check_header(a, i);
  }
  if (every_entry) parallel_for(std::ssize(*a.blocks), [&](std::int64_t i) { check_tiles(a, i); });
}

template <class V>
std::vector<std::int64_t> directory_of(const Packed<V>& a) {
  std::vector<std::int64_t> out{kMagic,
                                a.rows,
                                a.cols,
                                a.nnz,
                                type_index<V>(),
                                static_cast<std::int64_t>(a.kind),
                                std::ssize(*a.blocks),
                                PackedHeader::kVersion};
  for (const auto& b : *a.blocks)
    out.insert(out.end(), {b.at, b.bytes, b.first_row, b.rows, b.first_nnz, b.nnz, b.piece, b.ranks});
  return out;
}

AnyPacked packed_from(std::span<const std::int64_t> d, Array<const std::byte> bytes) {
  const auto wrong = [](const std::string& what) {
    throw Error(Errc::invalid_argument, "packed directory is damaged: " + what + "; pack the matrix again");
  };
  if (d.size() < std::size_t(kDirectoryFields) || d[0] != kMagic) wrong("it does not begin with its mark");
  if (d[7] != PackedHeader::kVersion)
    throw Error(Errc::invalid_argument,
                "the packed form is of version " + std::to_string(d[7]) + ", this library reads version " +
                    std::to_string(PackedHeader::kVersion) + ": pack the matrix again");
  const auto blocks = static_cast<std::int64_t>(d.size()) / kDirectoryFields - 1;
  if (d.size() % std::size_t(kDirectoryFields) != 0 || d[6] != blocks)
    wrong(std::to_string(d.size()) + " numbers do not describe " + std::to_string(d[6]) + " blocks");
  if (d[1] < 0 || d[2] < 0 || d[2] > std::numeric_limits<Index>::max() || d[3] < 0)
    wrong("the shape " + std::to_string(d[1]) + " x " + std::to_string(d[2]) + " or the count " +
          std::to_string(d[3]) + " is impossible");
  if (d[4] < 0 || d[4] > 4 || d[5] < 0 || d[5] >= kValueKinds ||
      !kind_suits(static_cast<ValueKind>(d[5]), int(d[4])))
    wrong("the values are of an unknown kind");
  require(bytes.size == 0 || reinterpret_cast<std::uintptr_t>(bytes.data) % 16 == 0,
          "packed bytes must be aligned to 16 bytes: copy them");
  auto list = std::make_shared<std::vector<PackedBlock>>();
  for (auto f = d.subspan(std::size_t(kDirectoryFields)); !f.empty();
       f = f.subspan(std::size_t(kDirectoryFields)))
    list->push_back({f[0], f[1], f[2], f[3], f[4], f[5], f[6] != 0, f[7]});
  const auto make = [&]<class V>(V) -> AnyPacked {
    Packed<V> a{d[1], d[2], d[3], static_cast<ValueKind>(d[5]), list, bytes};
    check_directory(a);
    return a;
  };
  switch (d[4]) {
    case 0: return make(One());
    case 1: return make(float());
    case 2: return make(double());
    case 3: return make(Complex64());
    default: return make(Complex128());
  }
}

std::string_view name(ValueKind kind) {
  constexpr std::string_view names[kValueKinds] = {"none",     "constant", "dictionary4", "dictionary8",
                                                   "int8",     "int16",    "float32",     "raw",
                                                   "bfloat16", "float16"};
  return names[static_cast<int>(kind)];
}

#define X(V)                                      \
  template void validate(const Packed<V>&, bool); \
  template std::vector<std::int64_t> directory_of(const Packed<V>&);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
