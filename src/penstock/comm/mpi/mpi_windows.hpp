#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/comm/mpi/mpi_verbs.h"

namespace penstock {

/// The windows of a process in the order in which they were made; each is open to all ranks from then on. MPI frees a window
/// only when all ranks free it, but exchanges end at another time on each rank. So the windows of a communicator are freed
/// or used again later, together, once every rank has given them up, or at the end. To use one again saves much: the
/// kernel must clear the pages of a new window, which took half the time of a product of two tiled matrices. Used by one
/// thread.
class MpiWindows {
 public:
  struct Entry {
    PenstockMpiHandle window;
    std::int64_t comm;    // its communicator, by a number that this process has given it
    std::int64_t number;  // its number among the windows of its communicator: the same on all ranks
    bool used = true;
    std::int64_t bytes = 0;  // of each rank's part; 0 where it cannot be used again
    void* memory = nullptr;  // this rank's part
  };

  void add(const Entry& made) { all_.push_back(made); }
  Entry& made_last() { return all_.back(); }
  void retire(PenstockMpiHandle window) {
    for (auto& e : all_)
      if (e.window == window) e.used = false;
  }
  /// 1 for each of the communicator's windows that this rank has given up, else 0: in the same order on all ranks.
  std::vector<std::int64_t> given_up(std::int64_t comm) const {
    std::vector<std::int64_t> out;
    for (const auto& e : all_)
      if (e.comm == comm) out.push_back(e.used ? 0 : 1);
    return out;
  }
  /// One of the windows that all ranks have given up (`by_all`, as given_up()), of `bytes` to twice as many, to be used again;
  /// the others of them are freed. Null: there is none.
  template <class F>
  const Entry* take(std::int64_t comm, const std::vector<std::int64_t>& by_all, std::int64_t bytes,
                    F&& free) {
    std::int64_t taken = -1;
    free_given_up(comm, by_all, [&](Entry& e) {
      if (taken < 0 && e.bytes >= bytes && e.bytes <= 2 * bytes) {
        taken = e.number, e.used = true;
        return false;
      }
      free(e);
      return true;
    });
    for (const auto& e : all_)
      if (e.comm == comm && e.number == taken) return &e;
    return nullptr;
  }
  /// Calls free(window) for each window that all ranks have given up, and keeps it where that returns false.
  template <class F>
  void free_given_up(std::int64_t comm, std::span<const std::int64_t> by_all, F&& free) {
    std::size_t n = 0;
    std::erase_if(all_, [&](Entry& e) { return e.comm == comm && by_all[n++] && free(e); });
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
