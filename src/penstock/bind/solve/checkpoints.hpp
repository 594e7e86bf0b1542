// States of a solve handed to Python and back.
#pragma once
#include "penstock/bind/solve/solve_call.hpp"

namespace penstock::bind {

/// Views of the method's memory; they end with the call, so that the Python side copies.
template <class T>
nb::list views(const std::vector<std::span<std::byte>>& vectors) {
  nb::list out;
  for (const auto& v : vectors)
    out.append(nb::ndarray<nb::numpy, T, nb::ndim<1>>(reinterpret_cast<T*>(v.data()), {v.size() / sizeof(T)},
                                                      nb::none()));
  return out;
}

template <class T>
Checkpoints checkpoints_of(const nb::dict& d) {
  Checkpoints c;
  c.every = nb::cast<std::int64_t>(d["checkpoint_every"]);
  if (c.every == 0) return c;
  c.save = [f = nb::object(d["save"])](const SolveState& s) {  // both live as long as the call that made them
    const nb::gil_scoped_acquire gil;
    call_back(f, s.iterations, s.residuals, s.scalars, views<T>(s.vectors));
  };
  c.load = [f = nb::object(d["load"])](SolveState& s) {
    const nb::gil_scoped_acquire gil;
    const nb::object found = call_back(f, views<T>(s.vectors));
    if (found.is_none()) return false;
    const auto state = nb::cast<nb::tuple>(found);
    s.iterations = nb::cast<std::int64_t>(state[0]);
    s.residuals = nb::cast<std::vector<double>>(state[1]);
    s.scalars = nb::cast<std::vector<double>>(state[2]);
    s.anew = nb::cast<bool>(state[3]);
    return true;
  };
  return c;
}

}  // namespace penstock::bind
