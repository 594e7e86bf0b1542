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
  std::int64_t bytes() const { return held_->all.load(std::memory_order_relaxed); }
  /// Those of them that stay when the call that took them has returned.
  std::int64_t lasting() const { return held_->lasting.load(std::memory_order_relaxed); }
  /// Counts so many bytes until the result is destroyed.
  std::shared_ptr<void> hold(std::int64_t bytes, bool lasts = false) {
    held_->add(bytes, lasts);
    return {held_.get(), [held = held_, bytes, lasts](void*) { held->add(-bytes, lasts); }};
  }

 private:
  struct Held {
    std::atomic<std::int64_t> all = 0, lasting = 0;
    void add(std::int64_t bytes, bool lasts) {
      all.fetch_add(bytes, std::memory_order_relaxed);
      if (lasts) lasting.fetch_add(bytes, std::memory_order_relaxed);
    }
  };
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
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
