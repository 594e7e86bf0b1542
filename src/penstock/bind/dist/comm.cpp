// Ranks and what they say to one another, with NumPy arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <numeric>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/bytes.hpp"
#include "penstock/comm/comm.hpp"
#include "penstock/comm/threads.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::bind {
namespace {

nb::object numpy(const char* name) { return nb::module_::import_("numpy").attr(name); }
nb::object contiguous(nb::handle a) { return numpy("ascontiguousarray")(a); }
nb::object pickle(const char* name) { return nb::module_::import_("pickle").attr(name); }

Reduce op_named(const std::string& op) {
  if (op == "sum") return Reduce::sum;
  if (op == "min") return Reduce::min;
  if (op == "max") return Reduce::max;
  throw Error(Errc::invalid_argument, "all_reduce: op '" + op + "' is not one of sum, min, max");
}

template <class T>
using Values = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu>;

template <class T>
void all_reduce(Comm& comm, const Values<T>& values, const std::string& op) {
  const auto chosen = op_named(op);
  const nb::gil_scoped_release release;
  comm.all_reduce(std::span<T>(values.data(), values.size()), chosen);
}

/// The name of a dtype. NumPy computes it in Python, which is slow, so usual ones are recognised by their letters.
std::string dtype_text(const nb::object& dtype) {
  constexpr std::pair<char, const char*> kUsual[] = {{'d', "float64"}, {'l', "int64"}, {'f', "float32"},
                                                     {'i', "int32"},   {'?', "bool"},  {'B', "uint8"}};
  const nb::str letter(dtype.attr("char"));
  for (const auto& [c, known] : kUsual)
    if (letter.c_str()[0] == c) return known;
  return nb::cast<std::string>(dtype.attr("name"));
}

/// Arrays of one kind on all ranks: their shape and type go with the call.
std::string array_text(const char* verb, const nb::object& a) {
  auto out = std::string(verb) + "\nshape\t";
  const char* between = "";
  for (const auto n : nb::tuple(a.attr("shape"))) {
    out += between + std::to_string(nb::cast<std::int64_t>(n));
    between = " x ";
  }
  return out + "\ndtype\t" + dtype_text(a.attr("dtype"));
}

void broadcast(Comm& comm, const nb::object& a, int root) {
  const Bytes bytes(a, true);
  const About about(comm, array_text("broadcast", a) + "\nroot\t" + std::to_string(root));
  const nb::gil_scoped_release release;
  comm.broadcast(bytes.data(), bytes.size(), root);
}

nb::object all_gather(Comm& comm, const nb::object& a) {
  const auto mine = contiguous(a);
  nb::list shape;
  shape.append(comm.size());
  for (const auto n : nb::tuple(numpy("asarray")(a).attr("shape"))) shape.append(n);
  const auto all = numpy("empty")(nb::tuple(shape), mine.attr("dtype"));
  {
    const Bytes from(mine, false), to(all, true);
    const About about(comm, array_text("all_gather", mine));
    const nb::gil_scoped_release release;
    comm.all_gather(from.data(), from.size(), to.data());
  }
  return all;
}

/// The bytes of all ranks, one rank after the other, with size() + 1 offsets.
struct Gathered {
  std::vector<std::int64_t> offsets;
  std::vector<char> bytes;
};
Gathered gather_bytes(Comm& comm, const void* data, std::int64_t size, std::optional<int> root) {
  Gathered out;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(comm.size()));
  comm.all_gather(&size, sizeof size, sizes.data());
  out.offsets.assign(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), out.offsets.begin() + 1);
  if (!root || *root == comm.rank()) out.bytes.resize(static_cast<std::size_t>(out.offsets.back()));
  if (root) comm.gather_v(data, out.bytes.data(), out.offsets, *root);
  else comm.all_gather_v(data, out.bytes.data(), out.offsets);
  return out;
}

