// One-sided verbs with NumPy arrays. Each get and put is waited for here, because its array must not be freed before it is done.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/bytes.hpp"
#include "penstock/comm/measure_transport.hpp"
#include "penstock/comm/transport.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/link/transport_gpu.hpp"

namespace penstock::bind {
namespace {

void get(Transport& t, const nb::object& out, int rank, std::int64_t offset) {
  const Bytes to(out, true);
  const nb::gil_scoped_release release;
  t.wait(t.get(to.data(), {rank, offset}, to.size()));
}

void get_rows(Transport& t, const nb::object& out, int rank, std::int64_t offset, std::int64_t row_bytes,
              const ReadArray<Index>& rows) {
  const Bytes to(out, true);
  const std::span names(rows.data(), rows.shape(0));
  require(row_bytes <= std::max<std::int64_t>(to.size(), 1),
          [&] { return "rows of " + std::to_string(row_bytes) + " bytes exceed the array"; });
  const auto needed = names.empty() ? 0 : (std::int64_t{names.back()} + 1) * row_bytes;
  require(needed <= to.size(), [&] {
    return "rows up to " + std::to_string(names.back()) + " of " + std::to_string(row_bytes) +
           " bytes exceed the " + std::to_string(to.size()) + " bytes of the array";
  });
  const nb::gil_scoped_release release;
  t.wait(t.get_rows(to.data(), {rank, offset}, row_bytes, names));
}

/// `ranges`: rows of (there, here, bytes).
void get_ranges(Transport& t, const nb::object& out, int rank, std::int64_t offset,
                const nb::ndarray<const std::int64_t, nb::numpy, nb::shape<-1, 3>, nb::c_contig>& ranges) {
  const Bytes to(out, true);
  std::vector<ByteRange> all;
  for (std::size_t n = 0; n < ranges.shape(0); ++n) {
    const auto* r = ranges.data() + 3 * n;
    require(r[2] >= 0 && r[1] >= 0 && r[1] <= to.size() && r[2] <= to.size() - r[1], [&] {
      return "a range of " + std::to_string(r[2]) + " bytes to " + std::to_string(r[1]) + " exceeds the " +
             std::to_string(to.size()) + " bytes of the array";
    });
    all.push_back({r[0], r[1], r[2]});
  }
  const nb::gil_scoped_release release;
  t.wait(t.get_ranges(to.data(), {rank, offset}, all));
}

void put(Transport& t, const nb::object& a, int rank, std::int64_t offset) {
  const Bytes from(a, false);
  const nb::gil_scoped_release release;
  t.wait(t.put(from.data(), {rank, offset}, from.size()));
}

template <class T>
void accumulate(Transport& t, const ReadArray<T>& values, int rank, std::int64_t offset) {
  const nb::gil_scoped_release release;
  t.accumulate({rank, offset}, values.data(), static_cast<std::int64_t>(values.shape(0)));
}

/// A part of this rank's own arena, wherever it is.
std::byte* here(Transport& t, std::int64_t offset, std::int64_t bytes) {
  require(offset >= 0 && bytes >= 0 && offset <= t.arena_bytes() && bytes <= t.arena_bytes() - offset, [&] {
    return std::to_string(bytes) + " bytes at " + std::to_string(offset) +
           " lie outside this rank's arena of " + std::to_string(t.arena_bytes()) + " bytes";
  });
  return t.arena() + offset;
}

void accumulate_from(Transport& t, std::int64_t at, std::int64_t count, bool wide, int rank,
                     std::int64_t offset) {
  require(count >= 0 && count <= t.arena_bytes(), [&] { return std::to_string(count) + " numbers"; });
  const auto each = static_cast<std::int64_t>(wide ? sizeof(double) : sizeof(float));
  require(at % each == 0, [&] { return "numbers at " + std::to_string(at) + ": a multiple of their size"; });
  const auto* from = here(t, at, count * each);
  if (wide) t.accumulate({rank, offset}, reinterpret_cast<const double*>(from), count);
  else t.accumulate({rank, offset}, reinterpret_cast<const float*>(from), count);
}

nb::object arena(const std::shared_ptr<Transport>& t) {
  if (t->where().is_gpu())
    throw Error(Errc::not_accessible, "the arena is in the memory of GPU " + std::to_string(t->where().gpu) +
                                          ": get() copies from it, put() to it");
  auto* owner = new std::shared_ptr<Transport>(t);
  const nb::capsule keep(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<Transport>*>(p); });
  const auto bytes = static_cast<std::size_t>(t->arena_bytes());
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(t->arena(), {bytes}, keep));
}

constexpr const char* kTransport =
    R"(One rank's way to the arenas of all: gets, puts, claims and sums that their owners take no part in.

Places are a rank and an offset in bytes. CommError is raised where another rank failed, or nothing came within the
communicator's timeout; ValueError for what lies outside an arena.)";

}  // namespace

