// How a rank fetches tiles, or some rows of them. What is fetched is shared for as long as someone holds it (`held_`). With tiles
// on a device, gets land in a pool of pieces of a few sizes, because taking and freeing device memory waits for all that the device
// does; which rows are needed is found there, too, and kernels fetch them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/dist/tile/tile_spans.hpp"
#include "penstock/dist/tile/tiles.hpp"
#include "penstock/kernel/structure/named_rows.hpp"

namespace penstock {
namespace {

/// Largest tiles whose bytes of device memory are kept for later gets; what is landed in beyond these is freed.
constexpr std::int64_t kKeptTiles = 4;

/// Entries of these rows.
Offset entries_of(std::span<const Index> rows, const Offset* ends) {
  Offset n = 0;
  for (const auto r : rows) n += ends[r + 1] - ends[r];
  return n;
}

}  // namespace

TileNames::TileNames(std::vector<Index> on_host) {
  const auto kept = std::make_shared<std::vector<Index>>(std::move(on_host));
  list = {kept->data(), std::ssize(*kept), {}, kept};
  span = kept->empty() ? Span{0, 0} : Span{kept->front(), kept->back() + 1};
}

TileHere::Landing::~Landing() {
  try {
    transport->wait(ticket);
    if (pool) pool->give_back({bytes, std::move(memory)});
  } catch (...) {
    // Whoever waited for the tile has been told of the failure.
  }
}

TileHere::Pool::Piece TileHere::Pool::take(std::int64_t bytes) {
  const auto size = landing_bytes(bytes, each);
  const auto at = std::ranges::find(free, size, &Piece::bytes);
  if (at == free.end()) return {size, reuse_bytes(size, place)};
  auto found = std::move(*at);
  free.erase(at);
  kept -= size;
  return found;
}

void TileHere::Pool::give_back(Piece piece) {
  if (kept + piece.bytes > kKeptTiles * each) return;
  kept += piece.bytes;
  free.push_back(std::move(piece));
}

/// Whether these rows are among those that are fetched.
bool TileHere::Landing::has(Span wanted, const TileRows& some) const {
  if (!named) return rows.covers(wanted);
  return some &&
         (some == named || (some->on_host() && named->on_host() && std::ranges::includes(*named, *some)));
}

const std::byte* TileHere::data() const {
  if (!landing_) return own_;
  landing_->transport->wait(landing_->ticket);
  return static_cast<const std::byte*>(landing_->memory.get());
}

/// Memory where the first `bytes` of a tile can land.
std::shared_ptr<TileHere::Landing> TileMatrix::land(std::int64_t bytes, bool to_host) {
  auto landing = std::make_shared<TileHere::Landing>();
  if (to_host || !pool_) {
    landing->memory = reuse_bytes(bytes, {});
  } else {
    auto piece = pool_->take(bytes);
    landing->memory = std::move(piece.memory), landing->bytes = piece.bytes;
    landing->pool = pool_;
  }
  landing->transport = transport_;
  return landing;
}

/// Starts to fetch some bytes of a tile. They land at the place that they have in it.
std::shared_ptr<TileHere::Landing> TileMatrix::start(std::int64_t i, std::int64_t j, Span bytes,
                                                     bool to_host) {
  auto landing = land(bytes.end, to_host);
  landing->ticket = transport_->get(static_cast<std::byte*>(landing->memory.get()) + bytes.first,
                                    {owner(i, j), map_.at(i, j).offset + bytes.first}, bytes.size());
  return landing;
}

/// An own tile where it is, or a tile that is being fetched. Of a dense tile `rows` are fetched, or of these the `named`
/// ones; of a sparse one all rows.
TileHere TileMatrix::get(std::int64_t i, std::int64_t j, Span rows, bool to_host, const TileRows& named) {
  require_tile(i, j);
  TileHere here;
  here.tile_ = map_.at(i, j);
  Span bytes{0, map_.bytes(i, j)};
  if (bytes.size() == 0) return here;
  if (mine(i, j) && !to_host) {
    here.own_ = own_tile(i, j);
    return here;
  }
  auto& held = (to_host ? held_on_host_ : held_)[map_.number(i, j)];
  here.landing_ = held.lock();
  if (here.landing_ && here.landing_->has(rows, named)) return here;
  const auto each = here.tile_.cols * bytes_of(map_.value);
  if (named) {
    here.landing_ = land(rows.end * each, to_host);
    here.landing_->ticket =
        transport_->get_rows(here.landing_->memory.get(), {owner(i, j), here.tile_.offset}, each, *named);
    here.fetched_ = named->list.size * each;
  } else {
    if (!map_.sparse) bytes = {rows.first * each, rows.end * each};
    here.landing_ = start(i, j, bytes, to_host);
    here.fetched_ = bytes.size();
  }
  here.landing_->rows = rows, here.landing_->named = named, here.landing_->nnz = here.tile_.nnz;
  held = here.landing_;
  return here;
}

TileHere TileMatrix::async_get_tile(std::int64_t i, std::int64_t j) {
  require_tile(i, j);
  return get(i, j, {0, map_.at(i, j).rows}, false);
}

TileHere TileMatrix::async_get_rows(std::int64_t i, std::int64_t j, Span rows) {
  return get(i, j, rows, false);
}

TileHere TileMatrix::async_get_rows(std::int64_t i, std::int64_t j, const TileRows& named) {
  require(!map_.sparse, "the rows of a sparse tile are fetched with the help of their offsets");
  return get(i, j, named->span, false, named);
}

TileHere TileMatrix::async_get_rows(std::int64_t i, std::int64_t j, const TileRows& named,
                                    const TileHere& offsets, Offset entries) {
  require_tile(i, j);
  require(map_.sparse && map_.gathers, "offsets of rows are of sparse tiles whose rows can travel alone");
  TileHere here;
  here.tile_ = map_.at(i, j);
  if (mine(i, j)) {
    here.own_ = own_tile(i, j);
    return here;
  }
  auto& held = held_[map_.number(i, j)];
  here.landing_ = held.lock();
  if (!here.landing_ || !here.landing_->has(named->span, named)) {
    const auto* const from = reinterpret_cast<const Offset*>(offsets.data());
    RowsAlone alone;
    auto some = named;
    if (on_device() && entries >= 0) alone.entries = entries;
    else if (on_device())
      alone.entries = entries_of_named(named->begin(), named->list.size, from, work_stream());
    else some = with_gaps(*named, from, 4 + bytes_of(map_.value), map_.range_bytes, alone);
    const auto& tile = map_.at(i, j);
    here.landing_ = land(blob_bytes(true, map_.value, tile.rows, tile.cols, alone.entries), false);
    here.landing_->rows = named->span, here.landing_->named = some, here.landing_->nnz = alone.entries;
    here.landing_->read = offsets.landing();
    auto* const to = static_cast<std::byte*>(here.landing_->memory.get());
    here.landing_->ticket = on_device() ? start_rows_there(to, i, j, *some, from, alone.entries)
                                        : start_rows(to, i, j, *some, from);
    here.fetched_ = here.landing_->nnz * (4 + bytes_of(map_.value));
    held = here.landing_;
  }
  here.tile_.nnz = here.landing_->nnz;
  return here;
}

/// Starts to fetch the entries of some rows of a sparse tile to a blob that has only these.
Transport::Ticket TileMatrix::start_rows(std::byte* to, std::int64_t i, std::int64_t j,
                                         const TileNames& named, const Offset* from) {
  const auto& tile = map_.at(i, j);
  const auto value = bytes_of(map_.value), met = entries_of(named, from);
  auto* const ends = reinterpret_cast<Offset*>(to);
  const auto columns = (tile.rows + 1) * 8;
  const auto values_there = columns + padded_to(tile.nnz * 4, 8),
             values_here = columns + padded_to(met * 4, 8);
  if (met % 2 != 0) std::memset(to + columns + met * 4, 0, 4);
  std::vector<ByteRange> of_columns, of_values;
  std::int64_t row = 0;
  Offset n = 0;
  for (const auto r : named) {
    const auto begin = from[r], count = from[r + 1] - begin;
    for (; row <= r; ++row) ends[row] = n;
    if (count == 0) continue;
    // Rows whose entries lie side by side are one range.
    if (!of_columns.empty() && of_columns.back().there + of_columns.back().bytes == columns + begin * 4) {
      of_columns.back().bytes += count * 4;
      if (value > 0) of_values.back().bytes += count * value;
    } else {
      of_columns.push_back({columns + begin * 4, columns + n * 4, count * 4});
      if (value > 0)
        of_values.push_back({values_there + begin * value, values_here + n * value, count * value});
    }
    n += count;
  }
  for (; row <= tile.rows; ++row) ends[row] = n;
  of_columns.insert(of_columns.end(), of_values.begin(), of_values.end());
  return transport_->get_ranges(to, {owner(i, j), tile.offset}, of_columns);
}

Stream TileMatrix::work_stream() {
  if (!work_stream_) work_stream_ = std::make_shared<OwnedStream>(where());
  return *work_stream_;
}

/// The same between devices. `from` is in this one's memory, and stays until the ticket's get is done.
Transport::Ticket TileMatrix::start_rows_there(std::byte* to, std::int64_t i, std::int64_t j,
                                               const TileNames& named, const Offset* from, Offset entries) {
  const auto& tile = map_.at(i, j);
  const auto value = static_cast<int>(bytes_of(map_.value));
  const auto columns = (tile.rows + 1) * 8;
  const auto stream = work_stream();
  auto* const ends = reinterpret_cast<Offset*>(to);
  ends_of_named(named.begin(), named.list.size, from, tile.rows, ends, stream);
  if (entries % 2 != 0) fill_async(to + columns + entries * 4, 0, 4, stream);
  if (entries == 0) synchronize(stream);
  const auto* const there = transport_->reached({owner(i, j), tile.offset});
  return transport_->get_by(entries * (4 + value), [&](Stream copies) {
    order(stream, copies);
    const auto copy = [&](std::int64_t first_there, std::int64_t first_here, int each) {
      copy_entries(named.begin(), named.list.size, from, there + first_there, ends, to + first_here, each,
                   copies);
    };
    copy(columns, columns, 4);
    copy(columns + padded_to(tile.nnz * 4, 8), columns + padded_to(entries * 4, 8), value);
  });
}

Transport::Ticket TileMatrix::fetch_to(std::byte* to, std::int64_t number, Span rows, const TileRows& named,
                                       const TileHere* offsets) {
  const auto i = number / map_.across(), j = number % map_.across();
  require_tile(i, j);
  const RemotePtr from{owner(i, j), map_.at(i, j).offset};
  if (offsets) return start_rows(to, i, j, *named, reinterpret_cast<const Offset*>(offsets->data()));
  if (map_.sparse) return transport_->get(to, from, map_.bytes(i, j));
  const auto each = map_.at(i, j).cols * bytes_of(map_.value);
  if (named) return transport_->get_rows(to, from, each, *named);
  return transport_->get(to + rows.first * each, {from.rank, from.offset + rows.first * each},
                         rows.size() * each);
}

TileRows TileMatrix::columns_met(std::int64_t i, std::int64_t j, const TileHere& here) {
  const auto find = [&] {
    const auto& tile = here.tile();
    if (!on_device()) return find_columns(here.data(), tile);
    const auto* const columns = tile.nnz > 0 ? csr_of<One>(here.data(), tile).indices : nullptr;
    return TileRows(std::make_shared<TileNames>(named_columns(columns, tile.nnz, tile.cols, work_stream()),
                                                tile.col_span()));
  };
  if (!mine(i, j)) return find();
  auto& kept = columns_met_[map_.number(i, j)];
  if (!kept) kept = find();
  return kept;
}

TileHere TileMatrix::async_get_on_host(std::int64_t i, std::int64_t j) {
  require_tile(i, j);
  return get(i, j, {0, map_.at(i, j).rows}, on_device());
}

TileHere TileMatrix::get_on_host(std::int64_t i, std::int64_t j) {
  auto here = async_get_on_host(i, j);
  here.data();
  return here;
}

TileHere TileMatrix::get_rows_on_host(std::int64_t i, std::int64_t j, Span rows) {
  require_tile(i, j);
  const auto there = map_.at(i, j).rows;
  require(!map_.sparse, "a sparse tile is fetched as a whole");
  require(0 <= rows.first && rows.first <= rows.end && rows.end <= there, [&] {
    return "rows " + std::to_string(rows.first) + " to " + std::to_string(rows.end) + " of a tile of " +
           std::to_string(there);
  });
  TileHere here;
  if (rows.size() > 0) here = get(i, j, rows, on_device()), here.data();
  return here;
}

TileHere TileMatrix::async_get_offsets(std::int64_t i, std::int64_t j, Span rows) {
  require_tile(i, j);
  require(map_.sparse, "a dense tile has no row offsets");
  TileHere here;
  here.tile_ = map_.at(i, j);
  if (mine(i, j)) {
    here.own_ = own_tile(i, j);
    return here;
  }
  const Span bytes{rows.first * 8, (rows.end + 1) * 8};
  here.fetched_ = bytes.size();
  here.landing_ = start(i, j, bytes, false);
  return here;
}

}  // namespace penstock
