#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "penstock/comm/mpi_library.hpp"

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

/// What a Comm and those split from it share: how to wait, and who has failed.
class MpiSession {
 public:
  /// Collective over `comm`, which is duplicated for messages of failures.
  MpiSession(const MpiLibrary& library, PenstockMpiHandle comm, double timeout);

  const MpiLibrary& library() const { return library_; }
  const PenstockMpi& verbs() const { return library_.verbs(); }
  double timeout() const { return timeout_; }
  void check(int code, const char* what) const { library_.check(code, what); }

  /// Throws if some rank has failed.
  void ready() const;
  /// As ready(), after a look at what has come since; throws too where the user wants to stop.
  void look();
  /// Until all of n requests are done; throws Error{comm} when a rank fails or the time is up. MPI is asked again and
  /// again for a moment, then the CPU is offered to others between questions: to ranks that share it, above all.
  void wait(void* requests, int n, const char* what);
  /// As wait(), until done(&flag), a call to MPI, sets its flag.
  template <class F>
  void until(F&& done, const char* what) {
    for (Patience patience(*this, what);; patience.next()) {
      int flag = 0;
      check(done(&flag), what);
      if (flag) return;
    }
  }

  void fail(const std::string& why) noexcept;
  bool failed() const { return !failure_.empty(); }
  /// The rank that has told us that it failed; -1 while all is well, or where this one was first.
  int failed_rank() const { return failed_rank_; }

 private:
  /// Turns of waiting.
  class Patience {
   public:
    Patience(MpiSession& session, const char* what) : session_(session), what_(what) {}
    void next();

   private:
    MpiSession& session_;
    const char* what_;
    double end_ = 0;
    long turns_ = 0;
  };

  void heed_failures();

  const MpiLibrary& library_;
  PenstockMpiHandle control_ = 0;
  int rank_ = 0, size_ = 1;
  long turns_before_yielding_ = 0;
  double timeout_;
  std::string failure_;
  int failed_rank_ = -1;
};

}  // namespace penstock
