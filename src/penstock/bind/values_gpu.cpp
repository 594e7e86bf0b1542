// A matrix on a GPU with values of another library: its structure is shared with another matrix.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"

namespace penstock::bind {
namespace {

/// Keeps a Python object alive, and lets it go with the lock, on any thread.
std::shared_ptr<void> kept(const nb::object& object) {
  return {new nb::object(object), [](void* p) {
            const nb::gil_scoped_acquire gil;
            delete static_cast<nb::object*>(p);
          }};
}

struct Structure {
  std::int64_t rows = 0, cols = 0;
  Array<const Offset> indptr;
  Array<const Index> indices;
};

template <class V>
AnyCsr of_given(const Structure& s, const Array<const std::byte>& values) {
  return Csr<V>{s.rows,
                s.cols,
                s.indptr,
                s.indices,
                {reinterpret_cast<const V*>(values.data), s.indices.size, values.place, values.owner}};
}

/// What a reader of values waits for that are being written by work on a stream.
std::function<void()> end_of(Stream stream) {
  const UseDevice use(stream.where);
  const auto event = std::make_shared<OwnedEvent>(stream.where);
  record(*event, stream);
  return [event] { synchronize(*event); };
}

AnyCsr shared(const Matrix& a, std::uintptr_t pointer, std::int64_t nnz, const std::string& dtype,
              const nb::object& owner) {
  if constexpr (!have_cuda) no_cuda("values on a GPU");
  const auto s = std::visit(
      [](const auto& c) {
        return Structure{c.rows, c.cols, c.indptr, c.indices};
      },
      a.any());
  const auto where = s.indices.place;
  if (where.memory != Memory::device)
    throw Error(Errc::not_accessible, "values on a GPU: the matrix is in " + std::string(name(where.memory)) +
                                          " memory: move it to their GPU with A.to(ps.device(gpu))");
  require(nnz == s.indices.size,
          "values has " + std::to_string(nnz) + " entries: the matrix has " + std::to_string(s.indices.size));
  const auto* first = reinterpret_cast<const std::byte*>(pointer);
  if (nnz > 0 && place_of(first) != where && place_of(first).memory != Memory::managed)
    throw Error(Errc::not_accessible, "values is in " + std::string(name(place_of(first).memory)) +
                                          " memory: it must be on GPU " + std::to_string(where.ordinal) +
                                          ", where the matrix is");
  const Array<const std::byte> values{first, 0, where, kept(owner)};
  if (dtype == "float32") return of_given<float>(s, values);
  if (dtype == "float64") return of_given<double>(s, values);
  if (dtype == "complex64") return of_given<Complex64>(s, values);
  require(dtype == "complex128", "values is " + dtype + ": give float32, float64, complex64 or complex128");
  return of_given<Complex128>(s, values);
}

Matrix with_values(const Matrix& a, std::uintptr_t pointer, std::int64_t nnz, const std::string& dtype,
                   const nb::object& owner, std::optional<std::uintptr_t> stream) {
  auto made = shared(a, pointer, nnz, dtype, owner);
  if (!stream) return {std::move(made)};
  const int gpu = std::visit([](const auto& c) { return int(c.indices.place.ordinal); }, made);
  return Matrix::pending(std::move(made), end_of({reinterpret_cast<void*>(*stream), Where{gpu}}));
}

}  // namespace

void values_gpu(nb::module_& m) {
  m.def(
      "with_values_on_gpu", with_values, nb::arg("a"), nb::arg("pointer"), nb::arg("nnz"), nb::arg("dtype"),
      nb::arg("owner"), nb::arg("stream") = nb::none(),
      "A matrix with a's structure, which it shares, and the values at an address on the same GPU. It keeps "
      "`owner` alive; nothing is copied, and whoever writes there changes the matrix.");
}

}  // namespace penstock::bind
