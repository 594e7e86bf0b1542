#include "penstock/bind/gil.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace penstock::bind {
namespace {

/// Threads look for Ctrl-C every 50 ms, and then wake those who wait here.
constexpr auto kLongestWait = std::chrono::milliseconds(300);

std::atomic<bool> ended = false;
std::atomic<pthread_t> ender;
std::atomic<int> inside = 0;  // threads that are in C++ and do not sleep

[[noreturn]] void sleep_for_ever() {
  inside.fetch_sub(1);
  for (;;) pause();
}
bool must_sleep() {
  return ended.load(std::memory_order_relaxed) && !pthread_equal(pthread_self(), ender.load());
}

/// f(), which asks for the lock and throws nothing. If something is thrown all the same, Python unwinds a thread to end it.
template <class F>
auto guarded(F f) {
  try {
    return f();
  } catch (...) {
    sleep_for_ever();  // to leave this block would go on with the unwinding
  }
}

}  // namespace

GilReleased::GilReleased() : state_(PyEval_SaveThread()) {
  static const bool once [[maybe_unused]] = pthread_atfork(nullptr, nullptr, [] { inside = 0; }) == 0;
  inside.fetch_add(1);
  if (must_sleep()) sleep_for_ever();
}
GilReleased::~GilReleased() {
  if (must_sleep()) sleep_for_ever();
  guarded([this] { PyEval_RestoreThread(state_); });
  inside.fetch_sub(1);
}

GilHeld::GilHeld() {
  if (must_sleep()) sleep_for_ever();
  state_ = guarded([] { return PyGILState_Ensure(); });
}
GilHeld::~GilHeld() { PyGILState_Release(state_); }

PyObject* call_python(PyObject* f, PyObject* args) {
  return guarded([=] { return PyObject_CallObject(f, args); });
}

bool python_has_ended() noexcept { return ended.load(std::memory_order_relaxed) || !Py_IsInitialized(); }

void python_ends() {
  const GilReleased released;
  ender = pthread_self();
  ended = true;
  const auto until = std::chrono::steady_clock::now() + kLongestWait;
  while (inside.load() > 1 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace penstock::bind
