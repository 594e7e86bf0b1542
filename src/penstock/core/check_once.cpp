#include "penstock/core/check_once.hpp"

#include <chrono>
#include <thread>

#include "penstock/core/parallel.hpp"

namespace penstock {

void CheckOnce::require() {
  if (done()) return;
  std::unique_lock guard(lock_, std::defer_lock);
  while (!guard.try_lock()) {
    if (done()) return;
    poll_interrupt();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (done()) return;
  check_();
  settle();
}

}  // namespace penstock
