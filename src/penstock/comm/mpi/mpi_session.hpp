#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "penstock/comm/mpi/mpi_library.hpp"
#include "penstock/core/error.hpp"

namespace penstock {

/// MPI requests in a row, in the size that this MPI has them.
class MpiRequests {
 public:
  MpiRequests(const PenstockMpi& mpi, int n) : mpi_(&mpi), bytes_(mpi.request_bytes * n), n_(n) {
    mpi.clear(bytes_.data(), n);
  }
  void* at(int i) { return bytes_.data() + mpi_->request_bytes * i; }
  void* data() { return bytes_.data(); }
  int size() const { return n_; }
  void grow(int n) {
    bytes_.resize(mpi_->request_bytes * n);
    if (n > n_) mpi_->clear(at(n_), n - n_);
    n_ = n;
  }

 private:
  const PenstockMpi* mpi_;
  std::vector<std::byte> bytes_;
  int n_;
};

class MpiWatch;

/// What a Comm and those split from it share: the ways to wait, which rank has failed, and notes of who waits for whom.
class MpiSession {
 public:
  /// The call of a communicator in which a rank waits, and the ranks that it may be waiting for.
  struct InCall {
    MpiWatch* watch;
    std::int64_t number;
    std::span<const int> peers;
  };

  /// Collective over `comm`, which is duplicated for messages of failures.
  MpiSession(const MpiLibrary& library, PenstockMpiHandle comm, double timeout);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  const MpiLibrary& library() const { return library_; }
  const PenstockMpi& verbs() const { return library_.verbs(); }
  double timeout() const { return timeout_; }
  void check(int code, const char* verb) const { library_.check(code, verb); }

  /// Throws if some rank has failed.
  void ready() const;
  /// As ready(), after looking for messages of failures; it throws, too, where the user wants to stop.
  void look();
  /// Waits until all of n requests are done; throws Error{comm} when a rank fails or the time is up. At first it tests the
  /// requests without pause; then it yields the CPU between tests, above all to ranks that share it.
  void wait(void* requests, int n, const char* verb);
  /// Waits in the same way until done(&flag), a call to MPI, sets its flag.
  template <class F>
  void until(F&& done, const char* verb, const InCall* in = nullptr) {
    for (Patience patience(*this, verb, in);; patience.next()) {
      int flag = 0;
      check(done(&flag), verb);
      if (flag) return;
    }
  }

  void fail(const std::string& why) noexcept;
  /// As fail(), with a reason that all ranks report as their own; throws it.
  [[noreturn]] void give_up(Errc code, const std::string& why);
  /// Notes that the ranks cannot go on, and that all of them know it.
  void spoil(Errc code, const std::string& why);
  bool failed() const { return !failure_.empty(); }
  /// The rank that has told this one that it failed; -1 where none has, or where this rank was the first to fail.
  int failed_rank() const { return failed_rank_; }

  void add(MpiWatch* watch) { watches_.push_back(watch); }
  void remove(MpiWatch* watch) { std::erase(watches_, watch); }
  /// Tells rank `to` that rank `as` of communicator `comm` waits in its call of that number. No note is sent as long as an
  /// earlier one has not been read, so that notes do not pile up.
  void send_note(int to, std::uint64_t comm, int as, std::int64_t number, std::uint64_t now,
                 const std::string& text);

 private:
  /// The turns of one wait.
  class Patience {
   public:
    Patience(MpiSession& session, const char* verb, const InCall* in)
        : session_(session), verb_(verb), in_(in) {}
    void next();

   private:
    MpiSession& session_;
    const char* verb_;
    const InCall* in_;
    double end_ = 0, asks_after_ = 0, began_ = 0;
    long turns_ = 0;
  };

  struct Note;
  struct Sent;
  void heed_failures();
  void read_notes();
  void post(int to, const Note& note);
  void tell_all(Errc code, bool mine, const std::string& why) noexcept;

  const MpiLibrary& library_;
  PenstockMpiHandle control_ = 0;
  int rank_ = 0, size_ = 1;
  long turns_before_yielding_ = 0;
  double timeout_;
  std::string failure_;
  Errc failure_code_ = Errc::comm;
  int failed_rank_ = -1;
  std::vector<MpiWatch*> watches_;
  std::vector<std::unique_ptr<Sent>> sent_;
  std::vector<bool> unread_;  // by rank: whether it has still to say that it has read the last note
};

}  // namespace penstock
