// What the readers of text check before a library parses it.
#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/io/plain_text.hpp"

namespace penstock::bind {

void text(nb::module_& m) {
  m.def("plain_lines", [](const ReadArray<std::uint8_t>& bytes, const std::string& columns) {
    const nb::gil_scoped_release release;
    return plain_lines({bytes.data(), bytes.shape(0)}, columns);
  }, nb::arg("bytes"), nb::arg("columns"));
}

}  // namespace penstock::bind
