#pragma once
#include <span>
#include <vector>

#include "penstock/format/coo.hpp"
#include "penstock/graph/cc/cc.hpp"

namespace penstock {

/// Weak components while edges are added: trees of vertices (union by the smaller root, with path halving: Tarjan, van Leeuwen
/// 1984). An edge that is removed may part a tree, which this cannot tell: make another one of the new components.
class GrowingComponents {
 public:
  /// Vertices 0, 1, ... and the component of each, numbered by the smallest vertex.
  explicit GrowingComponents(std::span<const Index> labels);

  std::int64_t vertices() const { return std::ssize(parents_); }
  void grow(std::int64_t vertices);
  /// Joins the components of rows[i] and cols[i]; ends are within the vertices.
  void unite(const CooIndices& rows, const CooIndices& cols, std::int64_t edges);
  /// Numbered as connected_components() does.
  Components components();

 private:
  std::vector<Index> parents_;
};

}  // namespace penstock
