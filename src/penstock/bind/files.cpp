// Mapped files as NumPy arrays, and memory that is the library's own.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstring>

#include "penstock/bind/bind.hpp"
#include "penstock/core/mapped_file.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::bind {
namespace {

using Bytes = ReadArray<std::uint8_t>;
constexpr std::int64_t kGrain = 4 << 20;

nb::object map_file(int fd, std::int64_t first, std::int64_t bytes, const std::string& name,
                    std::optional<std::uint32_t> crc32) {
  const auto map = MappedFile::map(fd, first, bytes, name, crc32);
  return as_numpy(Array<const std::uint8_t>{reinterpret_cast<const std::uint8_t*>(map.data), map.size,
                                            map.place, map.owner});
}

std::optional<std::pair<std::string, std::uint32_t>> stored_crc32(const Bytes& a) {
  const auto file = MappedFile::behind(a.data());
  if (!file) return {};
  const auto crc32 = file->crc32_of(a.data(), static_cast<std::int64_t>(a.shape(0)));
  if (!crc32) return {};
  return std::pair(file->name(), *crc32);
}

nb::object copied_bytes(const Bytes& a) {
  const auto size = static_cast<std::int64_t>(a.shape(0));
  Array<std::uint8_t> out;
  {
    const nb::gil_scoped_release release;
    out = allocate<std::uint8_t>(size);
    parallel_ranges(size, kGrain, [&](std::int64_t first, std::int64_t last) {
      std::memcpy(out.data + first, a.data() + first, static_cast<std::size_t>(last - first));
      poll_interrupt();
    });
  }
  return as_numpy<std::uint8_t>(out);
}

}  // namespace

void files(nb::module_& m) {
  m.def("map_file", map_file, nb::arg("fd"), nb::arg("first"), nb::arg("bytes"), nb::arg("name"),
        nb::arg("crc32") = nb::none(),
        "Bytes of a file as a read-only array of uint8. Matrices over it ask whether the file is still whole "
        "before they "
        "are used; `crc32` is what `stored_crc32` says of it.");
  m.def("stored_crc32", stored_crc32, nb::arg("bytes"),
        "(file, checksum) of an array that is all that `map_file` mapped, with what was said there; None for "
        "others.");
  m.def("copied", copied_bytes, nb::arg("bytes"),
        "The bytes in memory that nobody else writes, copied by all threads; read-only.");
}

}  // namespace penstock::bind
