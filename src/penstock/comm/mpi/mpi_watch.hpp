#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "penstock/comm/calls.hpp"
#include "penstock/comm/mpi/mpi_session.hpp"

namespace penstock {

/// One rank's view of an MPI communicator, which its exchanges share: the calls that it has made, and waits that find out
/// whether the ranks waited for make different ones. A rank that has waited for a while sends these ranks a note of the
/// call in which it waits. A rank that gets a note compares it with its own call of that number when it waits itself. So
/// calls that fit together cost nothing more.
class MpiWatch {
 public:
  /// `members` are the numbers that these ranks have in the session; `id` is that of this communicator, the same on all ranks.
  MpiWatch(std::shared_ptr<MpiSession> session, std::uint64_t id, int rank, std::vector<int> members);
  ~MpiWatch();
  MpiWatch(const MpiWatch&) = delete;
  MpiWatch& operator=(const MpiWatch&) = delete;

  MpiSession& session() { return *session_; }
  const MpiSession& session() const { return *session_; }
  const PenstockMpi& verbs() const { return session_->verbs(); }
  const std::shared_ptr<MpiSession>& shared_session() const { return session_; }
  void check(int code, const char* verb) const { session_->check(code, verb); }
  std::uint64_t id() const { return id_; }
  int member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  Calls calls;

  /// Waits as MpiSession::wait() does, in the call of that number; `peers` are the ranks that it may be waiting for.
  void wait(void* requests, int n, std::int64_t number, std::span<const int> peers, const char* verb) {
    until([&](int* done) { return verbs().test_all(requests, n, done); }, number, peers, verb);
  }
  template <class F>
  void until(F&& done, std::int64_t number, std::span<const int> peers, const char* verb) {
    const MpiSession::InCall in{this, number, peers};
    session_->until(done, verb, &in);
  }
  /// For calls of all ranks: the ranks with which this one exchanges messages along a hypercube.
  std::span<const int> around() const { return around_; }

  /// Tells `peers` where this rank waits.
  void ask(std::int64_t number, std::span<const int> peers);
  /// Compares the notes of other ranks with the calls of this one; throws where a call of the same number is another one.
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
  std::vector<Told> told_;  // by rank: its last note, until that has been compared
};

}  // namespace penstock
