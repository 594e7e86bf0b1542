#pragma once
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/comm/transport.hpp"
#include "penstock/core/device.hpp"
#include "penstock/dist/share/dist_csr.hpp"
#include "penstock/format/csr.hpp"

// Matrices cut into tiles that every rank can fetch by itself: the data structures of Brock, Buluc and Yelick (ICS 2024,
// section 3.1). Every rank has the directory; the bytes of a tile are on the rank that owns it.
namespace penstock {

/// Tile (i, j) belongs to rank (i % rows) * cols + j % cols.
struct ProcessGrid {
  int rows = 1, cols = 1;
  int ranks() const { return rows * cols; }
  int owner(std::int64_t i, std::int64_t j) const {
    return static_cast<int>(i % rows) * cols + static_cast<int>(j % cols);
  }
  bool operator==(const ProcessGrid&) const = default;
};
/// The most square one, rows >= cols: where it is not square, rows of A and C are cut more often than columns of a dense
/// B, whose rows should stay long.
ProcessGrid square_grid(int ranks);

enum class TileValue { pattern, byte, float32, float64 };
std::int64_t bytes_of(TileValue value);
/// The name of a type of values in messages.
std::string_view text_of(TileValue value);
template <class V>
constexpr TileValue tile_value() {
  if constexpr (is_pattern<V>) return TileValue::pattern;
  else if constexpr (std::same_as<V, std::uint8_t>) return TileValue::byte;
  else if constexpr (std::same_as<V, float>) return TileValue::float32;
  else return TileValue::float64;
}

/// Rows or columns [first, end). Without an end: all from `first` on.
struct Span {
  std::int64_t first = 0, end = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t size() const { return std::max<std::int64_t>(end - first, 0); }
  bool covers(Span other) const { return first <= other.first && other.end <= end; }
  /// The smallest span that covers both.
  Span with(Span other) const {
    if (size() == 0) return other;
    return {std::min(first, other.first), std::max(end, other.end)};
  }
  bool operator==(const Span&) const = default;
};

/// Where a tile lies in its owner's arena, and what it is.
struct TileAt {
  std::int64_t offset = 0;
  std::int64_t rows = 0, cols = 0;
  Offset nnz = 0;  // dense: rows * cols
  /// Rows and columns outside of which the tile has no entries. Where they are not known: all rows and columns.
  Span in_rows = {}, in_cols = {};
  std::int64_t rows_met = -1, cols_met = -1;  // how many of these have entries; -1: unknown
  Span row_span() const { return {in_rows.first, std::min(in_rows.end, rows)}; }
  Span col_span() const { return {in_cols.first, std::min(in_cols.end, cols)}; }
};

/// Rows of a sparse tile that travel alone: their entries (-1: unknown), in so many ranges of rows side by side.
struct RowsAlone {
  Offset entries = -1;
  std::int64_t ranges = 0;
};

/// The directory: the same on all ranks, and plain data, so that plans are made and tested without ranks. A sparse tile
/// is one blob, row offsets (int64) | columns within the tile (int32), padded to 8 | values, so that fetching it is one
/// get; a dense tile is its rows one after the other.
struct TileMap {
  std::int64_t rows = 0, cols = 0;            // of the matrix
  std::int64_t tile_rows = 1, tile_cols = 1;  // of a tile; the last ones may be smaller
  ProcessGrid grid;
  TileValue value = TileValue::float64;
  bool sparse = true;
  bool gathers = true;           // of dense tiles single rows can travel
  std::int64_t range_bytes = 0;  // what a range of bytes costs besides these, where many are one message
  bool turned = false;           // tile (i, j) is whose (j, i) would be
  std::vector<TileAt> tiles;     // row by row
  /// Where they are not of equal size: the rows (columns) at which tiles begin, and the end. tile_rows is the largest then.
  std::vector<std::int64_t> row_cuts = {}, col_cuts = {};

