#pragma once
#include <cstdint>
#include <memory>

#include "penstock/core/array.hpp"

namespace penstock {

/// Host memory for a result whose size only a bound is known of: addresses for the bound, memory for what is written.
/// `keep` gives the rest back, and the part that stays is an Array like any other.
class Reservation {
 public:
  /// Throws Error{out_of_memory} naming the size where not even the addresses are to be had.
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

/// Host bytes that are 0; many of them take memory, in huge pages, as they are first touched.
std::shared_ptr<void> zeroed_bytes(std::int64_t bytes);

/// Host memory whose pages, if it is large, go back to the system as soon as it is freed. The C library keeps freed blocks of
/// up to 32 MB between others for later: what lives through one step of a setup would stay a part of the process.
std::shared_ptr<void> apart_bytes(std::int64_t bytes);

template <class T>
Array<T> allocate_apart(std::int64_t count) {
  auto owner = apart_bytes(count * static_cast<std::int64_t>(sizeof(T)));
  return {static_cast<T*>(owner.get()), count, {}, owner};
}

}  // namespace penstock
