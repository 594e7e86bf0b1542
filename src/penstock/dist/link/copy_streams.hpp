#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "penstock/core/device.hpp"

namespace penstock {

/// The streams of a transport's copies, and events that say when one is done. A large copy must not hold up a small one,
/// and of several large ones the start of one should pass while another is under way.
struct CopyStreams {
  explicit CopyStreams(Where where);
  ~CopyStreams();
  CopyStreams(const CopyStreams&) = delete;
  CopyStreams& operator=(const CopyStreams&) = delete;

  std::size_t take_event();
  void drain_all() noexcept;  // waits for all copies, and frees all events

  Where where;
  OwnedStream small;
  std::vector<std::unique_ptr<OwnedStream>> large;
  std::vector<std::unique_ptr<OwnedEvent>> events;
  std::vector<std::size_t> free;  // events
};

/// Streams that are let go are drained and kept for the next transport: one is made for every product, and making a stream
/// takes tens of microseconds.
std::shared_ptr<CopyStreams> take_copy_streams(Where where);

}  // namespace penstock