  std::int64_t down() const { return tiles_of(row_cuts, rows, tile_rows); }
  std::int64_t across() const { return tiles_of(col_cuts, cols, tile_cols); }
  /// The first row of the tiles (i, .), and of the tiles (down(), .) the end; the same of columns.
  std::int64_t first_row(std::int64_t i) const { return first_of(row_cuts, i, rows, tile_rows); }
  std::int64_t first_col(std::int64_t j) const { return first_of(col_cuts, j, cols, tile_cols); }
  /// The i of the tiles that have a row, and the j of those that have a column.
  std::int64_t row_tile(std::int64_t row) const { return tile_of(row_cuts, row, tile_rows); }
  std::int64_t col_tile(std::int64_t col) const { return tile_of(col_cuts, col, tile_cols); }
  std::int64_t number(std::int64_t i, std::int64_t j) const { return i * across() + j; }
  const TileAt& at(std::int64_t i, std::int64_t j) const {
    return tiles[static_cast<std::size_t>(number(i, j))];
  }
  int owner(std::int64_t i, std::int64_t j) const { return turned ? grid.owner(j, i) : grid.owner(i, j); }
  /// The bytes of the tile's blob.
  std::int64_t bytes(std::int64_t i, std::int64_t j) const;
  /// Whether so many rows of a span travel one by one, and not all of them in one piece.
  bool names_rows(std::int64_t met, Span all, std::int64_t row_bytes) const;
  /// Whether `met` of the rows in a span of dense tile (i, j) travel one by one, and not all of them in one piece.
  bool one_by_one(std::int64_t i, std::int64_t j, std::int64_t met, Span all) const;
  /// The bytes that are fetched of tile (i, j) when it is the right factor of `left`: of a dense tile only the rows that
  /// meet columns of `left` with entries, or those between the first and the last of these. Of a sparse tile row offsets and
  /// the entries of such rows, where that is clearly less than the whole tile.
  std::int64_t bytes_for(const TileAt& left, const TileAt& tile, RowsAlone rows = {}) const;
  std::int64_t bytes_for(const TileAt& left, std::int64_t i, std::int64_t j, RowsAlone rows = {}) const {
    return bytes_for(left, at(i, j), rows);
  }
  /// The bytes that travel of a sum for tile (i, j), dense, with products in `met` rows of a span.
  std::int64_t bytes_of_sum(std::int64_t i, std::int64_t j, std::int64_t met, Span all) const;
  Offset nnz() const;
  std::string text() const;  // shape, tiles, grid, entries of the fullest tile against the mean

 private:
  using Cuts = std::vector<std::int64_t>;
  static std::int64_t tiles_of(const Cuts& cuts, std::int64_t all, std::int64_t each) {
    return cuts.empty() ? (all + each - 1) / each : std::ssize(cuts) - 1;
  }
  static std::int64_t first_of(const Cuts& cuts, std::int64_t n, std::int64_t all, std::int64_t each) {
    return cuts.empty() ? std::min(all, n * each) : cuts[static_cast<std::size_t>(n)];
  }
  static std::int64_t tile_of(const Cuts& cuts, std::int64_t at, std::int64_t each) {
    return cuts.empty() ? at / each : std::upper_bound(cuts.begin(), cuts.end(), at) - cuts.begin() - 1;
  }
};

/// Bytes of a row's number; and of rows of which an eighth is no less than that.
constexpr std::int64_t kRowName = 4, kLeastRow = 32;
/// Whether so many rows of a span are worth being named one by one, and not sent in one piece with all between: where they, with
/// their names, are clearly fewer bytes. The last eighth is not worth it, and pays for the names of rows of at least kLeastRow
/// bytes; with shorter rows the names count, too.
constexpr bool worth_naming(std::int64_t met, Span all, std::int64_t row_bytes) {
  if (row_bytes >= kLeastRow) return 8 * met < 7 * all.size();
  return 8 * met * (row_bytes + kRowName) < 7 * all.size() * row_bytes;
}

/// A directory without entries. Sizes of 0 or less are chosen: with lcm(grid.rows, grid.cols) tiles each way, every rank
/// has the same number of them and any two matrices on one grid fit together. Columns of a dense matrix, which nothing has
/// to fit, are cut into grid.cols only. Cuts, where there are some, take the place of sizes: 0, ascending, the number of
/// rows (columns). Throws Error{invalid_argument} for shapes and tiles that cannot be.
TileMap tile_map(std::int64_t rows, std::int64_t cols, std::int64_t tile_rows, std::int64_t tile_cols,
                 ProcessGrid grid, TileValue value, bool sparse, std::vector<std::int64_t> row_cuts = {},
                 std::vector<std::int64_t> col_cuts = {});
/// The size of the largest tile between the cuts, which become empty where all tiles are of equal size but a smaller last
/// one: so equal tiles are told in one way.
std::int64_t size_of_tiles(std::vector<std::int64_t>& cuts);

inline std::int64_t padded_to(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }
std::int64_t blob_bytes(bool sparse, TileValue value, std::int64_t rows, std::int64_t cols, Offset nnz);

/// A sparse blob, read in place. `tile` may have fewer rows than the blob where only the row offsets are read.
template <class V>
CsrView<V> csr_of(const std::byte* blob, const TileAt& tile);
/// Writes the blob of a tile.
template <class V>
void write_csr(const CsrView<V>& from, std::byte* blob);

/// Numbers of rows or columns of a tile, ascending, in the memory where the tiles are: the host's, or a GPU's.
struct TileNames {
  explicit TileNames(std::vector<Index> on_host);
  TileNames(Array<const Index> names, Span all) : list(std::move(names)), span(all) {}
  bool on_host() const { return list.place.memory != Memory::device; }
  const Index* begin() const { return list.data; }
  const Index* end() const { return list.data + list.size; }
  std::size_t size() const { return static_cast<std::size_t>(list.size); }
  operator std::span<const Index>() const { return list.span(); }

