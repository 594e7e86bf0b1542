#include <algorithm>

#include "penstock/comm/mpi/mpi_comm.hpp"

// The windows of an MPI communicator, and which ranks can share memory.
namespace penstock {

std::vector<std::int64_t> MpiComm::windows_given_up() const {
  return session_->library().windows().given_up(number_);
}

void MpiComm::free_window(const MpiWindows::Entry& w) {
  session_->check(session_->library().free_window(w), "MPI_Win_free");
}

void MpiComm::free_windows(std::span<const std::int64_t> given_up_by_all) {
  session_->library().windows().free_given_up(number_, given_up_by_all, [&](const MpiWindows::Entry& w) {
    free_window(w);
    return true;
  });
}

PenstockMpiHandle MpiComm::open_window(std::int64_t bytes, bool of_node, void** memory) {
  PenstockMpiHandle window = 0;
  session_->check(of_node ? mpi().window_share(bytes, *node_, memory, &window)
                          : mpi().window_allocate(bytes, inside_, memory, &window),
                  of_node ? "MPI_Win_allocate_shared" : "MPI_Win_allocate");
  session_->check(mpi().window_lock_all(window), "MPI_Win_lock_all");
  session_->library().windows().add({window, number_, windows_++});
  return window;
}

PenstockMpiHandle MpiComm::passive_window(std::int64_t bytes, void** memory) {
  auto& windows = session_->library().windows();
  auto by_all = windows_given_up();
  if (!by_all.empty()) {
    all_reduce(by_all, Reduce::min);
    const auto* again =
        windows.take(number_, by_all, bytes, [&](const MpiWindows::Entry& w) { free_window(w); });
    if (again) {
      *memory = again->memory;
      return again->window;
    }
  }
  const auto window = open_window(bytes, false, memory);
  windows.made_last().bytes = bytes, windows.made_last().memory = *memory;
  return window;
}

void MpiComm::meet_node() {
  if (node_) return;
  barrier();  // all have come now: the calls that follow cannot be given up
  in_node_.resize(static_cast<std::size_t>(size_));
  PenstockMpiHandle node = 0, window = 0;
  session_->check(mpi().split_node(inside_, in_node_.data(), &node), "MPI_Comm_split_type");
  node_ = node;
  void* memory = nullptr;
  int unified = 0;  // without it, MPI does not say what loads and stores in shared windows do
  if (mpi().window_share(sizeof(void*), node, &memory, &window) == 0) {
    session_->check(mpi().window_unified(window, &unified), "MPI_Win_get_attr");
    session_->check(mpi().window_free(window), "MPI_Win_free");
  }
  std::int64_t all[1] = {unified};
  all_reduce(all, Reduce::min);
  if (!all[0]) std::ranges::fill(in_node_, -1);
}

bool MpiComm::shares_memory_with(int rank) const {
  const int mine = in_node_[static_cast<std::size_t>(rank_)],
            other = in_node_[static_cast<std::size_t>(rank)];
  if (other < 0) return false;
  return options_.node_ranks == 0 || mine / options_.node_ranks == other / options_.node_ranks;
}

}  // namespace penstock
