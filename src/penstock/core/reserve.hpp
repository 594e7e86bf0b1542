#pragma once
#include <cstdint>
#include <memory>

#include "penstock/core/array.hpp"

namespace penstock {

/// Host memory for a result of which only an upper bound of the size is known. It reserves addresses for the bound, and
/// memory is taken only for what is written. `keep` gives the rest back; what stays is an Array like any other.
class Reservation {
 public:
  /// Throws Error{out_of_memory}, with the size, where the system does not even give the addresses.
  explicit Reservation(std::int64_t bytes);
  std::byte* data() const { return data_; }

  template <class T>
  Array<T> keep(std::int64_t count) {
    shrink(count * static_cast<std::int64_t>(sizeof(T)));
    return {reinterpret_cast<T*>(data_), count, {}, owner_};
  }

  struct Pages;

 private:
  void shrink(std::int64_t bytes);
  std::byte* data_ = nullptr;
  std::shared_ptr<void> owner_;
  Pages* pages_ = nullptr;  // null where the block is an ordinary small one
  std::int64_t bytes_ = 0;
};

/// Host bytes that are 0. A large block takes memory, in huge pages, only when it is first touched.
std::shared_ptr<void> zeroed_bytes(std::int64_t bytes);

/// Host memory whose pages, if it is large, go back to the system as soon as it is freed. The C library keeps freed blocks of
/// up to 32 MB that lie between others, so memory that one step of a setup needs would stay with the process.
std::shared_ptr<void> apart_bytes(std::int64_t bytes);

template <class T>
Array<T> allocate_apart(std::int64_t count) {
  auto owner = apart_bytes(count * static_cast<std::int64_t>(sizeof(T)));
  return {static_cast<T*>(owner.get()), count, {}, owner};
}

}  // namespace penstock