nb::object share_object(Comm& comm, const nb::object& object, int root) {
  nb::object pickled = nb::bytes("", 0);
  if (comm.rank() == root) pickled = pickle("dumps")(object, nb::arg("protocol") = 5);
  std::int64_t size = static_cast<std::int64_t>(nb::cast<nb::bytes>(pickled).size());
  {
    const nb::gil_scoped_release release;
    comm.broadcast(&size, sizeof size, root);
  }
  const auto all = comm.rank() == root ? nb::object() : numpy("empty")(size, "uint8");
  {
    const Bytes bytes(comm.rank() == root ? pickled : all, comm.rank() != root);
    const nb::gil_scoped_release release;
    comm.broadcast(bytes.data(), size, root);
  }
  return comm.rank() == root ? object : pickle("loads")(all);
}

nb::object collect(Comm& comm, const nb::object& object, std::optional<int> root) {
  const auto pickled = nb::cast<nb::bytes>(pickle("dumps")(object, nb::arg("protocol") = 5));
  Gathered all;
  {
    const nb::gil_scoped_release release;
    all = gather_bytes(comm, pickled.c_str(), static_cast<std::int64_t>(pickled.size()), root);
  }
  if (root && *root != comm.rank()) return nb::none();
  nb::list out;
  for (std::size_t r = 0; r + 1 < all.offsets.size(); ++r) {
    const auto first = static_cast<std::size_t>(all.offsets[r]),
               last = static_cast<std::size_t>(all.offsets[r + 1]);
    out.append(pickle("loads")(nb::bytes(all.bytes.data() + first, last - first)));
  }
  return out;
}

/// (shape, dtype) of an array, as it is told to other ranks.
nb::object kind_of(nb::handle a) {
  const auto array = numpy("asarray")(a);
  return nb::make_tuple(array.attr("shape"), array.attr("dtype"));
}
/// The arrays' bytes, one after the other; `offsets` has where each begins and the end.
nb::object flat(const nb::list& arrays, std::vector<std::int64_t>& offsets) {
  nb::list parts;
  offsets.assign(1, 0);
  for (const auto a : arrays) {
    const auto part = contiguous(a).attr("reshape")(-1);
    require_values(part);
    parts.append(part.attr("view")("uint8"));
    offsets.push_back(offsets.back() + nb::cast<std::int64_t>(part.attr("nbytes")));
  }
  return numpy("concatenate")(parts);
}
/// Arrays of these kinds in the bytes: they share the memory.
nb::list cut(const nb::object& bytes, const std::vector<std::int64_t>& offsets, const nb::list& kinds) {
  nb::list out;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto part =
        bytes.attr("__getitem__")(nb::slice(nb::int_(offsets[i]), nb::int_(offsets[i + 1]), nb::none()));
    out.append(part.attr("view")(kinds[i][1]).attr("reshape")(kinds[i][0]));
  }
  return out;
}
std::vector<std::int64_t> offsets_of(const nb::list& kinds) {
  std::vector<std::int64_t> offsets{0};
  for (const auto kind : kinds) {
    auto bytes = nb::cast<std::int64_t>(kind[1].attr("itemsize"));
    for (const auto n : nb::tuple(kind[0])) bytes *= nb::cast<std::int64_t>(n);
    offsets.push_back(offsets.back() + bytes);
  }
  return offsets;
}
nb::object bytes_array(std::int64_t size) { return numpy("empty")(size, "uint8"); }

nb::object gather(Comm& comm, const nb::object& a, std::optional<int> root) {
  const auto mine = contiguous(a);
  const Bytes from(mine, false);
  const nb::list kinds(collect(comm, kind_of(a), std::nullopt));
  const auto offsets = offsets_of(kinds);
  const bool here = !root || *root == comm.rank();
  const auto all = bytes_array(here ? offsets.back() : 0);
  {
    const Bytes to(all, true);
    const nb::gil_scoped_release release;
    if (root) comm.gather_v(from.data(), to.data(), offsets, *root);
    else comm.all_gather_v(from.data(), to.data(), offsets);
  }
  if (!here) return nb::none();
  return cut(all, offsets, kinds);
}

