#pragma once
#include <utility>

#include "penstock/core/trace.hpp"
#include "penstock/schedule/tile_source.hpp"

namespace penstock {

/// The whole matrix as one tile: it is already where the kernel can read it (InCore, ZeroCopy).
template <class V>
class Resident {
 public:
  explicit Resident(const Csr<V>& a) : tile_{{a.view(), {.first_row = 0, .rows = a.rows, .nnz = a.nnz()}}} {}
  std::optional<Tile<V>> acquire(Stream) { return std::exchange(tile_, std::nullopt); }
  void release(const Tile<V>&, Stream) {}

 private:
  std::optional<Tile<V>> tile_;
};
static_assert(TileSource<Resident<One>, One>);

/// The matrix where it is, with its row offsets on the stream's GPU; counts their bytes where they cross the link.
template <class V>
Csr<V> with_offsets_on(Stream stream, const Csr<V>& a, Trace& trace) {
  const auto here = device_place(stream.where);
  if (!stream.where.is_gpu() || a.indptr.place == here) return a;
  Csr<V> out = a;
  const auto offsets = allocate<Offset>(a.indptr.size, here);
  copy_async(offsets.data, a.indptr.data, a.indptr.bytes(), stream);
  trace.link_bytes += a.indptr.bytes();
  out.indptr = offsets;
  return out;
}

}  // namespace penstock
