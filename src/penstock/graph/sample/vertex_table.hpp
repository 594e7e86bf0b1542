#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

// The vertices of a sample, numbered in the order in which they were found. Threads insert at once; the numbers are those
// that one thread would give.
namespace penstock::graph {

class VertexTable {
 public:
  /// For the vertices [0, universe). With `disjoint`, each seed has vertices of its own: what one seed has found is new to
  /// the others.
  VertexTable(std::int64_t universe, bool disjoint) : universe_(universe), disjoint_(disjoint) {}

  std::int64_t universe() const { return universe_; }
  bool disjoint() const { return disjoint_; }
  std::int64_t size() const { return std::ssize(vertices_); }
  std::span<const std::int64_t> vertices() const { return vertices_; }
  /// Which seed found each vertex; empty where the samples are not disjoint.
  std::span<const std::int64_t> seeds() const { return seeds_; }

  /// Adds seeds, each as a vertex of its own even if it repeats; what is found later gets the number of the first. Seed i is
  /// number `first_seed` + i. Throws Error{invalid_argument} for a vertex outside.
  void add_seeds(std::span<const std::int64_t> some, std::int64_t first_seed);

  /// Writes the number of each vertex that was found, and adds those that are new. `of` says which seed has found each; it is
  /// empty where the samples are not disjoint.
  void number(std::span<const Index> found, std::span<const std::int64_t> of,
              std::span<std::int64_t> numbers);

 private:
  struct Slot {
    std::atomic<std::int64_t> key, value;
  };
  std::int64_t key(std::int64_t vertex, std::int64_t seed) const { return seed * universe_ + vertex; }
  std::int64_t home(std::int64_t key) const;
  std::int64_t insert(std::int64_t key, std::int64_t value);
  void reserve(std::int64_t more);

  std::int64_t universe_;
  bool disjoint_;
  bool direct_ = false;  // a slot for every vertex, which is its number
  std::int64_t capacity_ = 0;
  Array<Slot> slots_;
  std::vector<std::int64_t> vertices_, seeds_;
};

}  // namespace penstock::graph
