#pragma once
#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"

namespace penstock::bind {

/// Throws for an array of Python objects: their bytes are addresses.
inline void require_values(nb::handle array) {
  if (nb::hasattr(array, "dtype") && nb::cast<bool>(array.attr("dtype").attr("hasobject")))
    throw Error(Errc::invalid_argument,
                "an array of Python objects cannot be sent: use share() or collect()");
}

/// The bytes of a C-contiguous array, for as long as this lives.
class Bytes {
 public:
  Bytes(nb::handle array, bool write) {
    require_values(array);
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_ANY_CONTIGUOUS | (write ? PyBUF_WRITABLE : 0)) != 0)
      throw nb::python_error();
    if (PyBuffer_IsContiguous(&view_, 'C')) return;
    PyBuffer_Release(&view_);
    throw Error(Errc::invalid_argument, "the array must be C-contiguous: pass numpy.ascontiguousarray(a)");
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  void* data() const { return view_.buf; }
  std::int64_t size() const { return static_cast<std::int64_t>(view_.len); }

 private:
  Py_buffer view_;
};

}  // namespace penstock::bind