void require_one_each(const Comm& comm, const nb::list& arrays, const char* verb) {
  if (arrays.size() != static_cast<std::size_t>(comm.size()))
    throw Error(Errc::invalid_argument, std::string(verb) + ": " + std::to_string(arrays.size()) +
                                            " arrays were given for " + std::to_string(comm.size()) +
                                            " ranks: one each is needed");
}

nb::object scatter(Comm& comm, const nb::object& arrays, int root) {
  nb::list kinds;
  nb::object all = bytes_array(0);
  std::vector<std::int64_t> offsets;
  if (comm.rank() == root) {
    const nb::list given(arrays);
    require_one_each(comm, given, "scatter");
    for (const auto a : given) kinds.append(kind_of(a));
    all = flat(given, offsets);
  }
  kinds = nb::list(share_object(comm, kinds, root));
  offsets = offsets_of(kinds);
  const auto r = static_cast<std::size_t>(comm.rank());
  const auto mine = bytes_array(offsets[r + 1] - offsets[r]);
  {
    const Bytes from(all, false), to(mine, true);
    const nb::gil_scoped_release release;
    comm.scatter_v(from.data(), offsets, to.data(), root);
  }
  return mine.attr("view")(kinds[r][1]).attr("reshape")(kinds[r][0]);
}

nb::object all_to_all(Comm& comm, const nb::list& arrays) {
  require_one_each(comm, arrays, "all_to_all");
  std::vector<std::int64_t> send_offsets;
  const auto sent = flat(arrays, send_offsets);
  nb::list mine, kinds;
  for (const auto a : arrays) mine.append(kind_of(a));
  for (const auto theirs : nb::list(collect(comm, mine, std::nullopt))) kinds.append(theirs[comm.rank()]);
  const auto offsets = offsets_of(kinds);
  const auto received = bytes_array(offsets.back());
  {
    const Bytes from(sent, false), to(received, true);
    const nb::gil_scoped_release release;
    comm.all_to_all_v(from.data(), send_offsets, to.data(), offsets);
  }
  return cut(received, offsets, kinds);
}

std::vector<std::shared_ptr<Comm>> group(int ranks, double timeout) {
  std::vector<std::shared_ptr<Comm>> out;
  for (auto& comm : threads(ranks, {timeout})) out.push_back(std::move(comm));
  return out;
}

/// About as a context manager.
struct AboutBlock {
  std::shared_ptr<Comm> comm;
  TopicPtr topic;
  std::unique_ptr<About> here;
};

/// ThreadsHere as a context manager: entered and left on one thread.
struct ThreadsBlock {
  int threads;
  std::unique_ptr<ThreadsHere> here;
};

constexpr const char* kComm = R"(One rank of a program, and what it says to the others.

Collective calls are made by all ranks in the same order. CommError is raised where another rank failed, or nothing came
within `timeout` seconds; ValueError for a wrong argument.)";

}  // namespace

