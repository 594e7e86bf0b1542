// One-sided verbs with NumPy arrays. Gets and puts are waited for here: an array must not go while they are under way.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/bytes.hpp"
#include "penstock/comm/measure_transport.hpp"
#include "penstock/comm/transport.hpp"

namespace penstock::bind {
namespace {

void get(Transport& t, const nb::object& out, int rank, std::int64_t offset) {
  const Bytes to(out, true);
  const nb::gil_scoped_release release;
  t.wait(t.get(to.data(), {rank, offset}, to.size()));
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

nb::object arena(const std::shared_ptr<Transport>& t) {
  auto* owner = new std::shared_ptr<Transport>(t);
  const nb::capsule keep(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<Transport>*>(p); });
  const auto bytes = static_cast<std::size_t>(t->arena_bytes());
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(t->arena(), {bytes}, keep));
}

constexpr const char* kTransport = R"(One rank's way to the arenas of all: gets, puts, claims and sums that their owners take no part in.

Places are a rank and an offset in bytes. CommError is raised where another rank failed, or nothing came within the
communicator's timeout; ValueError for what lies outside an arena.)";

}  // namespace

void transport(nb::module_& m) {
  using nb::arg;
  using Free = nb::call_guard<nb::gil_scoped_release>;
  auto t = nb::class_<Transport>(m, "Transport", kTransport);
  t.def_prop_ro("rank", &Transport::rank, "The number of this rank, from 0.");
  t.def_prop_ro("size", &Transport::size, "How many ranks there are.");
  t.def_prop_ro("name", &Transport::name, "\"local\" or \"mpi_rma\".");
  t.def_prop_ro("arena_bytes", &Transport::arena_bytes, "Bytes of each rank's arena.");
  t.def("arena", &arena, nb::sig("def arena(self) -> numpy.ndarray"), "This rank's arena, uint8: no copy.");
  t.def("get", &get, arg("out"), arg("rank"), arg("offset"),
        "Fills a C-contiguous array with the bytes there, and returns when that is done.");
  t.def("put", &put, arg("a"), arg("rank"), arg("offset"),
        "Writes the bytes of a C-contiguous array there, and returns when they are there.");
  t.def("fetch_add", [](Transport& t, int rank, std::int64_t offset, std::int64_t value) {
    return t.fetch_add({rank, offset}, value);
  }, arg("rank"), arg("offset"), arg("value") = 1, Free(),
        "Adds to the int64 there, at a multiple of 8, atomically among all ranks; what was there before.");
  t.def("compare_swap", [](Transport& t, int rank, std::int64_t offset, std::int64_t expected, std::int64_t desired) {
    return t.compare_swap({rank, offset}, expected, desired);
  }, arg("rank"), arg("offset"), arg("expected"), arg("desired"), Free(),
        "Writes `desired` to the int64 there if it is `expected`; what was there before.");
  t.def("load", [](Transport& t, int rank, std::int64_t offset) { return t.load({rank, offset}); }, arg("rank"),
        arg("offset"), Free(), "The int64 there; what its store() came after is seen from now on.");
  t.def("store", [](Transport& t, int rank, std::int64_t offset, std::int64_t value) {
    t.store({rank, offset}, value);
  }, arg("rank"), arg("offset"), arg("value"), Free(), "Writes the int64 there, after all that this rank has put.");
  t.def("accumulate", &accumulate<double>, arg("values").noconvert(), arg("rank"), arg("offset"),
        "Adds float64 or float32 values to those there, at a multiple of their size; no other sum is lost. Read them "
        "after barrier().");
  t.def("accumulate", &accumulate<float>, arg("values").noconvert(), arg("rank"), arg("offset"));
  t.def("barrier", &Transport::barrier, Free(), "Completes all that any rank issued, and shows it to all.");
  t.def("__repr__", [](const Transport& t) {
    return "<Transport: " + t.name() + ", rank " + std::to_string(t.rank()) + " of " + std::to_string(t.size()) + ", " +
           std::to_string(t.arena_bytes()) + " bytes each>";
  });
  m.def("make_transport", [](std::shared_ptr<Comm> comm, std::int64_t arena_bytes, const std::string& kind) {
    return make_transport(kind, std::move(comm), arena_bytes);
  }, arg("comm"), arg("arena_bytes"), arg("kind") = "auto", Free(),
        "An arena of so many bytes on every rank, zero at first, and the way to all of them. Collective. `kind` is "
        "\"local\" (ranks that are threads), \"mpi_rma\" (MPI's windows) or \"auto\".");
  m.def("get_times", [](Transport& t, int a, int b, const std::vector<std::int64_t>& sizes, double seconds) {
    return get_times(t, a, b, sizes, seconds);
  }, arg("transport"), arg("a"), arg("b"), arg("sizes"), arg("seconds"), Free());
  m.def("claim_time", &claim_time, arg("transport"), arg("home"), arg("alone"), Free());
}

}  // namespace penstock::bind
