#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "penstock/core/array.hpp"

namespace penstock {

/// Bytes of a graph's budget that others hold. They leave the account when they are let go, on any thread, and also after the graph.
class AsideBytes {
 public:
  std::int64_t bytes() const { return held_->load(std::memory_order_relaxed); }
  /// Counts so many bytes until the result is destroyed.
  std::shared_ptr<void> hold(std::int64_t bytes) {
    held_->fetch_add(bytes, std::memory_order_relaxed);
    return {held_.get(), [held = held_, bytes](void*) { held->fetch_sub(bytes, std::memory_order_relaxed); }};
  }

 private:
  std::shared_ptr<std::atomic<std::int64_t>> held_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

/// The same array, which lets `account` go when it is freed.
template <class T>
Array<T> with_account(const Array<T>& array, std::shared_ptr<void> account) {
  using Both =
      std::pair<std::shared_ptr<void>, std::shared_ptr<void>>;  // the account goes when the memory has gone
  const auto both = std::make_shared<Both>(std::move(account), array.owner);
  return {array.data, array.size, array.place, std::shared_ptr<void>(both, array.owner.get())};
}

}  // namespace penstock
