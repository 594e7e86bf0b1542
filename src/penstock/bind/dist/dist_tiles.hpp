#pragma once
#include <string>
#include <utility>
#include <vector>

#include "penstock/bind/dist/dist.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/tile/tiles.hpp"

// What the bindings of tiles share: types of values, devices, cuts.
namespace penstock::bind {

using Dense = nb::ndarray<nb::ro, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Grid = std::pair<int, int>;

template <class F>
decltype(auto) with_value(TileValue value, F&& f) {
  switch (value) {
    case TileValue::pattern: return f(One{});
    case TileValue::byte: return f(std::uint8_t{});
    case TileValue::float32: return f(float{});
    case TileValue::float64: break;
  }
  return f(double{});
}

inline TileValue value_of(const Dense& a) {
  if (a.dtype() == nb::dtype<float>()) return TileValue::float32;
  if (a.dtype() == nb::dtype<double>()) return TileValue::float64;
  if (a.dtype() == nb::dtype<std::uint8_t>()) return TileValue::byte;
  throw Error(Errc::not_compiled, "dense tiles have values of float32, float64 or uint8: use astype");
}

[[noreturn]] inline void refuse_values() {
  throw Error(Errc::not_compiled, "sparse tiles have values of bool, float32 or float64: use astype");
}

/// f(csr) where tiles can have its values.
template <class F, class... Released>
decltype(auto) with_csr(const Matrix& a, F&& f, const Released&... released) {
  return std::visit(
      [&]<class V>(const Csr<V>& csr) -> decltype(f(std::declval<const Csr<One>&>())) {
        if constexpr (is_pattern<V> || std::same_as<V, float> || std::same_as<V, double>) return f(csr);
        else refuse_values();
      },
      a.any(released...));
}

/// `device` is the number of a GPU, kCpuAsDevice, or kNoDevice for tiles in host memory.
constexpr int kCpuAsDevice = -1, kNoDevice = -2;

/// Where rows and columns are cut; empty: into equal tiles.
using Cuts = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;

void tile_sources(nb::module_& m);

}  // namespace penstock::bind
