// Rows of feature matrices.
#include "penstock/bind/graph/graph.hpp"
#include "penstock/core/mapped_file.hpp"
#include "penstock/graph/sample/gather.hpp"

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

}  // namespace

void gather_rows(nb::module_& m) {
  m.def("gather_rows", bound_gather, nb::arg("features"), nb::arg("ids"), nb::arg("out"), nb::arg("in_order"),
        "Copies rows, as bytes, to out.");
}

}  // namespace penstock::bind
