// Arrays in a GPU's memory that belong to other libraries, as matrices; and a matrix's arrays for those libraries. No byte of
// entries is copied either way. Arrays come as addresses, which Python has asked their libraries for.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <functional>
#include <optional>
#include <tuple>

#include "penstock/bind/on_gpu.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/structure/check_gpu.hpp"
#include "penstock/kernel/structure/coo_gpu.hpp"

namespace penstock::bind {
namespace {

using Given = std::tuple<std::uintptr_t, std::int64_t, std::string>;  // address, length, dtype
using Owner = std::shared_ptr<void>;

/// Keeps Python's objects alive. Before they go, all that is queued on the GPU comes to its end, since their library may give
/// their memory to somebody else at once, in the order of its own stream only.
Owner kept_alive(const nb::object& objects, Where gpu) {
  auto* handle = new nb::object(objects);
  return {handle, [gpu](void* p) {
            drain(gpu);
            const nb::gil_scoped_acquire gil;
            delete static_cast<nb::object*>(p);
          }};
}

/// The array at an address. Throws unless it is in memory that the GPU has or manages.
template <class T>
Array<const T> shared_array(const Given& given, const std::string& name, Where gpu, const Owner& owner) {
  const auto [address, size, dtype] = given;
  require(size >= 0, name + " has a negative length");
  const auto* const data = reinterpret_cast<const T*>(address);
  if (size == 0) return {data, 0, device_place(gpu), owner};
  require(address % alignof(T) == 0, name + " does not begin at a multiple of its entries' size: copy it");
  const auto place = place_of(data);
  const bool there = place == device_place(gpu) || place.memory == Memory::managed;
  require(there, name + " is in " + std::string(penstock::name(place.memory)) + " memory" +
                     (place.memory == Memory::device ? " of GPU " + std::to_string(place.ordinal) : "") +
                     ", not in that of GPU " + std::to_string(gpu.gpu) +
                     ": all arrays of a matrix must be there, and still alive");
  return {data, size, place, owner};
}

bool is_wide(const Given& given, const std::string& name) {
  const auto& dtype = std::get<2>(given);
  require(dtype == "int32" || dtype == "int64", name + " is " + dtype + ": give int32 or int64");
  return dtype == "int64";
}

/// f.operator()<V>() for the type of the values; of none for One.
template <class F>
AnyCsr of_type(const std::optional<Given>& values, F&& f) {
  if (!values) return f.template operator()<One>();
  const auto& dtype = std::get<2>(*values);
  if (dtype == "float32") return f.template operator()<float>();
  if (dtype == "float64") return f.template operator()<double>();
  if (dtype == "complex64") return f.template operator()<Complex64>();
  if (dtype == "complex128") return f.template operator()<Complex128>();
  throw Error(Errc::invalid_argument,
              "values are " + dtype + ": give float32, float64, complex64 or complex128");
}

template <class V>
Array<const V> shared_values(const std::optional<Given>& values, Where gpu, const Owner& owner) {
  if constexpr (is_pattern<V>) return {};
  else return shared_array<V>(*values, "data", gpu, owner);
}

Matrix matrix_on_gpu(std::int64_t rows, std::int64_t cols, const Given& indptr, const Given& indices,
                     const std::optional<Given>& values, int gpu, std::uintptr_t stream_handle,
                     const nb::object& objects) {
  const Where here{gpu};
  const Stream stream{reinterpret_cast<void*>(stream_handle), here};
  const bool wide_offsets_given = is_wide(indptr, "indptr"), wide_columns = is_wide(indices, "indices");
  const auto owner = kept_alive(objects, here);
  const nb::gil_scoped_release release;
  const UseDevice use(here);
  return {of_type(values, [&]<class V>() -> AnyCsr {
    Csr<V> a{rows, cols, {}, {}, shared_values<V>(values, here, owner)};
    if (wide_offsets_given) {
      a.indptr = shared_array<Offset>(indptr, "indptr", here, owner);
    } else {
      const auto narrow = shared_array<std::int32_t>(indptr, "indptr", here, owner);
      a.indptr = wide_offsets(narrow.data, narrow.size, stream);
    }
    if (wide_columns) {
      const auto wide = shared_array<std::int64_t>(indices, "indices", here, owner);
      a.indices = narrow_columns(wide.data, wide.size, "indices", stream);
    } else {
      a.indices = shared_array<Index>(indices, "indices", here, owner);
    }
    validate_on(a, stream);
    return a;
  })};
}

Matrix coo_on_gpu(std::int64_t rows, std::int64_t cols, const Given& row, const Given& col,
                  const std::optional<Given>& values, int gpu, std::uintptr_t stream_handle) {
  const Where here{gpu};
  const Stream stream{reinterpret_cast<void*>(stream_handle), here};
  const auto n = std::get<1>(row);
  require(std::get<1>(col) == n && (!values || std::get<1>(*values) == n),
          "row, col and data must be equally long");
  const auto numbers = [&](const Given& given, const std::string& name) -> CooIndices {
    if (is_wide(given, name)) return {shared_array<std::int64_t>(given, name, here, {}).data, true};
    return {shared_array<std::int32_t>(given, name, here, {}).data, false};
  };
  const CooIndices i = numbers(row, "row"), j = numbers(col, "col");
  const nb::gil_scoped_release release;
  const UseDevice use(here);
  return {of_type(values, [&]<class V>() -> AnyCsr {
    const auto v = shared_values<V>(values, here, {});
    return coo_to_csr_on(CooView<V>{rows, cols, n, i, j, v.data}, stream);
  })};
}

/// A capsule of DLPack that keeps the array's owner. Whoever holds it may have work queued when it lets go.
template <class T>
nb::object exported(const Array<const T>& a, Where gpu) {
  auto* owner = new Owner(a.owner.get(), [keep = a.owner, gpu](void*) mutable {
    drain(gpu);
    keep.reset();
  });
  const nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<Owner*>(p); });
  const auto size = static_cast<std::size_t>(a.size);
  return nb::cast(nb::ndarray<T>(const_cast<T*>(a.data), {size}, capsule, {}, nb::dtype<T>(),
                                 nb::device::cuda::value, gpu.gpu));
}

