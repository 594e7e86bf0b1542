#include "penstock/core/mapped_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

/// All maps by their first address. Lives until the process ends, and a child that is forked gets it unlocked.
struct Registry {
  std::mutex lock;
  std::map<std::uintptr_t, std::weak_ptr<const MappedFile>> maps;
  std::atomic<std::int64_t> count = 0;
};
Registry& registry() {
  static Registry& one = *[] {
    static auto* made = new Registry;
    pthread_atfork([] { made->lock.lock(); }, [] { made->lock.unlock(); }, [] { made->lock.unlock(); });
    return made;
  }();
  return one;
}

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

[[noreturn]] void cut(const std::string& name, std::int64_t now, std::int64_t mapped) {
  throw Error(Errc::invalid_argument,
              name + " has " + std::to_string(now) + " bytes now, " + std::to_string(mapped) +
                  " were mapped: the file was truncated. Write the store again and open it anew");
}

std::int64_t size_of(int fd, const std::string& name) {
  struct stat facts;
  if (fstat(fd, &facts) != 0)
    throw Error(Errc::invalid_argument, name + " cannot be asked for its size (" + std::strerror(errno) +
                                            "): is the disk still there? Open the store anew");
  return static_cast<std::int64_t>(facts.st_size);
}

}  // namespace

MappedFile::MappedFile(Key, int fd, std::int64_t first, std::int64_t bytes, std::string name,
                       std::optional<std::uint32_t> crc32)
    : first_(first), end_(first + bytes), name_(std::move(name)), crc32_(crc32) {
  if (const auto size = size_of(fd, name_); size < end_) cut(name_, size, end_);
  auto* const map = mmap(nullptr, static_cast<std::size_t>(end_), PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED)
    throw Error(Errc::out_of_memory, name_ + " cannot be mapped (" + std::strerror(errno) +
                                         "): " + std::to_string(end_) +
                                         " bytes of addresses are needed, and a file "
                                         "system that maps files; penstock.load reads it into memory");
  map_ = static_cast<std::byte*>(map);
  fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (fd_ < 0) {
    const auto why = std::string(std::strerror(errno));
    munmap(map_, static_cast<std::size_t>(end_));
    throw Error(Errc::out_of_memory,
                name_ + " cannot be kept open (" + why + "): close files, or raise ulimit -n");
  }
}

MappedFile::~MappedFile() {
  auto& all = registry();
  {
    const std::lock_guard guard(all.lock);
    all.count -= static_cast<std::int64_t>(all.maps.erase(number(map_)));
  }
  munmap(map_, static_cast<std::size_t>(end_));
  close(fd_);
}

Array<const std::byte> MappedFile::map(int fd, std::int64_t first, std::int64_t bytes, std::string name,
                                       std::optional<std::uint32_t> crc32) {
  require(first >= 0 && bytes > 0, [&] { return name + ": a map needs a byte at least"; });
  const auto file = std::make_shared<MappedFile>(Key{}, fd, first, bytes, std::move(name), crc32);
  auto& all = registry();
  {
    const std::lock_guard guard(all.lock);
    all.maps.emplace(number(file->map_), file);
    ++all.count;
  }
  return {file->map_ + first, bytes, {Memory::mapped}, std::const_pointer_cast<MappedFile>(file)};
}

std::shared_ptr<const MappedFile> MappedFile::behind(const void* address) noexcept {
  auto& all = registry();
  if (all.count == 0) return nullptr;
  const std::lock_guard guard(all.lock);
  auto next = all.maps.upper_bound(number(address));
  if (next == all.maps.begin()) return nullptr;
  auto file = std::prev(next)->second.lock();
  return file && number(address) - number(file->map_) < static_cast<std::uintptr_t>(file->end_) ? file
                                                                                                : nullptr;
}

void MappedFile::require_whole() const {
  if (const auto size = size_of(fd_, name_); size < end_) [[unlikely]]
    cut(name_, size, end_);
}

std::optional<std::uint32_t> MappedFile::crc32_of(const void* first, std::int64_t bytes) const noexcept {
  const bool same = first == map_ + first_ && bytes == end_ - first_;
  return same ? crc32_ : std::nullopt;
}

}  // namespace penstock
