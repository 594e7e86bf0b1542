#pragma once
#include <memory>

#include "penstock/format/pack_blocks.hpp"
#include "penstock/io/webgraph/bv_codes.hpp"

namespace penstock {

/// A graph of WebGraph's, of which the lengths and the places of all lists are known: 16 bytes a vertex. The lists
/// themselves are read when they are asked for, in ranges of vertices, on all threads.
struct BvGraph {
  BvParameters parameters;
  Array<const std::uint8_t> bytes;
  Array<Offset> positions;  // the bit at which each list begins, and the end
  Array<Offset> indptr;
  bool with_offsets = false;  // whether a file told the positions, which may be another graph's
};

/// Finds lengths and places: from the file of offsets where its bytes are given, and by one pass over all codes
/// otherwise. Throws Error{invalid_argument} where the bytes are no such graph.
BvGraph open_bv_graph(const BvParameters& p, const Array<const std::uint8_t>& bytes,
                      const Array<const std::uint8_t>* offsets);

/// The whole matrix.
Csr<One> to_csr(const BvGraph& a);

/// Packs the graph block by block: no more of it is in memory than the blocks that are being made.
class BvPacking {
 public:
  /// The graph must live as long.
  explicit BvPacking(const BvGraph& a, const PackOptions& options = {});
  ~BvPacking();

  struct Part {
    std::vector<Array<std::byte>> blocks;
    Array<Index> columns;  // of the entries of these blocks
  };
  bool done() const { return next_ == std::ssize(*blocks_); }
  /// The next blocks, about `most` of them. All must not be done.
  Part next(std::int64_t most);
  /// When all is done: the packed form of the whole, without its bytes.
  Packed<One> directory() const;

 private:
  struct Walk;
  const BvGraph& graph_;
  std::shared_ptr<std::vector<PackedBlock>> blocks_;
  std::int64_t next_ = 0, bytes_ = 0;
  std::unique_ptr<Walk> walk_;  // where references reach too far back for ranges
};

Packed<One> to_packed(const BvGraph& a, const PackOptions& options = {});

}  // namespace penstock
