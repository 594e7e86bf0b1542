#pragma once
#include <memory>
#include <vector>

#include "penstock/comm/comm.hpp"
#include "penstock/comm/thread_group.hpp"

namespace penstock::thread_comm {

/// Where a message of an exchange lies at its sender: bytes in a row, or entries by their indices.
struct Source {
  int to = 0;
  const std::byte* base = nullptr;
  const std::int32_t* indices = nullptr;  // null: bytes in a row
  std::int64_t count = 0;                 // the number of indices
  std::int64_t bytes = 0;
  std::int64_t from_base = -1;  // its distance from the base of the exchange; -1: it does not move
};

/// Connects all senders with all receivers, once. Collective.
std::unique_ptr<Exchange> connect(std::shared_ptr<Member> me, Verb verb, std::int64_t entry_bytes,
                                  const std::vector<Source>& sends, const std::vector<Message>& receives);

}  // namespace penstock::thread_comm
