#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/comm/mpi_verbs.h"

namespace penstock {

/// The windows of a process, locked for all since they were made, in the order in which they were made. MPI frees a window when all ranks do, and exchanges
/// end when their owners do, on each rank at another time: so the windows of a communicator are freed later, together,
/// once every rank has given them up, or at the end. Used by one thread.
class MpiWindows {
 public:
  struct Entry {
    PenstockMpiHandle window;
    std::int64_t comm;    // whose, by a number that this process gave it
    std::int64_t number;  // among those of its communicator: the same on all ranks
    bool used = true;
  };

  void add(const Entry& made) { all_.push_back(made); }
  void retire(PenstockMpiHandle window) {
    for (auto& e : all_)
      if (e.window == window) e.used = false;
  }
  /// The communicator's windows before this number are unused on this rank.
  std::int64_t first_used(std::int64_t comm, std::int64_t made) const {
    for (const auto& e : all_)
      if (e.comm == comm && e.used) return e.number;
    return made;
  }
  template <class F>
  void free_before(std::int64_t comm, std::int64_t number, F&& free) {
    std::erase_if(all_, [&](const Entry& e) {
      const bool gone = e.comm == comm && e.number < number;
      if (gone) free(e);
      return gone;
    });
  }
  template <class F>
  void free_all(F&& free) {
    for (const auto& e : all_) free(e);
    all_.clear();
  }

 private:
  std::vector<Entry> all_;
};

}  // namespace penstock
