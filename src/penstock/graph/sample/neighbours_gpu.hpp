#pragma once
#include <cstdint>

#include "penstock/graph/sample/device_graph.hpp"
#include "penstock/graph/sample/neighbours.hpp"
#include "penstock/graph/sample/table_steps.hpp"

// Samples of neighbourhoods on a device: what vertex_table.hpp and neighbours.hpp do on the CPU, number by number. The CPU is a
// device, too. All is in the order of one stream, which outlives tables and hops.
namespace penstock::graph {

class DeviceTable {
 public:
  DeviceTable(std::int64_t universe, bool disjoint, Stream stream)
      : universe_(universe), disjoint_(disjoint), stream_(stream) {}

  Stream stream() const { return stream_; }
  std::int64_t universe() const { return universe_; }
  bool disjoint() const { return disjoint_; }
  std::int64_t size() const { return size_; }
  const std::int64_t* vertices() const { return vertices_.data; }
  const std::int64_t* seeds() const { return seeds_.data; }  // null where the samples are not disjoint

  /// As VertexTable::add_seeds, for ids in the device's memory, or in host memory with `on_host`. It waits for them. The table
  /// of places gets room for `expected` vertices in all.
  template <class Id>
  void add_seeds(const Id* ids, std::int64_t n, bool on_host, std::int64_t first_seed, std::int64_t expected);

  /// What adding so many takes of the device, at most.
  std::int64_t bytes_for(std::int64_t more) const;
  /// Room for `more` vertices in the table of places.
  TableSlots reserve(std::int64_t more);
  /// Numbers what the edges of a hop lead to, whose slots are in `numbers`, which get the numbers. The device knows how many
  /// edges there are, at most `most`. It waits for that, and returns it.
  std::int64_t number(std::int64_t most, const Offset* edges, const Index* found, const std::int64_t* of,
                      std::int64_t* numbers);

 private:
  std::int64_t most_of(std::int64_t more) const;
  std::int64_t slots_for(std::int64_t more) const;
  void grow(std::int64_t size);

  std::int64_t universe_;
  bool disjoint_;
  Stream stream_;
  std::int64_t size_ = 0;
  Array<std::int64_t> vertices_, seeds_;
  Array<TableSlot> slots_;
};

/// Times of edges and of seeds where the device reads them (HopTimes); empty: edges are used always.
struct DeviceTimes {
  Array<const std::int64_t> edges, seeds;
  explicit operator bool() const { return edges.data != nullptr; }
};

/// sample_hop on a device.
HopEdges sample_hop_on(const DeviceGraph& a, const DeviceTable& from, std::int64_t first, std::int64_t last,
                       DeviceTable& to, const HopOptions& options, const DeviceTimes& times = {});

}  // namespace penstock::graph