void transport(nb::module_& m) {
  using nb::arg;
  using Free = nb::call_guard<nb::gil_scoped_release>;
  auto t = nb::class_<Transport>(m, "Transport", kTransport);
  t.def_prop_ro("rank", &Transport::rank, "The number of this rank, from 0.");
  t.def_prop_ro("size", &Transport::size, "How many ranks there are.");
  t.def_prop_ro("name", &Transport::name, "\"local\", \"mpi_rma\", \"peer\" or \"nvshmem\".");
  t.def_prop_ro(
      "gpu", [](const Transport& t) { return t.where().gpu; },
      "The GPU that has this rank's arena; -1: the CPU.");
  t.def_prop_ro("arena_bytes", &Transport::arena_bytes, "Bytes of each rank's arena.");
  t.def("arena", &arena, nb::sig("def arena(self) -> numpy.ndarray"),
        "This rank's arena, uint8: no copy. PlacementError where it is in the memory of a GPU.");
  t.def("get", &get, arg("out"), arg("rank"), arg("offset"),
        "Fills a C-contiguous array with the bytes there, and returns when that is done.");
  t.def("get_rows", &get_rows, arg("out"), arg("rank"), arg("offset"), arg("row_bytes"), arg("rows"),
        "Fills rows of a C-contiguous array from those of the table that begins there; int32, ascending.");
  t.def("get_ranges", &get_ranges, arg("out"), arg("rank"), arg("offset"), arg("ranges"),
        "Fills a C-contiguous array from ranges of bytes behind that place, in one message; rows of (there, "
        "here, bytes).");
  t.def("put", &put, arg("a"), arg("rank"), arg("offset"),
        "Writes the bytes of a C-contiguous array there, and returns when they are there.");
  t.def(
      "fetch",
      [](Transport& t, std::int64_t at, int rank, std::int64_t offset, std::int64_t bytes) {
        return t.get(here(t, at, bytes), {rank, offset}, bytes);
      },
      arg("here"), arg("rank"), arg("offset"), arg("bytes"), Free(),
      "Begins to copy bytes of an arena to offset `here` of this rank's; a ticket for wait() and test().");
  t.def(
      "send",
      [](Transport& t, std::int64_t at, int rank, std::int64_t offset, std::int64_t bytes) {
        return t.put(here(t, at, bytes), {rank, offset}, bytes);
      },
      arg("here"), arg("rank"), arg("offset"), arg("bytes"), Free(),
      "Begins to copy bytes at offset `here` of this rank's arena to another; a ticket for wait() and "
      "test().");
  t.def("wait", &Transport::wait, arg("ticket"), Free(), "Returns when that copy is done.");
  t.def("test", &Transport::test, arg("ticket"), Free(), "Whether that copy is done.");
  t.def(
      "fetch_add",
      [](Transport& t, int rank, std::int64_t offset, std::int64_t value) {
        return t.fetch_add({rank, offset}, value);
      },
      arg("rank"), arg("offset"), arg("value") = 1, Free(),
      "Adds to the int64 there, at a multiple of 8, atomically among all ranks; what was there before.");
  t.def(
      "compare_swap",
      [](Transport& t, int rank, std::int64_t offset, std::int64_t expected, std::int64_t desired) {
        return t.compare_swap({rank, offset}, expected, desired);
      },
      arg("rank"), arg("offset"), arg("expected"), arg("desired"), Free(),
      "Writes `desired` to the int64 there if it is `expected`; what was there before.");
  t.def(
      "load",
      [](Transport& t, int rank, std::int64_t offset) {
        return t.load({rank, offset});
      },
      arg("rank"), arg("offset"), Free(),
      "The int64 there; what its store() came after is seen from now on.");
  t.def(
      "store",
      [](Transport& t, int rank, std::int64_t offset, std::int64_t value) {
        t.store({rank, offset}, value);
      },
      arg("rank"), arg("offset"), arg("value"), Free(),
      "Writes the int64 there, after all that this rank has put.");
  t.def("accumulate", &accumulate<double>, arg("values").noconvert(), arg("rank"), arg("offset"),
        "Adds float64 or float32 values to those there, at a multiple of their size; no other sum is lost. "
        "Read them "
        "after barrier().");
  t.def("accumulate", &accumulate<float>, arg("values").noconvert(), arg("rank"), arg("offset"));
  t.def("accumulate_from", &accumulate_from, arg("here"), arg("count"), arg("wide"), arg("rank"),
        arg("offset"), Free(),
        "accumulate() of `count` numbers at offset `here` of this rank's arena, float64 where `wide`, else "
        "float32.");
  t.def("barrier", &Transport::barrier, Free(), "Completes all that any rank issued, and shows it to all.");
  t.def("__repr__", [](const Transport& t) {
    return "<Transport: " + t.name() + ", rank " + std::to_string(t.rank()) + " of " +
           std::to_string(t.size()) + ", " + std::to_string(t.arena_bytes()) + " bytes each>";
  });
  m.def(
      "make_transport",
      [](std::shared_ptr<Comm> comm, std::int64_t arena_bytes, const std::string& kind) {
        return make_transport(kind, std::move(comm), arena_bytes);
      },
      arg("comm"), arg("arena_bytes"), arg("kind") = "auto", Free(),
      "An arena of so many bytes on every rank, zero at first, and the way to all of them. Collective. "
      "`kind` is "
      "\"local\" (ranks that are threads), \"mpi_rma\" (MPI's windows) or \"auto\".");
  m.def(
      "make_device_transport",
      [](std::shared_ptr<Comm> comm, std::int64_t arena_bytes, const std::string& kind, int gpu) {
        return make_device_transport(kind, std::move(comm), arena_bytes, Where{std::max(gpu, -1)});
      },
      arg("comm"), arg("arena_bytes"), arg("kind") = "auto", arg("gpu") = -1, Free(),
      "make_transport() with arenas in the memory of GPUs, `gpu` on this rank, or of the CPU in their place "
      "where it is -1 "
      "on all. `kind` is \"peer\", \"nvshmem\" or \"auto\". Words lie in the first 2 MiB of an arena, in "
      "host memory, and an "
      "address is one of words or of bytes.");
  m.def(
      "get_times",
      [](Transport& t, int a, int b, const std::vector<std::int64_t>& sizes, double seconds, int under_way) {
        return get_times(t, a, b, sizes, seconds, under_way);
      },
      arg("transport"), arg("a"), arg("b"), arg("sizes"), arg("seconds"), arg("under_way") = 1, Free());
  m.def("claim_time", &claim_time, arg("transport"), arg("home"), arg("alone"), Free());
}

}  // namespace penstock::bind
