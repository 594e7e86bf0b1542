#pragma once
#include <atomic>
#include <mutex>
#include <string>
#include <variant>

#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/graph/sample/edge_filter.hpp"

namespace penstock::graph {

/// A graph that a device samples: its offsets are in the device's memory, the edges and their weights there or in pinned memory,
/// where threads read them in place.
class DeviceGraph {
 public:
  Where where;
  std::int64_t rows = 0, cols = 0;
  Array<const Offset> offsets;
  Array<const Index> edges;
  std::variant<std::monostate, Array<const float>, Array<const double>> weights;  // none: a pattern
  Array<const double> largest;  // weights of rows in the device's memory, once weighted walks need them

  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;
  /// Waits for what is queued: the arrays may be freed next.
  ~DeviceGraph() {
    if (queued_) drain(where);
  }
  /// Copies offsets that are elsewhere. Throws Error{not_accessible} for edges that the device cannot read.
  template <class V>
  DeviceGraph(const Csr<V>& a, Where w)
      : where(w), rows(a.rows), cols(a.cols), offsets(a.indptr), edges(a.indices) {
    for (const Place place : {a.indices.place, is_pattern<V> ? a.indices.place : a.values.place})
      if (!can_read(where, place))
        throw Error(Errc::not_accessible, "edges in " + std::string(name(place.memory)) +
                                              " memory cannot be sampled by GPU " +
                                              std::to_string(where.gpu) +
                                              ": pin them, with A.to(ps.pinned), or move them there, with "
                                              "A.to(ps.device(" +
                                              std::to_string(where.gpu) + "))");
    if constexpr (!is_pattern<V>) weights = a.values;
    if (offsets.place != device_place(where)) offsets = copied(offsets);
  }
  void keep_largest(const Array<const double>& of_rows) { largest = copied(of_rows); }
  /// What rules edges out, made once walks have asked about as many steps as a quarter of the edges: it reads all of these. Empty
  /// before that, and where the device has no room for it. The call waits where it makes one.
  EdgeFilter filter(std::int64_t steps) const;
  /// Whoever queues work that reads the graph, and does not wait for it, says so.
  void note_queued() const { queued_ = true; }

 private:
  template <class T>
  Array<const T> copied(const Array<const T>& some) const {
    const UseDevice use(where);
    const OwnedStream stream(where);
    const auto there = allocate<T>(some.size, device_place(where));
    copy_async(there.data, some.data, some.bytes(), stream);
    synchronize(stream);
    return there;
  }
  mutable std::atomic<bool> queued_ = false;
  mutable std::mutex lock_;  // for what follows
  mutable std::int64_t steps_ = 0;
  mutable Array<std::uint32_t> words_;
};

/// Memory for as long as a call takes, in the order of its stream.
template <class T>
Array<T> scratch(std::int64_t count, Stream stream) {
  if (count == 0) return {};
  auto owner = allocate_scratch(count * static_cast<std::int64_t>(sizeof(T)), stream);
  return {static_cast<T*>(owner.get()), count, device_place(stream.where), owner};
}

}  // namespace penstock::graph