  Array<const Index> list;
  Span span;  // no number lies outside
};
using TileRows = std::shared_ptr<const TileNames>;

/// A tile on its way here, or here: in this rank's arena, or fetched. Shares its bytes.
class TileHere {
 public:
  TileHere() = default;
  const TileAt& tile() const { return tile_; }
  /// Waits for the bytes of the tile, and returns them. They are 64-byte aligned; null for a tile of no bytes.
  const std::byte* data() const;
  std::int64_t fetched() const { return fetched_; }  // bytes that travel for it
  /// The memory that a fetched tile has landed in, which keeps its bytes; null for an own tile, which lives as long as the
  /// matrix does.
  std::shared_ptr<const void> landing() const { return landing_; }

 private:
  friend class TileMatrix;
  /// Memory where gets of a device's tiles land, again and again: it takes long to ask for, and freeing it waits for all
  /// that the device does. Pieces have few sizes (landing_bytes), so that a later get finds one that fits.
  struct Pool {
    struct Piece {
      std::int64_t bytes = 0;
      std::shared_ptr<void> memory;
    };
    Place place;
    std::int64_t each = 0, kept = 0;  // bytes of the largest tile, and of the pieces that are free
    std::vector<Piece> free;
    Piece take(std::int64_t bytes);
    void give_back(Piece piece);
  };
  /// Where a get lands. It lives until the get has ended.
  struct Landing {
    std::shared_ptr<Transport> transport;
    std::shared_ptr<void> memory;
    std::shared_ptr<Pool> pool;  // takes the memory back; null: the memory is freed
    std::int64_t bytes = 0;      // of a piece of the pool
    Transport::Ticket ticket = 0;
    Span rows;       // the rows that are fetched; the memory on the host ends behind the last of them
    TileRows named;  // null: all of `rows`
    Offset nnz = 0;  // entries that are here
    std::shared_ptr<const void> read;  // what a get between devices still reads besides
    bool has(Span wanted, const TileRows& some) const;
    ~Landing();
  };
  TileAt tile_;
  std::int64_t fetched_ = 0;
  const std::byte* own_ = nullptr;
  std::shared_ptr<Landing> landing_;
};

/// Bytes of the piece of a device's memory where so many bytes land, if the largest tile has `largest`: a power of two below half
/// of it, so that row offsets and few rows take no memory of a whole tile.
constexpr std::int64_t landing_bytes(std::int64_t bytes, std::int64_t largest) {
  std::int64_t size = 4096;
  while (size < bytes) size *= 2;
  return 2 * size <= largest ? size : std::max(bytes, largest);
}

/// Makes a transport with arenas of so many bytes; `zeroed` is that of make_transport().
using MakeTransport =
    std::function<std::shared_ptr<Transport>(std::shared_ptr<Comm>, std::int64_t bytes, std::int64_t zeroed)>;
MakeTransport transport_of_kind(std::string kind);
/// Arenas on a device (dist/link/transport_gpu.hpp): this rank's GPU, or the CPU as one.
MakeTransport transport_of_kind(std::string kind, Where where);
/// Whether a transport's arenas are a device's: a GPU's, or those of the CPU in its place, which is how the code for devices
/// is tested without one.
bool on_device(const Transport& transport);

/// What a product of tiles leaves with its left factor for the next one: the transport of claims and of partial tiles
/// (dist/tile/tile_mail.hpp), whose words are zeros.
struct TileMailbox {
  std::shared_ptr<Transport> transport;
  std::int64_t words = 0;  // bytes for words; behind them, places for pieces
  std::int64_t place_bytes = 0;
  int places = 0;
};

struct TileSplit;

/// A matrix of tiles: its directory, and an arena for the tiles of this rank. A rank reads tiles without any other rank
/// taking part; making and renewing tiles is collective.
class TileMatrix {
 public:
  /// Writes the blob of an own tile; the directory has its size. `blob` is host memory, and is copied to the device where
  /// tiles are on one. With Filled::arena it is the tile's place in the arena itself.
  using Fill = std::function<void(std::int64_t i, std::int64_t j, std::byte* blob)>;
  enum class Filled { host, arena };
  /// `map` is without offsets, and knows the number of entries of this rank's sparse tiles only; the other ranks say theirs.
  /// `fill` need not write a sparse tile without entries. Throws Error{out_of_memory} with the sizes, on all ranks, where
  /// one rank cannot have its arena.
  TileMatrix(std::shared_ptr<Comm> comm, TileMap map, MakeTransport make, const Fill& fill,
             Filled filled = Filled::host);