void comm(nb::module_& m) {
  auto c = nb::class_<Comm>(m, "Comm", kComm);
  c.def_prop_ro("rank", &Comm::rank, "The number of this rank, from 0.");
  c.def_prop_ro("size", &Comm::size, "How many ranks there are.");
  c.def_prop_ro("name", &Comm::name, "What carries the messages: \"threads\", or the MPI library.");
  c.def_prop_ro("one_process", &Comm::one_process, "Whether ranks share their memory.");
  c.def_prop_ro("timeout", &Comm::timeout, "Seconds after which waiting ends in CommError.");
  c.def("barrier", &Comm::barrier, nb::call_guard<nb::gil_scoped_release>(),
        "Waits until all ranks have come.");
  c.def("all_reduce", &all_reduce<double>, nb::arg("values").noconvert(), nb::arg("op") = "sum",
        "Element by element over all ranks, in place: sum, min or max. float64 or int64, C-contiguous, "
        "equally many "
        "values on all ranks. Sums are taken in one order: all ranks get the same bits.");
  c.def("all_reduce", &all_reduce<std::int64_t>, nb::arg("values").noconvert(), nb::arg("op") = "sum");
  c.def("broadcast", &broadcast, nb::arg("a"), nb::arg("root") = 0,
        "Writes the root's array into that of every other rank; same shape and dtype, C-contiguous.");
  c.def(
      "all_gather", &all_gather, nb::arg("a"), nb::sig("def all_gather(self, a: object) -> numpy.ndarray"),
      "The arrays of all ranks, stacked: result[r] is what rank r gave. Same shape and dtype on all ranks.");
  c.def("gather", &gather, nb::arg("a"), nb::arg("root").none() = nb::none(),
        nb::sig("def gather(self, a: object, root: int | None = None) -> typing.Any"),
        "A list of the arrays of all ranks, of any shapes and dtypes: at the root (None elsewhere), or for "
        "everyone.");
  c.def("scatter", &scatter, nb::arg("arrays").none(), nb::arg("root") = 0,
        nb::sig("def scatter(self, arrays: list | None, root: int = 0) -> numpy.ndarray"),
        "Gives rank r the r-th of the root's arrays; elsewhere `arrays` is not looked at.");
  c.def("all_to_all", &all_to_all, nb::arg("arrays"),
        nb::sig("def all_to_all(self, arrays: list) -> list[numpy.ndarray]"),
        "arrays[r] goes to rank r; result[r] is what came from rank r. Any shapes and dtypes.");
  c.def("share", &share_object, nb::arg("object").none(), nb::arg("root") = 0,
        nb::sig("def share(self, object: typing.Any, root: int = 0) -> typing.Any"),
        "The root's Python object on every rank, by pickle (the root keeps its own).");
  c.def("collect", &collect, nb::arg("object").none(), nb::arg("root").none() = nb::none(),
        nb::sig("def collect(self, object: typing.Any, root: int | None = None) -> typing.Any"),
        "A list of every rank's Python object, by pickle: at the root (None elsewhere), or for everyone.");
  c.def(
      "split", [](Comm& comm, int color, int key) { return std::shared_ptr<Comm>(comm.split(color, key)); },
      nb::arg("color"), nb::arg("key") = 0, nb::call_guard<nb::gil_scoped_release>(),
      "The ranks of each color (not negative) form a Comm of their own, ordered by key, then by rank.");
  c.def("fail", &Comm::fail, nb::arg("why"), nb::call_guard<nb::gil_scoped_release>(),
        "Tells all ranks that this one cannot go on: their calls raise CommError with its number and this "
        "reason.");
  c.def("__repr__", [](const Comm& comm) {
    return "<Comm: rank " + std::to_string(comm.rank()) + " of " + std::to_string(comm.size()) + ", " +
           comm.name() + ">";
  });
  m.def("threads_group", &group, nb::arg("ranks"), nb::arg("timeout") = 0.0);
  m.def(
      "leave", [](Comm& comm) { comm.leave(); }, nb::arg("comm"), nb::call_guard<nb::gil_scoped_release>());
  nb::class_<AboutBlock>(
      m, "About",
      "What the calls of a communicator inside belong to: a name and lines of argument and value.")
      .def(
          "__init__",
          [](AboutBlock* b, std::shared_ptr<Comm> comm, std::string text) {
            new (b) AboutBlock{std::move(comm), std::make_shared<const Topic>(std::move(text)), nullptr};
          },
          nb::arg("comm"), nb::arg("text"))
      .def("__enter__", [](AboutBlock& b) { b.here = std::make_unique<About>(*b.comm, b.topic); })
      .def("__exit__", [](AboutBlock& b, nb::args) { b.here.reset(); });
  nb::class_<ThreadsBlock>(m, "ThreadsHere",
                           "Threads of its own for the products of the thread that enters it.")
      .def(
          "__init__",
          [](ThreadsBlock* b, int threads) {
            new (b) ThreadsBlock{threads, nullptr};
          },
          nb::arg("threads"))
      .def("__enter__", [](ThreadsBlock& b) { b.here = std::make_unique<ThreadsHere>(b.threads); })
      .def("__exit__", [](ThreadsBlock& b, nb::args) {
        const nb::gil_scoped_release release;  // the threads of the pool end here
        b.here.reset();
      });
}

}  // namespace penstock::bind
