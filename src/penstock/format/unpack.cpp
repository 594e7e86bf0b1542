#include <string>

#include "penstock/core/error.hpp"
#include "penstock/format/pack_values.hpp"
#include "penstock/format/packed_tile.hpp"

namespace penstock {
namespace {

/// Writes indptr of every row of a block: an empty row has the begin of the next row with entries.
void unpack_rows(const PackedView& view, const std::vector<std::uint32_t>& starts, Offset* indptr) {
  const auto& h = view.header();
  std::size_t rank = 0;
  for (std::int64_t r = 0; r < h.rows; ++r) {
    indptr[h.first_row + r] = h.first_nnz + (rank < starts.size() ? starts[rank] : h.nnz);
    rank += h.present_at == 0 || (view.present()[r / 32] >> (r % 32) & 1) != 0;
  }
}

}  // namespace

template <class V>
Csr<V> unpack(const Packed<V>& a) {
  if (!can_read(Where{}, a.bytes.place))
    throw Error(Errc::not_accessible, "unpack reads the packed matrix on the CPU, but it is in " +
                                          std::string(name(a.bytes.place.memory)) +
                                          " memory: move it to the host first");
  const auto indptr = allocate<Offset>(a.rows + 1);
  const auto indices = allocate<Index>(a.nnz);
  const auto values = allocate<V>(is_pattern<V> ? 0 : a.nnz);
  const auto& blocks = *a.blocks;
  parallel_for(std::ssize(blocks), [&](std::int64_t i) {
    const auto& b = blocks[std::size_t(i)];
    const PackedView view{a.bytes.data + b.at};
    std::vector<std::uint32_t> starts;
    starts.reserve(std::size_t(b.ranks));
    DecodedTile tile;
    for (std::int64_t t = 0; t < b.tiles(); ++t) {
      decode_tile(view, t, tile);
      std::copy_n(tile.columns, tile.count, indices.data + b.first_nnz + t * kTileNnz);
      for (int s = 0; s < tile.starts; ++s)
        starts.push_back(static_cast<std::uint32_t>(t * kTileNnz + tile.start[s]));
    }
    const bool goes_on = i > 0 && b.piece && blocks[std::size_t(i) - 1].piece &&
                         blocks[std::size_t(i) - 1].first_row == b.first_row;
    if (!goes_on) unpack_rows(view, starts, indptr.data);
    if constexpr (!is_pattern<V>) read_values(view, 0, b.nnz, values.data + b.first_nnz);
  });
  indptr.data[a.rows] = a.nnz;
  Csr<V> out{a.rows, a.cols, indptr, indices, {}};
  if constexpr (!is_pattern<V>) out.values = values;
  return out;
}

#define X(V) template Csr<V> unpack(const Packed<V>&);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
