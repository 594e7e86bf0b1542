// Where a matrix and its vectors are: moving them, locking their pages, and what the GPUs say.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>

#include "penstock/bind/bind.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/gpu_code.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::bind {
namespace {

constexpr std::int64_t kPiece = 256 << 20;  // bytes of a piece of a copy: Ctrl-C is noticed between pieces

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
  const auto place = place_named(memory, gpu);
  const nb::gil_scoped_release release;
  return std::visit(
      [&]<class V>(const Csr<V>& a) -> Matrix {
        const bool on_cpu = can_read(Where{}, place) && can_read(Where{}, a.indptr.place) &&
                            can_read(Where{}, a.indices.place) && can_read(Where{}, a.values.place);
        const OwnedStream stream(on_cpu ? Where{} : Where{gpu});
        Csr<V> out{a.rows, a.cols, copy_of(a.indptr, place, stream), copy_of(a.indices, place, stream), {}};
        if constexpr (!is_pattern<V>) out.values = copy_of(a.values, place, stream);
        return {out};
      },
      m.any(release));
}

/// The same bytes with their pages locked; a pinned copy where the array is small, in a file, or shares a page with one
/// that another range has locked: then not every byte of it would be.
template <class T>
Array<const T> locked(const Array<const T>& a) {
  if (a.place.memory == Memory::pinned) return a;
  std::shared_ptr<void> lock;
  if (a.place.memory == Memory::host && a.bytes() >= kLeastLocked) lock = lock_pages(a.data, a.bytes());
  if (!lock) return copy_of(a, {Memory::pinned}, Stream{});
  // The second member of a pair is destroyed first: pages are unlocked before their owner frees them.
  auto both =
      std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(a.owner, std::move(lock));
  return {a.data, a.size, {Memory::pinned}, std::move(both)};
}

Matrix lock_in_place(const Matrix& m) {
  const nb::gil_scoped_release release;
  return std::visit(
      [&]<class V>(const Csr<V>& a) -> Matrix {
        for (const Place place : {a.indptr.place, a.indices.place, a.values.place})
          if (!can_read(Where{}, place))
            throw Error(Errc::not_accessible, "lock_in_place: the matrix is in " +
                                                  std::string(name(place.memory)) +
                                                  " memory: move it to the host first");
        Csr<V> out{a.rows, a.cols, locked(a.indptr), locked(a.indices), {}};
        if constexpr (!is_pattern<V>) out.values = locked(a.values);
        return {out};
      },
      m.any(release));
}

/// Uninitialised bytes that NumPy may write.
nb::object managed_bytes(std::int64_t bytes) {
  require(bytes >= 0, "empty: " + std::to_string(bytes) + " bytes; give a number from 0");
  Array<std::byte> a;
  {
    const nb::gil_scoped_release release;
    a = allocate<std::byte>(bytes, {Memory::managed});
  }
  auto* owner = new std::shared_ptr<void>(a.owner);
  const nb::capsule keep(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); });
  auto* first = reinterpret_cast<std::uint8_t*>(a.data);
  return nb::cast(
      nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(first, {static_cast<std::size_t>(bytes)}, keep));
}

std::string why_no_gpu(int gpu) {
  if (gpu < device_count()) return "";
  const auto seen = gpus_seen();
  const auto first = std::find_if(seen.begin(), seen.end(), [](const GpuSeen& g) { return !g.why.empty(); });
  if (first != seen.end() && first - seen.begin() <= gpu)
    return first->why + (first - seen.begin() < gpu
                             ? "; or hide it by CUDA_VISIBLE_DEVICES: later ones are not used"
                             : "");
  try {
    gpu_info(gpu);
  } catch (const Error& e) {
    return e.what();
  }
  return "GPU " + std::to_string(gpu) + " cannot be used here";
}

}  // namespace

Place place_named(const std::string& memory, int gpu) {
  require(gpu >= 0 && gpu <= 0x7fff, "gpu = " + std::to_string(gpu) + "; give a number from 0");
  constexpr std::array kOwn{Memory::host, Memory::pinned, Memory::managed, Memory::device};
  const auto* found = std::find_if(kOwn.begin(), kOwn.end(), [&](Memory m) { return name(m) == memory; });
  require(found != kOwn.end(), "memory \"" + memory + "\" is not one of host, pinned, managed, device");
  return {*found, static_cast<std::int16_t>(*found == Memory::device || *found == Memory::managed ? gpu : 0)};
}

void place(nb::module_& m) {
  m.def("to_place", to_place, nb::arg("a"), nb::arg("memory"), nb::arg("gpu") = 0,
        "A copy of the matrix, all arrays in \"host\", \"pinned\", \"managed\" or \"device\" memory (of GPU "
        "`gpu`).");
  m.def("lock_in_place", lock_in_place, nb::arg("a"),
        "The matrix in pinned memory, its large arrays being the same bytes as before: their pages are "
        "locked.");
  m.def("managed_bytes", managed_bytes, nb::arg("bytes"),
        "Uninitialised managed memory as a NumPy array of bytes.");
  m.def(
      "ordinal",
      [](const Matrix& a) {
        return std::visit([](const auto& c) { return static_cast<int>(c.indices.place.ordinal); },
                          a.unread());
      },
      nb::arg("a"), "The GPU that holds the matrix's entries, where its place is \"device\" or \"managed\".");
  m.def(
      "memory_of",
      [](const nb::ndarray<nb::ro>& x) {
        const auto place = place_of(x.data());
        return std::string(name(place.memory == Memory::managed ? Memory::pinned : place.memory));
      },
      nb::arg("x"), "\"host\", \"pinned\" or \"device\": where the bytes of a vector are, for the planner.");
  m.def(
      "gpu_memory",
      [](int gpu) {
        const nb::gil_scoped_release release;
        const auto info = gpu_info(gpu);
        return std::pair(info.free_bytes, info.memory_bytes);
      },
      nb::arg("gpu"), "(free, total) bytes of a GPU's memory, now.");
  m.def("why_no_gpu", why_no_gpu, nb::arg("gpu") = 0,
        "Why this GPU cannot be used, with the remedy; \"\" where it can.");
}

}  // namespace penstock::bind
