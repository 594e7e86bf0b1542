#pragma once
#include <nanobind/nanobind.h>

// Python's lock. Before 3.14 a thread that asks for it while the interpreter ends is unwound from inside of Python, which
// no destructor, `noexcept` or catch (...) of C++ survives: "terminate called without an active exception". Here such a
// thread sleeps instead, until the process has ended.
namespace penstock::bind {

/// Without the lock while it lives.
class GilReleased {
 public:
  GilReleased();
  ~GilReleased();
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

/// With the lock while it lives, on any thread.
class GilHeld {
 public:
  GilHeld();
  ~GilHeld();
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;

 private:
  PyGILState_STATE state_;
};

/// f(*args), with the lock held: for calls of Python beneath C++. A new reference, or null with Python's error set.
PyObject* call_python(PyObject* f, PyObject* args);

/// Is called as the last function before the interpreter ends: from now on other threads do not return from C++. Waits for a
/// short time at most until the threads in C++ have noticed.
void python_ends();

/// Whether the interpreter ends, or has ended: then destructors leave Python's objects alone.
bool python_has_ended() noexcept;

}  // namespace penstock::bind

/// nanobind with these locks. Its own ones would let threads unwind.
namespace nb {
using namespace nanobind;
using gil_scoped_release = penstock::bind::GilReleased;
using gil_scoped_acquire = penstock::bind::GilHeld;
}  // namespace nb

namespace penstock::bind {

/// f(args...) beneath C++: throws what Python raises.
template <class... Args>
nb::object call_back(const nb::object& f, Args&&... args) {
  const nb::tuple all = nb::make_tuple(std::forward<Args>(args)...);
  PyObject* result = call_python(f.ptr(), all.ptr());
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

}  // namespace penstock::bind
