#pragma once
#include <string>

#include "penstock/comm/mpi/mpi_windows.hpp"

namespace penstock {

/// The MPI of this process. There is one, from when it is loaded to the end of the process.
class MpiLibrary {
 public:
  /// Opens libmpi (empty: the one that the plugin names) and then the plugin that was compiled for it. A second call with
  /// the same files returns the same object; with other files it throws, because two MPIs in a process break each other.
  /// Throws Error{not_accessible} with the linker's reason.
  static const MpiLibrary& load(const std::string& libmpi, const std::string& plugin);
  /// Null until load() has succeeded.
  static const MpiLibrary* loaded() noexcept;

  /// Calls MPI_Init unless that has been done; throws Error{comm} after MPI_Finalize.
  void start() const;
  /// Frees what is left, and calls MPI_Finalize where start() has called MPI_Init and nobody has ended MPI. Waits for the other ranks.
  void finish() const;
  /// Ends all processes of the job at once.
  void end_job(int code) const noexcept;

  const PenstockMpi& verbs() const { return *verbs_; }
  bool running() const noexcept;  // between MPI_Init and MPI_Finalize
  std::string name() const;       // "Open MPI 5.0.11", "MPICH 5.0.2"
  std::string flavour() const { return verbs_->flavour; }
  MpiWindows& windows() const { return windows_; }
  int free_window(const MpiWindows::Entry& window) const;
  /// Notes that a rank has failed: finish() then leaves out what all ranks must do together.
  void spoil() const noexcept { spoiled_ = true; }
  /// Whether messages may lie in GPU memory, by what the library says of itself; asked after start().
  bool gpu_aware() const;
  /// Throws Error{comm} with MPI's words for anything but success.
  void check(int code, const char* verb) const;

 private:
  void* opened_ = nullptr;
  const PenstockMpi* verbs_ = nullptr;
  std::string files_;
  mutable MpiWindows windows_;
  mutable bool spoiled_ = false;
};

}  // namespace penstock
