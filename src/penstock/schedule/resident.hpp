#pragma once
#include <utility>

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

}  // namespace penstock
