#pragma once
#include "penstock/bind/bind.hpp"
#include "penstock/format/packed.hpp"

namespace penstock::bind {

/// A packed matrix as Python holds it.
class PackedMatrix : public Guarded<AnyPacked> {
 public:
  PackedMatrix(AnyPacked any, double took) : Guarded(std::move(any), {}), seconds(took) {
    guard_ = std::visit([](const auto& a) { return Guard::of(a.bytes); }, any_);
  }
  /// A packed matrix of bytes from elsewhere, of which only the headers have been checked.
  void check_first(std::function<void()> check) { guard_.set_check(std::move(check)); }

  double seconds = 0;  // that packing took
};

}  // namespace penstock::bind