nb::object device_capsule(const Matrix& a, const std::string& name) {
  const auto gpu = gpu_that_holds(a);
  if (!gpu)
    throw Error(Errc::not_accessible,
                "the matrix is not in a GPU's memory: move it there, with "
                "to(ps.device(0)), or share its host arrays");
  return std::visit(
      [&]<class V>(const Csr<V>& c) -> nb::object {
        require_on(*gpu, c, "to_cupy and to_torch");
        if (name == "indices") return exported(c.indices, *gpu);
        if (name == "indptr") {
          Array<const std::int32_t> narrow;
          {
            const nb::gil_scoped_release release;
            const OwnedStream stream(*gpu);
            narrow = narrow_offsets(c.indptr, c.nnz(), stream);
          }
          return exported(narrow, *gpu);
        }
        require(name == "values", "the arrays of a matrix are indptr, indices and values");
        if constexpr (is_pattern<V>) return nb::none();
        else return exported(c.values, *gpu);
      },
      a.any());
}

}  // namespace

void device_arrays(nb::module_& m) {
  using nb::arg;
  m.def("matrix_on_gpu", matrix_on_gpu, arg("rows"), arg("cols"), arg("indptr"), arg("indices"),
        arg("values").none(), arg("gpu"), arg("stream"), arg("objects"),
        "The matrix of arrays in a GPU's memory, each (address, length, dtype), checked there after what is "
        "queued on `stream`. Those of the stored types are shared, and `objects` is kept alive; offsets of "
        "int32 and columns of int64 are converted.");
  m.def("coo_on_gpu", coo_on_gpu, arg("rows"), arg("cols"), arg("row"), arg("col"), arg("values").none(),
        arg("gpu"), arg("stream"),
        "The matrix of triples in a GPU's memory, each array (address, length, dtype), sorted there; "
        "duplicates add up.");
  m.def("device_capsule", device_capsule, arg("a"), arg("name"),
        "DLPack's capsule of \"indices\", \"values\" (None of a pattern) or \"indptr\", which becomes int32, "
        "of "
        "a matrix in a GPU's memory.");
}

}  // namespace penstock::bind
