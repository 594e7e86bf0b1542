// Messages and memory, measured: what penstock.dist.calibrate is made of.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>

#include "penstock/bind/bind.hpp"
#include "penstock/comm/measure.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock::bind {
namespace {

/// Seconds of each of `times` products y = A x in a row, x of ones, on the CPU: without calls from Python between them.
std::vector<double> time_products(const Matrix& m, int times) {
  require(times >= 1, "time_products: times = " + std::to_string(times) + "; give at least 1");
  const nb::gil_scoped_release release;
  return std::visit(
      [&]<class V>(const Csr<V>& a) {
        for (const Place place : {a.indptr.place, a.indices.place, a.values.place})
          require(can_read(Where{}, place), "time_products reads the matrix on the CPU, but it is in " +
                                                std::string(name(place.memory)) +
                                                " memory: move it to the host first");
        using T = std::conditional_t<is_pattern<V>, double, V>;
        const auto x = allocate<T>(a.cols), y = allocate<T>(a.rows);
        std::fill_n(x.data, x.size, T(1)), std::fill_n(y.data, y.size, T(0));
        std::vector<double> out;
        for (int i = 0; i < times; ++i) {
          const auto begin = std::chrono::steady_clock::now();
          spmv<PlusTimes<T>, V>(a.view(), x.data, y.data, {}, {});
          out.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        return out;
      },
      m.any(release));
}

}  // namespace

void comm_measure(nb::module_& m) {
  using nb::arg;
  using Free = nb::call_guard<nb::gil_scoped_release>;
  m.def(
      "ping_pong",
      [](Comm& comm, int a, int b, const std::vector<std::int64_t>& sizes, double seconds) {
        return ping_pong(comm, a, b, sizes, seconds);
      },
      arg("comm"), arg("a"), arg("b"), arg("sizes"), arg("seconds"), Free());
  m.def("message_gap", &message_gap, arg("comm"), arg("a"), arg("b"), Free());
  m.def(
      "exchange_round",
      [](Comm& comm, const std::vector<int>& partners, std::int64_t bytes, int rounds, double work) {
        return exchange_round(comm, partners, bytes, rounds, work);
      },
      arg("comm"), arg("partners"), arg("bytes"), arg("rounds"), arg("work") = 0.0, Free());
  m.def("time_products", &time_products, arg("a"), arg("times"));
  m.def("triad", &triad, arg("comm"), arg("ranks"), arg("bytes"), arg("rounds"), Free());
}

}  // namespace penstock::bind
