#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "penstock/core/array.hpp"

namespace penstock {

/// A file in memory, read-only. Its descriptor stays open: touching a page that the file has no more kills the process,
/// so its size is asked before arrays in it are read.
class MappedFile {
 public:
  /// The bytes [first, first + bytes) of the file open as `fd`, which may then be closed. The array owns the map; `name` is
  /// for messages, `crc32` what the bytes are said to have. Throws Error{invalid_argument} where the file is shorter.
  static Array<const std::byte> map(int fd, std::int64_t first, std::int64_t bytes, std::string name,
                                    std::optional<std::uint32_t> crc32 = {});
  /// The file that an address is in, whoever asks; null for other memory.
  static std::shared_ptr<const MappedFile> behind(const void* address) noexcept;

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Throws Error{invalid_argument}, with both sizes, where the file has been cut since. A microsecond or less. Nothing
  /// helps against a file that is cut while it is read.
  void require_whole() const;
  const std::string& name() const noexcept { return name_; }
  /// That of the bytes that were mapped, where they are exactly these.
  std::optional<std::uint32_t> crc32_of(const void* first, std::int64_t bytes) const noexcept;

 private:
  struct Key {};

 public:
  MappedFile(Key, int fd, std::int64_t first, std::int64_t bytes, std::string name,
             std::optional<std::uint32_t> crc32);

 private:
  int fd_ = -1;
  std::byte* map_ = nullptr;  // from the file's first byte on
  std::int64_t first_ = 0, end_ = 0;
  std::string name_;
  std::optional<std::uint32_t> crc32_;
};

}  // namespace penstock
