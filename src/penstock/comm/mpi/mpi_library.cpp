#include "penstock/comm/mpi/mpi_library.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cctype>
#include <mutex>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

std::mutex loading;
std::atomic<const MpiLibrary*> the_library{nullptr};
std::atomic<bool> started_here{false};

[[noreturn]] void refuse(const std::string& file) {
  const char* why = dlerror();
  throw Error(Errc::not_accessible, "MPI cannot be opened: " + std::string(why ? why : file));
}

void* open(const std::string& file, int flags) {
  void* opened = dlopen(file.c_str(), RTLD_NOW | flags);
  if (!opened) refuse(file);
  return opened;
}

/// What MPI_Get_library_version says, without package, date and compiler: "Open MPI v5.0.11, package: ..." and
/// "MPICH Version:      5.0.2\n..." become "Open MPI 5.0.11" and "MPICH 5.0.2".
std::string short_name(const std::string& text) {
  std::string name;
  for (std::size_t i = 0; i < text.size() && text[i] != ',' && text[i] != '\n'; ++i) {
    const bool blank = std::isspace(static_cast<unsigned char>(text[i])) != 0;
    if (text.compare(i, 8, "Version:") == 0) i += 7;
    else if (blank ? !name.empty() && name.back() != ' '
                   : !(text[i] == 'v' && i + 1 < text.size() &&
                       std::isdigit(static_cast<unsigned char>(text[i + 1]))))
      name += blank ? ' ' : text[i];
  }
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name.empty() ? "MPI" : name;
}

}  // namespace

const MpiLibrary* MpiLibrary::loaded() noexcept { return the_library.load(); }

const MpiLibrary& MpiLibrary::load(const std::string& libmpi, const std::string& plugin) {
  const std::lock_guard lock(loading);
  const auto files = libmpi + " with " + plugin;
  if (const auto* known = the_library.load()) {
    require(known->files_ == files, "this process has MPI from " + known->files_ +
                                        " and cannot take another from " + files + ": start a new process");
    return *known;
  }
  // Open MPI before 5 opens components that look for its symbols among the global ones.
  if (!libmpi.empty()) open(libmpi, RTLD_GLOBAL);
  static MpiLibrary found;
  found.opened_ = open(plugin, RTLD_LOCAL);
  const auto table = reinterpret_cast<decltype(&penstock_mpi)>(dlsym(found.opened_, PENSTOCK_MPI_SYMBOL));
  if (!table) refuse(plugin);
  found.verbs_ = table();
  if (found.verbs_->version != PENSTOCK_MPI_VERSION || found.verbs_->table_bytes != sizeof(PenstockMpi))
    throw Error(Errc::not_accessible, plugin + " has version " + std::to_string(found.verbs_->version) +
                                          " of the table, this library version " +
                                          std::to_string(PENSTOCK_MPI_VERSION) +
                                          ": delete it to have it built again");
  found.files_ = files;
  the_library.store(&found);
  return found;
}

void MpiLibrary::check(int code, const char* verb) const {
  if (code == 0) return;
  char text[1024] = "";
  verbs_->error_text(code, text, sizeof text);
  throw Error(Errc::comm, name() + ", " + verb + ": " + (*text ? text : "error " + std::to_string(code)));
}

bool MpiLibrary::running() const noexcept {
  int begun = 0, ended = 0;
  verbs_->initialized(&begun);
  verbs_->finalized(&ended);
  return begun != 0 && ended == 0;
}

void MpiLibrary::start() const {
  int begun = 0, ended = 0;
  check(verbs_->initialized(&begun), "MPI_Initialized");
  check(verbs_->finalized(&ended), "MPI_Finalized");
  if (ended) throw Error(Errc::comm, name() + " was finalized in this process and cannot start again");
  if (begun) return;
  check(verbs_->init(), "MPI_Init_thread");
  started_here = true;
}

void MpiLibrary::finish() const {
  if (!running()) return;
  if (!spoiled_) windows_.free_all([this](const MpiWindows::Entry& w) { free_window(w); });
  if (started_here.exchange(false)) verbs_->finalize();
}

int MpiLibrary::free_window(const MpiWindows::Entry& window) const {
  const int code = verbs_->window_unlock_all(window.window);
  return code != 0 ? code : verbs_->window_free(window.window);
}

void MpiLibrary::end_job(int code) const noexcept {
  if (running()) verbs_->end_job(code);
}

std::string MpiLibrary::name() const {
  char text[256] = "";
  verbs_->library(text, sizeof text);
  return short_name(text);
}

bool MpiLibrary::gpu_aware() const {
  int answer = 0;
  check(verbs_->gpu_aware(&answer), "MPI_Comm_get_info");
  if (answer) return true;
  // Open MPI, MPICH and those after them; not in mpi.h everywhere, so asked for by name.
  const auto ask = reinterpret_cast<int (*)()>(dlsym(opened_, "MPIX_Query_cuda_support"));
  return ask && ask() == 1;
}

}  // namespace penstock
