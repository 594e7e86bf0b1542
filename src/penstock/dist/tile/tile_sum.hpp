#pragma once
#include <functional>
#include <memory>
#include <string_view>

#include "penstock/dist/tile/tiles.hpp"

// The arithmetic of tiles, without types: what the executors see. Products on other devices are another LocalProduct.
namespace penstock {

/// A tile that can be read here.
struct TileView {
  const std::byte* data = nullptr;
  TileAt tile;
  std::shared_ptr<const void> kept = {};  // keeps the bytes after the call that has this; null: nothing does
  std::int64_t product = -1;  // of a left factor: of which product its row span is a part; -1: of none
  bool stolen = false;        // it is another rank's product, of which few parts will be done here
  std::shared_ptr<void>* memo = nullptr;  // of an own left factor: where products keep what they derive of it
};

/// Rows of a sparse tile, outside of which it has no entries.
template <class V>
CsrView<V> rows_of(const TileView& tile, Span rows) {
  auto a = csr_of<V>(tile.data, tile.tile);
  a.indptr += rows.first, a.rows = rows.size();
  return a;
}

/// A sum of products: a tile of C, or the part of one that this rank computes for another rank.
class TileSum {
 public:
  virtual ~TileSum() = default;
  virtual void multiply_add(const TileView& a, const TileView& b) = 0;
  /// The same, but only where a sparse tile of C's shape has entries.
  virtual void multiply_add_on(const TileView& mask, const TileView& a, const TileView& b);

  /// No more parts of the product that was last added come from here.
  virtual void end_parts() {}
  /// Computes products that were put off to be computed together with later ones.
  virtual void settle() {}

  /// Cuts the sum into pieces of at most `most` bytes (at least 1024), one or more, and lets each be written.
  using Write = std::function<void(std::byte* to)>;
  using Piece = std::function<void(std::int64_t bytes, const Write& write, bool last)>;
  virtual void pieces(std::int64_t most, const Piece& piece) = 0;
  /// Adds a piece of another rank's sum of the same tile.
  virtual void add_piece(const std::byte* piece, std::int64_t bytes) = 0;

  /// Called once, when all products and pieces have come: completes the sum, and returns its number of entries. take() writes a
  /// sparse sum as a blob and gives the sum up; a dense sum already is in its place.
  virtual Offset finish() = 0;
  virtual void take(std::byte* blob) = 0;
};

/// The product of tiles over one semiring and one set of types.
class LocalProduct {
 public:
  virtual ~LocalProduct() = default;
  virtual TileValue result() const = 0;
  /// Whether products that go to one tile are put off to be computed together: then the tiles of all of them should be on
  /// their way early.
  virtual bool joins() const { return false; }
  /// Whether a left factor may have some rows only of those with entries, told by its row span: a part of a product.
  virtual bool takes_rows() const { return false; }
  /// `place`: where a dense sum is kept, of tile.rows x tile.cols entries that are overwritten; null: memory of its own.
  /// Sparse sums have their own.
  virtual std::unique_ptr<TileSum> start(const TileAt& tile, std::byte* place) const = 0;
};

/// Values of A and B, as ps.dist.tiled_array holds them. Throws Error{not_compiled} for what there is not.
std::unique_ptr<LocalProduct> local_product(std::string_view semiring, TileValue a, TileValue b,
                                            bool b_sparse);
/// The product with a dense B, and the one with a sparse B. Null: there is none.
std::unique_ptr<LocalProduct> local_spmm(std::string_view semiring, TileValue a, TileValue b);
std::unique_ptr<LocalProduct> local_spgemm(std::string_view semiring, TileValue a, TileValue b);

}  // namespace penstock
