// Messages between two ranks over MPI. The requests of all messages under way are kept side by side (`slots_`), so that a wait
// for some of them is one MPI_Testall over copies of these.
#include <algorithm>
#include <cstring>

#include "penstock/comm/mpi/mpi_comm.hpp"
#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr int kMostTag = 32767;  // the largest tag that every MPI allows
constexpr int kLeastSlots = 16;  // places for requests, to begin with

}  // namespace

Request MpiComm::slot() {
  if (free_.empty()) {
    const int had = slots_.size(), have = std::max(kLeastSlots, 2 * had);
    slots_.grow(have);
    receives_.resize(have);
    peers_.resize(have);
    for (int i = have - 1; i >= had; --i) free_.push_back(i);
  }
  const auto found = free_.back();
  free_.pop_back();
  return found;
}

Request MpiComm::send(const void* data, std::int64_t bytes, int to, int tag) {
  check_ready(to, "send");
  require(bytes >= 0 && tag >= 0 && tag <= kMostTag, "send: bytes are 0 or more, tags 0 to 32767");
  const auto s = slot();
  receives_[s] = false;
  peers_[s] = to;
  session_->check(mpi().send(data, bytes, to, tag, comm_, slots_.at(static_cast<int>(s))), "send");
  return s;
}

Request MpiComm::receive(void* data, std::int64_t bytes, int from, int tag) {
  check_ready(from, "receive");
  require(bytes >= 0 && tag >= 0 && tag <= kMostTag, "receive: bytes are 0 or more, tags 0 to 32767");
  const auto s = slot();
  receives_[s] = true;
  peers_[s] = from;
  session_->check(mpi().receive(data, bytes, from, tag, comm_, slots_.at(static_cast<int>(s))), "receive");
  return s;
}

void MpiComm::wait(std::span<Request> requests) {
  if (requests.empty()) return session_->look();
  const auto bytes = mpi().request_bytes;
  if (requests.size() > coming_.size()) {
    together_.grow(static_cast<int>(requests.size()));
    coming_.resize(requests.size());
  }
  int n = 0;
  asked_.clear();
  for (auto& r : requests) {
    if (r == kNoRequest) continue;
    require(r >= 0 && r < slots_.size(), "wait: that is no request of this communicator");
    auto* at = slots_.at(static_cast<int>(r));
    std::memcpy(together_.at(n), at, bytes);
    coming_[n++] = receives_[r];
    asked_.push_back(peers_[r]);
    mpi().clear(at, 1);
    free_.push_back(r);
    r = kNoRequest;
  }
  try {
    session_->ready();
    watch_->wait(together_.data(), n, watch_->calls.number(), asked_, "wait");
  } catch (...) {
    // The caller's memory may go now, so messages that come later must not be written into it.
    for (int i = 0; i < n; ++i)
      if (coming_[i]) mpi().cancel_all(together_.at(i), 1);
    throw;
  }
}

}  // namespace penstock
