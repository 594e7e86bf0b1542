#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "penstock/comm/calls.hpp"
#include "penstock/comm/mpi/mpi_session.hpp"

namespace penstock {

/// One rank's view of an MPI communicator that its exchanges share: the calls it has made, and waits that find out where
/// the ranks waited for make others. Who has waited for a while sends them a note of the call it waits in; who gets one
/// looks, whenever it waits itself, whether its own call of that number is the same. So what goes well costs nothing.
class MpiWatch {
 public:
  /// `members`: the numbers in the session of these ranks; `id`: of this communicator, the same on all of them.
  MpiWatch(std::shared_ptr<MpiSession> session, std::uint64_t id, int rank, std::vector<int> members);
  ~MpiWatch();
  MpiWatch(const MpiWatch&) = delete;
  MpiWatch& operator=(const MpiWatch&) = delete;

  MpiSession& session() { return *session_; }
  const MpiSession& session() const { return *session_; }
  const PenstockMpi& verbs() const { return session_->verbs(); }
  const std::shared_ptr<MpiSession>& shared_session() const { return session_; }
  void check(int code, const char* what) const { session_->check(code, what); }
  std::uint64_t id() const { return id_; }
  int member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  Calls calls;

  /// As MpiSession::wait(), in the call of that number; `peers` are the ranks that it may be waiting for.
  void wait(void* requests, int n, std::int64_t number, std::span<const int> peers, const char* what) {
    until([&](int* done) { return verbs().test_all(requests, n, done); }, number, peers, what);
  }
  template <class F>
  void until(F&& done, std::int64_t number, std::span<const int> peers, const char* what) {
    const MpiSession::InCall in{this, number, peers};
    session_->until(done, what, &in);
  }
  /// For calls of all: those whom each rank would exchange messages with along a hypercube.
  std::span<const int> around() const { return around_; }

  /// Tells `peers` where this rank waits.
  void ask(std::int64_t number, std::span<const int> peers);
  /// Looks through what others have told: throws where this rank has made another call in the place of theirs.
  void compare();
  struct Told {
    std::int64_t number = 0;
    std::uint64_t now = 0;
    std::string text;
  };
  void heard(int rank, Told told) { told_[static_cast<std::size_t>(rank)] = std::move(told); }

 private:
  std::shared_ptr<MpiSession> session_;
  std::uint64_t id_;
  int rank_;
  std::vector<int> members_, around_;
  std::vector<Told> told_;  // by rank: the last that it has said, until it is compared
};

}  // namespace penstock
