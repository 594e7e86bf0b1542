#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "penstock/bind/bind.hpp"
#include "penstock/core/device.hpp"

namespace penstock::bind {

void device_arrays(nb::module_&);

/// The GPU on which a matrix is computed with: the one in whose memory its entries are, if the CPU cannot read them.
inline std::optional<Where> gpu_that_holds(const Matrix& a) {
  return std::visit(
      [](const auto& c) -> std::optional<Where> {
        for (const Place place : {c.indptr.place, c.indices.place, c.values.place})
          if (!can_read(Where{}, place)) return Where{place.ordinal};
        return std::nullopt;
      },
      a.unread());
}

/// Throws Error{not_accessible} unless GPU `where` can read the matrix. `reader` is what wants to.
template <class V>
void require_on(Where where, const Csr<V>& a, const std::string& reader) {
  for (const Place place :
       {a.indptr.place, a.indices.place, is_pattern<V> ? a.indices.place : a.values.place})
    if (!can_read(where, place))
      throw Error(Errc::not_accessible, reader + ": a matrix in " + std::string(name(place.memory)) +
                                            " memory cannot be read by GPU " + std::to_string(where.gpu) +
                                            ": move it there first, with to(ps.device(" +
                                            std::to_string(where.gpu) + "))");
}

/// f(csr, stream) for the type that the matrix has, on a stream of GPU `where`, without the interpreter's lock. A matrix in
/// a GPU's memory is complete as soon as there is one, so that the stream waits for nothing.
template <class F>
auto with_entries_on(Where where, const Matrix& a, const char* reader, F&& f) {
  return std::visit(
      [&](const auto& c) {
        require_on(where, c, reader);
        const nb::gil_scoped_release release;
        const OwnedStream stream(where);
        return f(c, stream);
      },
      a.any());
}

/// The matrix f(csr, stream), for the same.
template <class F>
Matrix made_on(Where where, const Matrix& a, const char* reader, F&& f) {
  return with_entries_on(where, a, reader,
                         [&](const auto& c, Stream stream) { return AnyCsr(f(c, stream)); });
}

}  // namespace penstock::bind
