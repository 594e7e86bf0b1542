// Rows of feature matrices.
#include "penstock/bind/graph/graph.hpp"
#include "penstock/core/mapped_file.hpp"
#include "penstock/graph/sample/gather.hpp"
#include "penstock/graph/sample/gather_gpu.hpp"

namespace penstock::bind {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::numpy, nb::ndim<2>, nb::device::cpu>;
using OutBytes = nb::ndarray<std::uint8_t, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void bound_gather(const Bytes& features, const ReadArray<std::int64_t>& ids, OutBytes out, bool in_order) {
  require(features.shape(1) <= 1 || features.stride(1) == 1, "gather: the bytes of a row lie side by side");
  require(out.shape(0) == ids.shape(0) && out.shape(1) == features.shape(1), "gather: out has another shape");
  if (const auto file = MappedFile::behind(features.data())) file->require_whole();
  const nb::gil_scoped_release release;
  graph::gather_rows(reinterpret_cast<const std::byte*>(features.data()),
                     static_cast<std::int64_t>(features.shape(0)),
                     static_cast<std::int64_t>(features.shape(1)), features.stride(0), bind::span_of(ids),
                     reinterpret_cast<std::byte*>(out.data()), in_order);
}

/// Throws Error{not_accessible} unless the device reads both ends of the features.
void require_features(Where where, const graph::FeatureRows& f) {
  if (f.rows == 0 || f.row_bytes == 0) return;
  for (const auto* p : {f.first, f.first + (f.rows - 1) * f.stride + f.row_bytes - 1})
    if (const auto place = place_of(p); !can_read(where, place))
      throw Error(Errc::not_accessible,
                  "gather: features in " + std::string(name(place.memory)) +
                      " memory cannot be read by GPU " + std::to_string(where.gpu) +
                      ": put them into pinned memory (ps.empty(shape, dtype, ps.pinned), or "
                      "tensor.pin_memory()) or on that GPU, or give ids in host memory");
}

void bound_gather_on(std::uintptr_t features, std::int64_t rows, std::int64_t row_bytes, std::int64_t stride,
                     std::uintptr_t ids, std::int64_t n, bool wide, std::uintptr_t out, int gpu,
                     std::uintptr_t stream_handle, graph::HotRows* hot) {
  const Where where{gpu};
  const Stream stream{reinterpret_cast<void*>(stream_handle), where};
  const graph::FeatureRows from{reinterpret_cast<const std::byte*>(features), rows, row_bytes, stride};
  auto* const to = reinterpret_cast<std::byte*>(out);
  const nb::gil_scoped_release release;
  const UseDevice use(where);
  require_features(where, from);
  if (wide) graph::gather_rows_on(from, reinterpret_cast<const std::int64_t*>(ids), n, to, stream, hot);
  else graph::gather_rows_on(from, reinterpret_cast<const std::int32_t*>(ids), n, to, stream, hot);
}

void hot_rows(nb::module_& m) {
  nb::class_<graph::HotRows>(m, "HotRows", "Copies of some rows of features in a GPU's memory.")
      .def(
          "__init__",
          [](graph::HotRows* self, std::uintptr_t features, std::int64_t rows, std::int64_t row_bytes,
             std::int64_t stride, const ReadArray<std::int64_t>& which, int gpu) {
            const graph::FeatureRows from{reinterpret_cast<const std::byte*>(features), rows, row_bytes,
                                          stride};
            const Where where{gpu};
            const nb::gil_scoped_release release;
            const UseDevice use(where);
            require_features(where, from);
            new (self) graph::HotRows(from, bind::span_of(which), where);
          },
          nb::arg("features"), nb::arg("rows"), nb::arg("row_bytes"), nb::arg("stride"), nb::arg("which"),
          nb::arg("gpu"), "Of features at an address, as gather_rows_on has them; which: each once.")
      .def(
          "counts",
          [](graph::HotRows& hot) {
            graph::HotRows::Counts found;
            {
              const nb::gil_scoped_release release;
              found = hot.counts();
            }
            return nb::make_tuple(found.gathered, found.found);
          },
          "(rows that were gathered, those that were read from the copies), when all that is queued is done");
}

}  // namespace

void gather_rows(nb::module_& m) {
  hot_rows(m);
  m.def("gather_rows", bound_gather, nb::arg("features"), nb::arg("ids"), nb::arg("out"), nb::arg("in_order"),
        "Copies rows, as bytes, to out.");
  m.def("gather_rows_on", bound_gather_on, nb::arg("features"), nb::arg("rows"), nb::arg("row_bytes"),
        nb::arg("stride"), nb::arg("ids"), nb::arg("n"), nb::arg("wide"), nb::arg("out"), nb::arg("gpu"),
        nb::arg("stream"), nb::arg("hot").none() = nb::none(),
        "The same for addresses: ids (int64, or int32 unless `wide`) and out are on the GPU, features there "
        "or in "
        "pinned memory; rows of `hot` are read there. Waits for the ids; the copies are queued on the "
        "stream.");
}

}  // namespace penstock::bind