  const TileMap& map() const { return map_; }
  const std::shared_ptr<Comm>& comm() const { return comm_; }
  const std::shared_ptr<Transport>& transport() const { return transport_; }
  const MakeTransport& make_transport() const { return make_; }
  const std::shared_ptr<TileMailbox>& mailbox() const { return mailbox_; }  // never null
  /// Its entries in two parts (tile_cover.hpp), once a product has made them; null before, and after renew_tiles().
  std::shared_ptr<TileSplit>& split() { return split_; }
  /// Whether single rows of its tiles travel, where the transport can do that; renewed tiles keep to it. All ranks say the same.
  void gather_rows(bool wanted) {
    gathers_ = wanted;
    map_.gathers = wanted && transport_->gets_rows();
  }
  bool mine(std::int64_t i, std::int64_t j) const { return owner(i, j) == comm_->rank(); }
  /// The rank that has the tile.
  int owner(std::int64_t i, std::int64_t j) const {
    const auto at = moved_.find(map_.number(i, j));
    return at == moved_.end() ? map_.owner(i, j) : at->second;
  }
  bool on_device() const { return penstock::on_device(*transport_); }
  Where where() const { return transport_->where(); }  // whose memory its tiles are

  /// Starts to fetch a tile; TileHere::data() waits for it. A tile that someone on this rank still holds is not fetched
  /// again. It lands on the device where the tiles are on one.
  TileHere async_get_tile(std::int64_t i, std::int64_t j);
  /// The same of some rows of a dense tile. The places of the other rows must not be read.
  TileHere async_get_rows(std::int64_t i, std::int64_t j, Span rows);
  TileHere async_get_rows(std::int64_t i, std::int64_t j, const TileRows& named);
  /// The same of a sparse tile: `offsets` has the offsets of these rows and of the ones after them. What comes is a sparse
  /// tile whose other rows are empty. `entries`: how many these rows have; below 0 they are counted.
  TileHere async_get_rows(std::int64_t i, std::int64_t j, const TileRows& named, const TileHere& offsets,
                          Offset entries = -1);
  /// The columns of a sparse tile with entries. `here` has its bytes; what is found for an own tile is kept.
  TileRows columns_met(std::int64_t i, std::int64_t j, const TileHere& here);
  /// A place for what products derive of an own tile; empty again when the tile gets other entries.
  std::shared_ptr<void>& memo(std::int64_t i, std::int64_t j) { return memos_[map_.number(i, j)]; }
  /// The tile in host memory, wherever the tiles are; the second call also waits for it.
  TileHere async_get_on_host(std::int64_t i, std::int64_t j);
  TileHere get_on_host(std::int64_t i, std::int64_t j);
  /// Some rows of a dense tile in host memory, at the places that they have in the tile. The places of the other rows must
  /// not be read.
  TileHere get_rows_on_host(std::int64_t i, std::int64_t j, Span rows);
  /// Starts to fetch the offsets of some rows of a sparse tile, without entries, to where the tiles are: those of `rows` and
  /// the one after them. The places of the others must not be read.
  TileHere async_get_offsets(std::int64_t i, std::int64_t j, Span rows);
  /// The bytes of an own tile, where they are, to be written between barriers.
  std::byte* own_tile(std::int64_t i, std::int64_t j);
  /// An own tile while the host writes all of it: the tile itself, or, where it is a device's, memory of its size that
  /// publish() brings there. A sparse one begins with the row offset 0.
  struct Draft {
    std::byte* data = nullptr;
    Array<std::byte> copy;
  };
  Draft draft(std::int64_t i, std::int64_t j);
  void publish(std::int64_t i, std::int64_t j, const Draft& draft);
  /// Tells all ranks where own tiles have entries, which publish() has found. Collective.
  void share_spans();
  /// Rows [first, last) of tiles, where they are: it shares this matrix's arena. `first` is a multiple of the grid's rows, so
  /// that owners stay. Not collective.
  TileMatrix rows_of_tiles(std::int64_t first, std::int64_t last) const;
  /// Starts to fetch some of another rank's tile to memory of the caller, where it lies as async_get_rows() has it: `rows` of a
  /// dense tile, or of these the `named` ones; of a sparse one all, or the named rows, whose `offsets` are here.
  Transport::Ticket fetch_to(std::byte* to, std::int64_t number, Span rows, const TileRows& named,
                             const TileHere* offsets);
  /// The same matrix over another transport, for tiles that move_tile() then says are there. Not collective.
  TileMatrix elsewhere(std::shared_ptr<Transport> transport) const;
  /// A tile that has `nnz` entries is read from a rank's arena at `offset`.
  void move_tile(std::int64_t number, int rank, std::int64_t offset, Offset nnz);
  /// Overwrites a dense tile of any rank; done on return. A rank that reads the tile meanwhile may see a part of the new one.
  void replace_tile(std::int64_t i, std::int64_t j, const std::byte* data);
  /// Gives own tiles of a sparse matrix other entries: entries[number] says how many, and `fill` writes them. Tiles that
  /// `entries` does not name are kept. Collective.
  void renew_tiles(const std::map<std::int64_t, Offset>& entries, const Fill& fill);

