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

/// The matrix as it is, but with its row offsets on the stream's GPU. Where they must be sent there, the trace counts them.
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

/// The bytes of columns and values that kernels of a GPU read over the link, as they are not in its memory; 0 for the CPU.
template <class V>
std::int64_t linked_entry_bytes(const Csr<V>& a, Where where) {
  if (!where.is_gpu()) return 0;
  const auto here = device_place(where);
  std::int64_t bytes = 0;
  if (a.indices.place != here) bytes += a.indices.bytes();
  if (a.values.place != here) bytes += a.values.bytes();
  return bytes;
}

}  // namespace penstock
