#pragma once
#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reserve.hpp"

// Host memory for the packed lists that a device has no room for (pack_gpu.cpp). They arrive by copies while raw lists go the other way,
// and stay where they have landed, for kernels to read.
namespace penstock {

/// Words that arrive one after the other. A thread touches and locks the pages of what is expected, ahead of the copies, since both
/// take longer than the copies themselves; what exceeds that is locked when it comes.
class FarWords {
 public:
  /// At most `most` bytes, about `expected` of them.
  FarWords(std::int64_t most, std::int64_t expected, Where where) : where_(where), most_(most) {
    if (!where.is_gpu() || most < kLeastLocked) {
      memory_ = allocate_bytes(most, {where.is_gpu() ? Memory::pinned : Memory::host, 0});
      locked_ = most_;
      return;
    }
    memory_ = zeroed_bytes((most + kPiece - 1) / kPiece * kPiece);
    ahead_ = std::jthread([this, upto = std::min(most, expected)](const std::stop_token& stop) {
      const UseDevice use(where_);
      const ThreadsHere few(4);                             // others pack
      while (!stop.stop_requested() && lock_next(upto)) {}  // what fails is said where it is needed
    });
  }
  ~FarWords() { stop(); }
  FarWords(const FarWords&) = delete;
  FarWords& operator=(const FarWords&) = delete;

  std::int64_t bytes() const { return end_; }
  /// Queues a copy of device memory to where the last one ends. Throws Error{out_of_memory} where no more pages can be locked.
  void append(const void* from, std::int64_t bytes, Stream copies) {
    require(end_ + bytes <= most_, "packed lists: more came to the host than was said");
    while (lock_next(end_ + bytes)) {}
    if (failed_) std::rethrow_exception(failed_);
    const auto* at = static_cast<const std::byte*>(from);
    for (std::int64_t n = 0; bytes > 0; at += n, end_ += n, bytes -= n) {
      n = std::min(bytes, (end_ / kPiece + 1) * kPiece - end_);  // pages that were locked together
      copy_async(data() + end_, at, n, copies);
    }
  }
  /// What has arrived, once the copies are done, with its pages locked as long as it lives.
  Array<const std::uint32_t> keep() {
    stop();
    using Held = std::pair<std::shared_ptr<void>, std::vector<std::shared_ptr<void>>>;  // locks go first
    const auto held = std::make_shared<Held>(memory_, std::move(locks_));
    return {reinterpret_cast<const std::uint32_t*>(data()),
            end_ / 4,
            {where_.is_gpu() ? Memory::pinned : Memory::host, 0},
            std::shared_ptr<void>(held, data())};
  }

 private:
  static constexpr std::int64_t kPiece = 64 << 20, kHugePage = 2 << 20, kPage = 4096;

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  void stop() {
    ahead_.request_stop();
    if (ahead_.joinable()) ahead_.join();
  }
  /// Touches and locks the next piece, if bytes below `upto` are in it. Whoever comes first does it, and the other waits. Returns whether
  /// more may follow.
  bool lock_next(std::int64_t upto) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (failed_ || locked_ >= upto) return false;
    auto* const first = data() + locked_;
    try {
      parallel_ranges(kPiece, kHugePage, [&](std::int64_t at, std::int64_t last) {
        for (; at < last; at += kPage) first[at] = std::byte{0};
      });
      locks_.push_back(lock_pages(first, kPiece));
    } catch (...) {
      failed_ = std::current_exception();
      return false;
    }
    locked_ += kPiece;
    return true;
  }

  Where where_;
  std::int64_t most_, end_ = 0, locked_ = 0;
  std::shared_ptr<void> memory_;
  std::vector<std::shared_ptr<void>> locks_;
  std::exception_ptr failed_;
  std::mutex mutex_;
  std::jthread ahead_;  // the last: it uses the others
};

}  // namespace penstock
