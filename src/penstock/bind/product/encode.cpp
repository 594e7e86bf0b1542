// The packed form of a matrix: made, taken apart, multiplied.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "penstock/bind/product/encode.hpp"
#include "penstock/bind/product/form.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmv/spmv_packed.hpp"

namespace penstock::bind {
namespace {

PackedMatrix pack_matrix(const Matrix& m, int threads, std::int64_t block_nnz) {
  const nb::gil_scoped_release release;
  const auto begin = std::chrono::steady_clock::now();
  auto any = std::visit(
      [&](const auto& a) { return AnyPacked(pack(a, {.threads = threads, .block_nnz = block_nnz})); },
      m.any(release));
  return {std::move(any), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

PackedMatrix from_arrays(const ReadArray<std::int64_t>& directory, const ReadArray<std::uint8_t>& bytes,
                         bool mapped, const std::string& check, const std::string& source) {
  require(check == "all" || check == "first_use" || check == "cheap",
          "check=\"" + check + "\" is not all, first_use or cheap");
  const auto shared = share<std::uint8_t>(bytes, Place{mapped ? Memory::mapped : Memory::host});
  const Array<const std::byte> raw{reinterpret_cast<const std::byte*>(shared.data), shared.size, shared.place,
                                   shared.owner};
  auto any = packed_from({directory.data(), directory.shape(0)}, raw);
  {
    const nb::gil_scoped_release release;
    std::visit([&](const auto& a) { validate(a, check == "all"); }, any);
  }
  PackedMatrix out(any, 0);
  if (check == "first_use")
    out.check_first([any, source] {
      try {
        std::visit([](const auto& a) { validate(a, true); }, any);
      } catch (const Error& e) {
        if (e.code() != Errc::invalid_argument) throw;
        throw Error(e.code(), source + ": " + e.what() +
                                  ": the packed form is damaged, save the store again with packed=True");
      }
    });
  return out;
}

nb::tuple to_arrays(const PackedMatrix& m) {
  return std::visit(
      [](const auto& a) {
        if (!can_read(Where{}, a.bytes.place))
          throw Error(Errc::not_accessible, "to_arrays: the packed matrix is in " +
                                                std::string(name(a.bytes.place.memory)) +
                                                " memory, which the CPU cannot read");
        const auto numbers = directory_of(a);
        const auto directory = allocate<std::int64_t>(std::ssize(numbers));
        std::copy(numbers.begin(), numbers.end(), directory.data);
        const Array<const std::uint8_t> bytes{reinterpret_cast<const std::uint8_t*>(a.bytes.data),
                                              a.bytes.size, a.bytes.place, a.bytes.owner};
        return nb::make_tuple(as_numpy<std::int64_t>(directory), as_numpy(bytes));
      },
      m.any());
}

void multiply_packed(const PackedMatrix& m, const FormVector& x, const nb::object& y,
                     const std::string& semiring, const nb::object& alpha, const nb::object& beta) {
  multiply_form<Packed>("multiply_packed", m, x, y, semiring, alpha, beta,
                        []<class S, class V>(const Packed<V>& a, const auto* from, auto* to, Scale<S> scale) {
                          spmv_packed<S, V>(a, from, to, scale, Stream{});
                        });
}

nb::tuple time_spmv_packed_gpu(const PackedMatrix& m, const FormVector& x, const std::string& semiring,
                               int repeats, int gpu) {
  return time_form<Packed>("time_spmv_packed_gpu", m, x, semiring, repeats, gpu,
                           [](const auto& host, Stream stream) {
                             auto a = host;
                             const Place here{Memory::device, static_cast<std::int16_t>(stream.where.gpu)};
                             const auto bytes = allocate<std::byte>(a.bytes.size, here);
                             copy_async(bytes.data, a.bytes.data, a.bytes.size, stream);
                             a.bytes = bytes;
                             return [a]<class S, class V>(const auto* from, auto* to, Stream on) {
                               spmv_packed<S, V>(a, from, to, {}, on);
                             };
                           });
}

/// A property that needs no entries: get(matrix) of the type that it has.
template <class Get>
auto packed_property(Get get) {
  return [get](const PackedMatrix& m) { return std::visit(get, m.unread()); };
}

template <class V>
double bits_per_nonzero(const Packed<V>& a) {
  return a.nnz > 0 ? 8.0 * double(a.nbytes()) / double(a.nnz) : 0.0;
}

Matrix bound_unpack(const PackedMatrix& p) {
  const nb::gil_scoped_release release;
  return std::visit([](const auto& a) { return Matrix{unpack(a)}; }, p.any(release));
}

void bound_validate(const PackedMatrix& p, bool every_entry) {
  p.guard().require_whole();
  const nb::gil_scoped_release release;
  std::visit([&](const auto& a) { validate(a, every_entry); }, p.unread());
}

}  // namespace

void encode(nb::module_& m) {
  nb::class_<PackedMatrix>(m, "Packed", "A matrix in few bytes, without loss: what travels to GPUs.")
      .def_static("from_arrays", from_arrays, nb::arg("directory"), nb::arg("bytes"),
                  nb::arg("mapped") = false, nb::arg("check") = "all",
                  nb::arg("source") = "the packed matrix",
                  "Shares the bytes. Checks the directory and all headers; all that kernels follow now "
                  "(\"all\"), before the first use (\"first_use\", whose errors name `source`), or never "
                  "(\"cheap\").")
      .def("to_arrays", to_arrays, "(directory of int64, bytes as uint8): the bytes are shared, not copied.")
      .def_prop_ro("nbytes", packed_property([](const auto& a) { return a.nbytes(); }))
      .def_prop_ro("nnz", packed_property([](const auto& a) { return a.nnz; }))
      .def_prop_ro("shape", packed_property([](const auto& a) { return std::pair(a.rows, a.cols); }))
      .def_prop_ro("dtype", packed_property([]<class V>(const Packed<V>&) { return dtype_name<V>(); }))
      .def_prop_ro(
          "value_kind", packed_property([](const auto& a) { return std::string(name(a.kind)); }),
          "How values are stored: none (a pattern), constant, dictionary4, dictionary8, int8, int16, float32 "
          "or raw.")
      .def_prop_ro("bits_per_nonzero", packed_property([](const auto& a) { return bits_per_nonzero(a); }),
                   "Of everything: columns, rows, values, directories of blocks.")
      .def_prop_ro("blocks", packed_property([](const auto& a) { return std::ssize(*a.blocks); }))
      .def_prop_ro("place",
                   packed_property([](const auto& a) { return std::string(name(a.bytes.place.memory)); }))
      .def_ro("seconds", &PackedMatrix::seconds, "That packing took; 0 where the bytes were packed before.")
      .def("unpack", bound_unpack, "The matrix again, with the same arrays bit for bit.")
      .def("validate", bound_validate, nb::arg("every_entry") = true);
  m.def(
      "pack", pack_matrix, nb::arg("a"), nb::arg("threads") = 0,
      nb::arg("block_nnz") = PackOptions{}.block_nnz,
      "The packed form, made on at most `threads` threads (0: all); the bytes are the same for any number.");
  m.def("multiply_packed", multiply_packed, nb::arg("a"), nb::arg("x"), nb::arg("y"),
        nb::arg("semiring") = "plus_times", nb::arg("alpha") = nb::none(), nb::arg("beta") = nb::none(),
        "y = alpha A x + beta y on the CPU.");
  m.def("time_spmv_packed_gpu", time_spmv_packed_gpu, nb::arg("a"), nb::arg("x"),
        nb::arg("semiring") = "plus_times", nb::arg("repeats") = 7, nb::arg("gpu") = 0,
        "(seconds of each kernel call, y) with everything on the GPU.");
}

}  // namespace penstock::bind
