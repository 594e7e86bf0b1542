// The names that arguments may have, one list a choice: Python's checks, messages and help texts ask here.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "penstock/bind/bind.hpp"
#include "penstock/core/choice.hpp"
#include "penstock/dist/halo/halo.hpp"
#include "penstock/dist/halo/halo_gpu.hpp"
#include "penstock/format/short_floats.hpp"
#include "penstock/graph/gpu/gpu_graph.hpp"
#include "penstock/graph/similarity/similarity.hpp"
#include "penstock/kernel/spmv/spmv_plan.hpp"
#include "penstock/partition/partition.hpp"
#include "penstock/schedule/codec.hpp"
#include "penstock/semiring/semirings.hpp"

namespace penstock::bind {
namespace {

template <class Rows>
auto copied(const Rows& rows) {
  return std::vector(std::begin(rows), std::end(rows));
}

}  // namespace

void choices(nb::module_& m) {
  nb::class_<Choice>(m, "Choice", "A name that an argument may have, and what it stands for.")
      .def_ro("name", &Choice::name)
      .def_ro("text", &Choice::text);
  nb::class_<CodecFacts>(m, "Codec", "A form in which entries travel, and what a product in it costs.")
      .def_ro("name", &CodecFacts::name)
      .def_ro("text", &CodecFacts::text)
      .def_ro("automatic", &CodecFacts::automatic, "Whether \"auto\" tries it.")
      .def_ro("copies", &CodecFacts::copies, "Of a block.")
      .def_ro("encoded_per_second", &CodecFacts::encoded_per_second,
              "Nonzeros that a thread brings into this form; 0: there is nothing to do.")
      .def_ro("nonzeros_per_byte", &CodecFacts::nonzeros_per_byte,
              "That kernels on a GPU take while its memory could read a byte.");
  nb::class_<ListedSemiring>(m, "Semiring", "`add` and `mul` name the NumPy functions that compute the same.")
      .def_prop_ro("name", [](const ListedSemiring& s) { return s.info.name; })
      .def_prop_ro("text", [](const ListedSemiring& s) { return s.info.text; })
      .def_prop_ro("add", [](const ListedSemiring& s) { return s.info.add; })
      .def_prop_ro("mul", [](const ListedSemiring& s) { return s.info.mul; })
      .def_ro("zero", &ListedSemiring::zero)
      .def_ro("one", &ListedSemiring::one)
      .def_ro("boolean", &ListedSemiring::boolean);
  using partition::Partitioner;
  nb::class_<Partitioner>(m, "Partitioner",
                          "`reads`: \"shape\", \"offsets\", \"lengths\" or \"graph\" of the matrix.")
      .def_ro("name", &Partitioner::name)
      .def_ro("text", &Partitioner::text)
      .def_prop_ro("reads", [](const Partitioner& p) { return partition::name(p.reads); });

  nb::class_<ShortFloat>(m, "ShortFloat", "A type of 16 bits to which values may be rounded.")
      .def_prop_ro("name", [](const ShortFloat& s) { return s.name; })
      .def_prop_ro("text", [](const ShortFloat& s) { return s.text; })
      .def_ro("most", &ShortFloat::most, "The largest number.")
      .def_ro("unit", &ShortFloat::unit, "Rounding changes a number by at most so much of it.");
  m.def(
      "short_floats", [] { return copied(kShortFloats); }, "What values may be rounded to.");
  m.def(
      "semirings", [] { return copied(semirings()); }, "What `semiring=` may be.");
  m.def(
      "codecs", [] { return copied(kCodecs); }, "What `codec=` may be, without \"auto\".");
  m.def(
      "partitioners", [] { return copied(partition::partitioners()); }, "What `partition=` may be by name.");
  m.def(
      "halos", [] { return copied(halos()); }, "What `halo=` may be among CPUs, without \"auto\".");
  m.def(
      "gpu_halos", [] { return copied(gpu_halos()); }, "What `halo=` may be among GPUs, without \"auto\".");
  m.def(
      "access_policies", [] { return copied(kAccessPolicies); }, "What `access=` may be, without \"auto\".");
  m.def(
      "edge_placements", [] { return copied(kEdgePlacements); },
      "What `placement=` of a graph's edges may be, without \"auto\".");
  m.def(
      "measures", [] { return copied(kMeasures); }, "What `measure=` of vertices that are alike may be.");
  m.def(
      "algorithms", [] { return copied(spmv_algorithms()); },
      "What `algorithm=` of a product on the CPU may be, without \"auto\".");
}

}  // namespace penstock::bind
