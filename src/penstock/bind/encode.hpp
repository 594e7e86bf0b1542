#pragma once
#include "penstock/bind/bind.hpp"
#include "penstock/format/packed.hpp"

namespace penstock::bind {

/// A packed matrix as Python holds it.
struct PackedMatrix {
  AnyPacked any;
  double seconds = 0;  // that packing took
};

}  // namespace penstock::bind
