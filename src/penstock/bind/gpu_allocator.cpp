// Memory of GPUs from the allocator of another library, by functions of Python that _plan/gpu_allocator.py writes. They are
// called by any thread, with or without Python's lock, which is taken for them: nobody who holds that lock may wait for one
// that an allocating thread holds.
#include "penstock/core/gpu_allocator.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "penstock/bind/bind.hpp"

namespace penstock::bind {
namespace {

constexpr std::size_t kMostGpus = 64;

/// A Python object with allocate(bytes, gpu, stream) -> (address, token), free(token), room(gpu, free) -> int and
/// give_up(gpu). It is kept until the process ends, when blocks may still come back.
struct Library {
  PyObject* object = nullptr;
  PyObject *allocate = nullptr, *free = nullptr, *room = nullptr, *give_up = nullptr;
  GpuAllocator allocator;
};

/// What Python has raised, as an error of this library; Ctrl-C as it is.
[[noreturn]] void throw_raised(const std::string& library) {
  nb::python_error raised;
  if (!raised.matches(PyExc_Exception)) throw raised;
  const std::string text = nb::str(raised.value()).c_str();
  if (raised.matches(PyExc_MemoryError)) throw Error(Errc::out_of_memory, text);
  throw Error(Errc::cuda, "the allocator of " + library + ": " + text);
}

nb::object call(const Library& library, PyObject* function, const nb::tuple& args) {
  PyObject* const result = call_python(function, args.ptr());
  if (!result) throw_raised(library.allocator.name);
  return nb::steal(result);
}

/// A stream for which nothing is queued, ever: memory that was allocated for it is idle when it comes.
Stream idle_stream(Where where) {
  static std::mutex making;
  static std::array<std::atomic<void*>, kMostGpus> known{};  // never destroyed
  if (!where.is_gpu()) return {nullptr, where};
  auto& handle = known.at(static_cast<std::size_t>(where.gpu));
  if (!handle.load(std::memory_order_acquire)) {
    const std::lock_guard guard(making);
    if (!handle.load(std::memory_order_acquire))
      handle.store(make_stream(where).handle, std::memory_order_release);
  }
  return {handle.load(std::memory_order_acquire), where};
}

/// Gives a block back, from a destructor on any thread. Where Python is ending, the block ends with the process.
void give_back(const Library& library, PyObject* token) noexcept {
  if (python_has_ended()) return;
  const nb::gil_scoped_acquire gil;
  const nb::error_scope raised;  // an error may be on its way through the frame that lets the block go
  PyObject* const args = PyTuple_Pack(1, token);
  PyObject* const result = args ? call_python(library.free, args) : nullptr;
  if (!result) PyErr_WriteUnraisable(library.free);
  Py_XDECREF(result);
  Py_XDECREF(args);
  Py_DECREF(token);
}

std::shared_ptr<void> allocate_from(const Library& library, std::int64_t bytes, Where where,
                                    const std::optional<Stream>& stream) {
  const UseDevice use(where);
  const auto of = stream ? *stream : idle_stream(where);
  std::shared_ptr<void> block;
  {
    const nb::gil_scoped_acquire gil;
    const auto made = call(library, library.allocate,
                           nb::make_tuple(bytes, where.gpu, reinterpret_cast<std::uintptr_t>(of.handle)));
    const auto [address, token] = nb::cast<std::pair<std::uintptr_t, nb::object>>(made);
    block = {reinterpret_cast<void*>(address),
             [&library, held = nb::object(token).release().ptr()](void*) { give_back(library, held); }};
  }
  if (!stream) synchronize(of);  // a pool of CUDA's may have queued the allocation
  return block;
}

/// Calls f(), and forgets what Python raises.
template <class F>
void quietly(F f) noexcept {
  try {
    f();
  } catch (const std::exception&) {}
}

const Library& library_of(const std::string& name, const nb::object& object) {
  static auto* const known = new std::vector<Library*>;  // under Python's lock
  for (const auto* const one : *known)
    if (one->object == object.ptr()) return *one;
  auto* const made = new Library;
  const auto function = [&](const char* of) { return object.attr(of).inc_ref().ptr(); };
  made->object = object.inc_ref().ptr();
  made->allocate = function("allocate"), made->free = function("free");
  made->room = function("room"), made->give_up = function("give_up");
  made->allocator = {
      .name = name,
      .allocate = [made](std::int64_t bytes, Where where,
                         const std::optional<Stream>& s) { return allocate_from(*made, bytes, where, s); },
      .room =
          [made](Where where, std::int64_t free) {
            const nb::gil_scoped_acquire gil;
            return nb::cast<std::int64_t>(call(*made, made->room, nb::make_tuple(where.gpu, free)));
          },
      .give_up =
          [made](Where where) {
            const nb::gil_scoped_acquire gil;
            quietly([&] { call(*made, made->give_up, nb::make_tuple(where.gpu)); });
          }};
  known->push_back(made);
  return *made;
}

void set_allocator(const std::string& name, const nb::object& object) {
  const auto* const chosen = object.is_none() ? nullptr : &library_of(name, object).allocator;
  const nb::gil_scoped_release release;
  set_gpu_allocator(chosen);
}

/// Bytes as a kernel call or a matrix takes them: their address, and what keeps them.
nb::tuple gpu_block(std::int64_t bytes, int gpu, std::optional<std::uintptr_t> stream) {
  const Where where{gpu};
  std::optional<Stream> ordered;
  if (stream) ordered = Stream{reinterpret_cast<void*>(*stream), where};
  std::shared_ptr<void> block;
  {
    const nb::gil_scoped_release release;
    if (const auto* const other = gpu_allocator())
      block = allocate_by(*other, bytes, where, ordered, "ask for less");
    else block = ordered ? allocate_scratch(bytes, *ordered) : allocate_bytes(bytes, device_place(where));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(block.get());
  auto* owner = new std::shared_ptr<void>(std::move(block));
  return nb::make_tuple(
      address, nb::capsule(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); }));
}

}  // namespace

void gpu_allocators(nb::module_& m) {
  m.def("set_gpu_allocator", set_allocator, nb::arg("name"), nb::arg("library").none(),
        "From now on memory of GPUs comes from `library`, an object with allocate(bytes, gpu, stream) -> "
        "(address, token), free(token), room(gpu, free) and give_up(gpu), which is kept for ever; None for "
        "CUDA "
        "itself.");
  m.def(
      "gpu_allocator",
      [] {
        const auto* const other = gpu_allocator();
        return other ? other->name : std::string("cuda");
      },
      "The name of what allocates memory of GPUs at present.");
  m.def("gpu_block", gpu_block, nb::arg("bytes"), nb::arg("gpu"), nb::arg("stream") = nb::none(),
        "Uninitialised memory of a GPU, as it is allocated at present: its address, and an object that keeps "
        "it. "
        "With `stream`, a handle, for work on that stream alone. With gpu = -1 the CPU is the device.");
}

}  // namespace penstock::bind