 private:
  void require_tile(std::int64_t i, std::int64_t j) const;
  std::shared_ptr<TileHere::Landing> land(std::int64_t bytes, bool to_host);
  std::shared_ptr<TileHere::Landing> start(std::int64_t i, std::int64_t j, Span bytes, bool to_host);
  Transport::Ticket start_rows(std::byte* to, std::int64_t i, std::int64_t j, const TileNames& named,
                               const Offset* offsets);
  Transport::Ticket start_rows_there(std::byte* to, std::int64_t i, std::int64_t j, const TileNames& named,
                                     const Offset* offsets, Offset entries);
  Stream work_stream();
  TileHere get(std::int64_t i, std::int64_t j, Span rows, bool to_host, const TileRows& named = nullptr);

  std::shared_ptr<Comm> comm_;
  TileMap map_;
  bool gathers_ = true;  // whether single rows should travel
  MakeTransport make_;
  std::shared_ptr<Transport> transport_;
  void lay_out(const Fill& fill, Filled filled);  // shares the entries of own tiles, makes the arena
  /// all[number] of each tile from get(tile) on its owner.
  template <class T, class Get>
  std::vector<T> shared_by_owners(const Get& get) const;

  /// Fetched tiles that someone may still hold, by their number.
  std::map<std::int64_t, std::weak_ptr<TileHere::Landing>> held_, held_on_host_;
  std::map<std::int64_t, TileRows> columns_met_;
  std::map<std::int64_t, std::shared_ptr<void>> memos_;
  std::map<std::int64_t, int> moved_;  // ranks that have tiles in place of their owners
  std::shared_ptr<TileSplit> split_;
  std::shared_ptr<TileHere::Pool> pool_;
  std::shared_ptr<OwnedStream> work_stream_;  // of small work on tiles of a device
  std::shared_ptr<TileMailbox> mailbox_ = std::make_shared<TileMailbox>();
};

/// Cuts the tiles of this rank out of a matrix that every rank has (or maps).
template <class V>
TileMatrix tiles_of_whole(std::shared_ptr<Comm> comm, const Csr<V>& whole, TileMap map, MakeTransport make);
/// The same of a dense matrix, row-major, map.value's type.
TileMatrix tiles_of_dense(std::shared_ptr<Comm> comm, const std::byte* whole, TileMap map,
                          MakeTransport make);
/// From entries anywhere: this rank has `part`, whose rows are row_ids and whose columns col_ids (of the whole matrix).
/// Every entry is on one rank. Collective.
template <class V>
TileMatrix tiles_of_part(std::shared_ptr<Comm> comm, const std::vector<CsrView<V>>& parts,
                         const std::vector<std::vector<GlobalIndex>>& row_ids,
                         const std::vector<std::vector<GlobalIndex>>& col_ids, TileMap map,
                         MakeTransport make);
/// From a matrix shared out in any way. Collective.
template <class V>
TileMatrix tiles_of_dist(const DistCsr<V>& d, TileMap map, MakeTransport make);

/// The whole matrix on this rank, fetched tile by tile; rows ascend where those of the tiles do.
template <class V>
Csr<V> whole_of(TileMatrix& tiles);
void whole_of_dense(TileMatrix& tiles, std::byte* out);

}  // namespace penstock
