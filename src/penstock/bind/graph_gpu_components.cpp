// Connected components on a GPU.
#include <nanobind/stl/string.h>

#include "penstock/bind/graph_gpu.hpp"
#include "penstock/core/config.hpp"
#include "penstock/graph/cc_gpu.hpp"

namespace penstock::bind {
namespace {

CcMethod method_named(const std::string& text) {
  if (text == "auto" || text == "afforest") return CcMethod::afforest;
  require(text == "label_propagation",
          "method=\"" + text + "\" is unknown: choose auto, afforest or label_propagation");
  return CcMethod::label_propagation;
}

nb::tuple components([[maybe_unused]] BoundGpuGraph& out, [[maybe_unused]] BoundGpuGraph* in,
                     [[maybe_unused]] const CcGpuOptions& options) {
  if constexpr (have_cuda) {
    CcGpuResult r;
    {
      const nb::gil_scoped_release release;
      r = connected_components_gpu(*out.graph, in ? in->graph.get() : nullptr, options);
    }
    nb::dict told;
    told["rounds"] = r.rounds, told["lists"] = r.lists, told["entries"] = r.entries, told["missed"] = r.missed;
    told["seconds"] = r.seconds, told["copy_seconds"] = r.copy_seconds;
    told["read"] = options.count ? nb::object(as_dict(r.requests)) : nb::object(nb::none());
    return nb::make_tuple(r.count, as_result(r.labels), told);
  } else {
    throw Error(Errc::not_compiled, "connected components on a GPU: this build has no CUDA. Give device=\"cpu\", or install "
                                    "a CUDA toolkit and build again");
  }
}

}  // namespace

void graph_gpu_components(nb::module_& m) {
  m.def("components_gpu", [](BoundGpuGraph& out, BoundGpuGraph* in, const std::string& method, const std::string& access,
                             int sample, bool count) {
    return components(out, in, {.method = method_named(method),
                                .access = access_named(access),
                                .sample = sample,
                                .count = count});
  }, nb::arg("out"), nb::arg("incoming").none(), nb::arg("method") = "auto", nb::arg("access") = "auto",
        nb::arg("sample") = 4, nb::arg("count") = false, "(count, labels, what was done)");
}

}  // namespace penstock::bind
