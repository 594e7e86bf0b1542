// Messages and memory, measured: what penstock.dist.calibrate is made of.
#include <nanobind/stl/vector.h>

#include "penstock/bind/bind.hpp"
#include "penstock/comm/measure.hpp"

namespace penstock::bind {

void comm_measure(nb::module_& m) {
  using nb::arg;
  using Free = nb::call_guard<nb::gil_scoped_release>;
  m.def("ping_pong", [](Comm& comm, int a, int b, const std::vector<std::int64_t>& sizes, double seconds) {
    return ping_pong(comm, a, b, sizes, seconds);
  }, arg("comm"), arg("a"), arg("b"), arg("sizes"), arg("seconds"), Free());
  m.def("message_gap", &message_gap, arg("comm"), arg("a"), arg("b"), Free());
  m.def("exchange_round",
        [](Comm& comm, const std::vector<int>& partners, std::int64_t bytes, int rounds, double work) {
          return exchange_round(comm, partners, bytes, rounds, work);
        }, arg("comm"), arg("partners"), arg("bytes"), arg("rounds"), arg("work") = 0.0, Free());
  m.def("triad", &triad, arg("comm"), arg("ranks"), arg("bytes"), arg("rounds"), Free());
}

}  // namespace penstock::bind
