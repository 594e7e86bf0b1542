#pragma once
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/sample/gather_steps.hpp"

namespace penstock::graph {

/// Numbers of vertices as a device reads them: a copy where they are `on_host`. Waits for the stream. Throws
/// Error{invalid_argument} with the first one that is not below `vertices`; `name` is the argument's.
template <class Id>
Array<const Id> ids_on(const Id* ids, std::int64_t n, bool on_host, std::int64_t vertices, const char* name,
                       Stream stream) {
  Array<const Id> there{ids, n, {}, nullptr};
  if (on_host) {
    const auto copy = scratch<Id>(n, stream);
    copy_async(copy.data, ids, copy.bytes(), stream);
    there = copy;
  }
  const auto bad = find_first(n, IsOutside<Id>{there.data, vertices}, stream);
  if (bad != kNone)
    throw Error(Errc::invalid_argument,
                name + ("[" + std::to_string(bad) + "]=") + std::to_string(fetch(there.data + bad, stream)) +
                    " is outside a graph of " + std::to_string(vertices) + " vertices");
  return there;
}

}  // namespace penstock::graph
