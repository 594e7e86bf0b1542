// What the readers of text check, and leave out, before a library parses it.
#include <nanobind/stl/string.h>

#include <memory>
#include <utility>
#include <vector>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/io/plain_text.hpp"
#include "penstock/io/text_lines.hpp"

namespace penstock::bind {
namespace {

using Bytes = ReadArray<std::uint8_t>;

Text text_of(const Bytes& bytes) { return {bytes.data(), bytes.shape(0)}; }

nb::object numbers(std::vector<std::int32_t>&& found) {
  auto owner = std::make_shared<std::vector<std::int32_t>>(std::move(found));
  return as_numpy(Array<const std::int32_t>{owner->data(), std::ssize(*owner), {}, owner});
}

}  // namespace

void text(nb::module_& m) {
  m.def(
      "plain_lines",
      [](const Bytes& bytes, const std::string& columns) {
        const nb::gil_scoped_release release;
        return plain_lines(text_of(bytes), columns);
      },
      nb::arg("bytes"), nb::arg("columns"));
  m.def(
      "skip_lines",
      [](const Bytes& bytes, const std::string& comments) {
        const auto skipped = [&] {
          const nb::gil_scoped_release release;
          return skip_lines(text_of(bytes), comments);
        }();
        return nb::make_tuple(skipped.bytes, skipped.lines);
      },
      nb::arg("bytes"), nb::arg("comments"));
  m.def(
      "copy_data_lines",
      [](const Bytes& bytes, const std::string& comments, WriteArray<std::uint8_t> out) {
        require(out.shape(0) >= bytes.shape(0), "copy_data_lines: out is shorter than the text");
        const nb::gil_scoped_release release;
        return copy_data_lines(text_of(bytes), comments, out.data());
      },
      nb::arg("bytes"), nb::arg("comments"), nb::arg("out"));
  m.def(
      "list_lines",
      [](const Bytes& bytes, const std::string& comments, std::int64_t most) {
        auto found = [&] {
          const nb::gil_scoped_release release;
          return list_lines(text_of(bytes), comments, most);
        }();
        return nb::make_tuple(numbers(std::move(found.lengths)), numbers(std::move(found.lines)),
                              found.bytes);
      },
      nb::arg("bytes"), nb::arg("comments"), nb::arg("most"));
}

}  // namespace penstock::bind
