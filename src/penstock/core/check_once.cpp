#include "penstock/core/check_once.hpp"

namespace penstock {

void CheckOnce::require() {
  if (done()) return;
  const auto held = lock_.lock();
  if (done()) return;
  check_();
  settle();
}

}  // namespace penstock
