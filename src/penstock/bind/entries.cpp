// Entries that ranks read separately become the parts of a matrix.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/coo.hpp"
#include "penstock/core/error.hpp"
#include "penstock/io/entries_among.hpp"

namespace penstock::bind {
namespace {

using Callable = nb::callable;

/// Calls next() of Python, which returns (whether more follow, row, col, values or None, base), or None where it cannot go on.
/// The arrays live until the next call.
template <class V>
NextChunk<V> chunks_of(const Callable& next, nb::object& held) {
  return [&next, &held](EntryChunk<V>& chunk) {
    const nb::gil_scoped_acquire gil;
    held = nb::object();
    held = call_back(next);
    if (held.is_none()) return Turn::failed;
    const auto said = nb::cast<nb::tuple>(held);
    const auto row = nb::cast<AnyArray>(said[1]), col = nb::cast<AnyArray>(said[2]);
    chunk.size = static_cast<std::int64_t>(row.shape(0)), chunk.base = nb::cast<std::int64_t>(said[4]);
    chunk.row = indices_of(row, "row"), chunk.col = indices_of(col, "col");
    require(col.shape(0) == row.shape(0), "rows and columns of a chunk differ in number");
    if constexpr (!is_pattern<V>) {
      const auto values = nb::cast<ReadArray<V>>(said[3]);
      require(values.shape(0) == row.shape(0), "rows and values of a chunk differ in number");
      chunk.values = values.data();
    }
    return nb::cast<bool>(said[0]) ? Turn::more : Turn::last;
  };
}

nb::object count(const std::shared_ptr<Comm>& comm, const Partition& p, const KeptRows& keep,
                 const std::string& mirror, const Callable& next) {
  const auto side = mirror_of(mirror);
  nb::object held;
  const auto chunks = chunks_of<One>(next, held);
  Array<Offset> lengths;
  try {
    const nb::gil_scoped_release release;
    lengths = count_among(*comm, p, keep, side, chunks);
  } catch (const RoundsFailed&) {
    return nb::none();
  }
  auto* owner = new std::shared_ptr<void>(lengths.owner);
  const nb::capsule keep_alive(owner,
                               [](void* o) noexcept { delete static_cast<std::shared_ptr<void>*>(o); });
  return nb::cast(nb::ndarray<nb::numpy, Offset, nb::ndim<1>>(
      lengths.data, {static_cast<std::size_t>(lengths.size)}, keep_alive));
}

nb::object assemble(const std::shared_ptr<Comm>& comm, const Partition& p, const KeptRows& keep,
                    const std::string& mirror, const std::string& dtype, const WriteArray<Offset>& lengths,
                    const Callable& next) {
  const auto side = mirror_of(mirror);
  nb::object held;
  const Array<Offset> left{lengths.data(), static_cast<std::int64_t>(lengths.shape(0)), {}, {}};
  const auto of = [&]<class V>(V) -> nb::object {
    const auto chunks = chunks_of<V>(next, held);
    std::optional<Matrix> made;
    try {
      const nb::gil_scoped_release release;
      made.emplace(assemble_among<V>(*comm, p, keep, side, left, chunks));
    } catch (const RoundsFailed&) {
      return nb::none();
    }
    return nb::cast(*std::move(made));
  };
  if (dtype == "bool") return of(One{});
  if (dtype == "float32") return of(float{});
  require(dtype == "float64", "dtype = " + dtype + " is not bool, float32 or float64");
  return of(double{});
}

}  // namespace

void entries(nb::module_& m) {
  using nb::arg;
  m.def("count_among", count, arg("comm"), arg("partition"), arg("keep"), arg("mirror"), arg("next"),
        "Entries of each kept row, of those that all ranks' next() say: (more, row, col, values, base), or "
        "None for a "
        "failure, which gives None on all ranks.");
  m.def("assemble_among", assemble, arg("comm"), arg("partition"), arg("keep"), arg("mirror"), arg("dtype"),
        arg("lengths"), arg("next"),
        "The kept rows, from count_among's lengths, which are used up; None as there.");
}

}  // namespace penstock::bind
