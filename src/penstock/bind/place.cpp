// Moving a matrix to another memory.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>

#include "penstock/bind/bind.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::bind {
namespace {

constexpr std::int64_t kPiece = 256 << 20;  // Ctrl-C is heard between pieces of a copy

Place place_of(const std::string& memory, int gpu) {
  require(gpu >= 0 && gpu <= 0x7fff, "to_place: gpu = " + std::to_string(gpu) + "; give a number from 0");
  constexpr std::array kOwn{Memory::host, Memory::pinned, Memory::managed, Memory::device};
  const auto* found = std::find_if(kOwn.begin(), kOwn.end(), [&](Memory m) { return name(m) == memory; });
  require(found != kOwn.end(), "to_place: \"" + memory + "\" is not one of host, pinned, managed, device");
  return {*found, static_cast<std::int16_t>(*found == Memory::device || *found == Memory::managed ? gpu : 0)};
}

template <class T>
Array<const T> copy_of(const Array<const T>& a, Place place, Stream stream) {
  const auto out = allocate<T>(a.size, place);
  auto* to = reinterpret_cast<std::byte*>(out.data);
  const auto* from = reinterpret_cast<const std::byte*>(a.data);
  try {
    for (std::int64_t done = 0; done < a.bytes(); done += kPiece) {
      copy_async(to + done, from + done, std::min(kPiece, a.bytes() - done), stream);
      synchronize(stream);
      poll_interrupt();
    }
  } catch (...) {
    drain(stream);
    throw;
  }
  return out;
}

Matrix to_place(const Matrix& m, const std::string& memory, int gpu) {
  const auto place = place_of(memory, gpu);
  const nb::gil_scoped_release release;
  return std::visit([&]<class V>(const Csr<V>& a) -> Matrix {
    const bool on_cpu = can_read(Where{}, place) && can_read(Where{}, a.indptr.place) &&
                        can_read(Where{}, a.indices.place) && can_read(Where{}, a.values.place);
    const OwnedStream stream(on_cpu ? Where{} : Where{gpu});
    Csr<V> out{a.rows, a.cols, copy_of(a.indptr, place, stream), copy_of(a.indices, place, stream), {}};
    if constexpr (!is_pattern<V>) out.values = copy_of(a.values, place, stream);
    return {out};
  }, m.any);
}

}  // namespace

void place(nb::module_& m) {
  m.def("to_place", to_place, nb::arg("a"), nb::arg("memory"), nb::arg("gpu") = 0,
        "A copy of the matrix, all arrays in \"host\", \"pinned\", \"managed\" or \"device\" memory (of GPU `gpu`).");
}

}  // namespace penstock::bind
