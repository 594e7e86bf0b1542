// WebGraph's compressed graphs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/product/encode.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/io/webgraph/bv_graph.hpp"

namespace penstock::bind {
namespace {

using Bytes = ReadArray<std::uint8_t>;

BvCode code_of(const std::string& name) {
  if (name == "GAMMA") return BvCode::gamma;
  if (name == "DELTA") return BvCode::delta;
  if (name == "UNARY") return BvCode::unary;
  if (name == "ZETA") return BvCode::zeta;
  require(name == "NIBBLE", "the code " + name + " is not GAMMA, DELTA, UNARY, ZETA or NIBBLE");
  return BvCode::nibble;
}

/// An open graph, and how much of it has been packed.
class OpenBvGraph {
 public:
  explicit OpenBvGraph(BvGraph a) : graph_(std::move(a)) {}
  const BvGraph& graph() const { return graph_; }
  BvPacking& packing() {
    if (!packing_) packing_ = std::make_unique<BvPacking>(graph_);
    return *packing_;
  }

 private:
  BvGraph graph_;
  std::unique_ptr<BvPacking> packing_;
};

std::unique_ptr<OpenBvGraph> open_graph(const Bytes& graph, std::int64_t nodes, std::int64_t arcs,
                                        std::int64_t window, std::int64_t min_interval, int zeta_k,
                                        const std::vector<std::string>& codes,
                                        const std::optional<Bytes>& offsets) {
  require(codes.size() == 6, "six codes are needed");
  require(nodes >= 0 && nodes < std::int64_t(1) << 31 && arcs >= 0 && window >= 0 && window < 1 << 16 &&
              min_interval >= 0 && min_interval < std::int64_t(1) << 31 && zeta_k >= 1 && zeta_k <= 8,
          "a number of the .properties is out of range");
  const BvParameters p{nodes,
                       arcs,
                       window,
                       min_interval,
                       zeta_k,
                       code_of(codes[0]),
                       code_of(codes[1]),
                       code_of(codes[2]),
                       code_of(codes[3]),
                       code_of(codes[4]),
                       code_of(codes[5])};
  const auto bytes = share<std::uint8_t>(graph);
  Array<const std::uint8_t> more;
  if (offsets) more = share<std::uint8_t>(*offsets);
  const nb::gil_scoped_release release;
  return std::make_unique<OpenBvGraph>(open_bv_graph(p, bytes, offsets ? &more : nullptr));
}

nb::tuple pack_next(OpenBvGraph& a, std::int64_t most) {
  BvPacking::Part part;
  {
    const nb::gil_scoped_release release;
    require(!a.packing().done(), "all blocks have been packed");
    part = a.packing().next(most > 0 ? most : 4 * num_threads());
  }
  nb::list blocks;
  for (const auto& block : part.blocks)
    blocks.append(as_numpy(Array<const std::uint8_t>{reinterpret_cast<const std::uint8_t*>(block.data),
                                                     block.size, block.place, block.owner}));
  return nb::make_tuple(blocks, as_numpy<Index>(part.columns));
}

nb::object directory(OpenBvGraph& a) {
  require(a.packing().done(), "not all blocks have been packed");
  const auto numbers = directory_of(a.packing().directory());
  const auto out = allocate<std::int64_t>(std::ssize(numbers));
  std::copy(numbers.begin(), numbers.end(), out.data);
  return as_numpy<std::int64_t>(out);
}

}  // namespace

void webgraph(nb::module_& m) {
  nb::class_<OpenBvGraph>(m, "BvGraph",
                          "A compressed graph of WebGraph's; its lists are read when they are asked for.")
      .def_prop_ro("indptr", [](const OpenBvGraph& a) { return as_numpy<Offset>(a.graph().indptr); })
      .def(
          "csr",
          [](const OpenBvGraph& a) {
            const nb::gil_scoped_release release;
            return Matrix{to_csr(a.graph())};
          },
          "The whole matrix, read by all threads.")
      .def(
          "pack",
          [](const OpenBvGraph& a) {
            const nb::gil_scoped_release release;
            return PackedMatrix(to_packed(a.graph()), 0);
          },
          "The packed form of the whole.")
      .def("pack_next", pack_next, nb::arg("most") = 0,
           "(the next blocks of the packed form, the columns of their entries); about `most` blocks, or four "
           "a thread.")
      .def_prop_ro(
          "packed", [](OpenBvGraph& a) { return a.packing().done(); }, "Whether no block is left.")
      .def("directory", directory, "Of the packed form, when no block is left.");
  m.def("open_bvgraph", open_graph, nb::arg("graph"), nb::arg("nodes"), nb::arg("arcs"), nb::arg("window"),
        nb::arg("min_interval"), nb::arg("zeta_k"), nb::arg("codes"), nb::arg("offsets") = nb::none(),
        "Finds the places and lengths of all lists. `codes`: of outdegrees, blocks, residuals, references, "
        "counts of "
        "blocks and offsets. Shares the bytes.");
}

}  // namespace penstock::bind
