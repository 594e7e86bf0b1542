#pragma once
#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/solver/multigrid/hierarchy.hpp"

namespace penstock::bind {

/// The options of linalg/_amg/arguments.py.
inline AmgOptions amg_options(const nb::dict& d) {
  AmgOptions o;
  o.strength = nb::cast<double>(d["strength"]);
  o.l1_jacobi = nb::cast<bool>(d["l1_jacobi"]);
  o.degree = nb::cast<int>(d["degree"]);
  const auto cycle = nb::cast<std::string>(d["cycle"]);
  require(cycle == "V" || cycle == "W" || cycle == "K", "AMG: cycle is V, W or K");
  o.cycle = cycle == "V" ? AmgCycle::v : cycle == "W" ? AmgCycle::w : AmgCycle::k;
  o.max_levels = nb::cast<int>(d["max_levels"]);
  o.max_coarse = nb::cast<std::int64_t>(d["max_coarse"]);
  o.seed = nb::cast<std::uint64_t>(d["seed"]);
  o.block = nb::cast<std::int64_t>(d["block"]);
  o.symmetric = nb::cast<bool>(d["symmetric"]);
  require(o.symmetric || (o.l1_jacobi && o.cycle != AmgCycle::k),
          "AMG: a matrix that is not symmetric takes l1_jacobi and a V or W cycle");
  if (d.contains("rows_of_rank")) o.rows_of_rank = nb::cast<std::int64_t>(d["rows_of_rank"]);
  require(o.degree >= 1 && o.max_levels >= 1, "AMG: give degree and max_levels of at least 1");
  return o;
}

}  // namespace penstock::bind
