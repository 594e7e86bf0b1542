#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "penstock/core/array.hpp"

namespace penstock {

/// A file that is mapped into memory, read-only. Touching a page behind the file's end kills the process, so the file's size
/// is asked before arrays in it are read; for that its descriptor stays open.
class MappedFile {
 public:
  /// Maps the bytes [first, first + bytes) of the file that is open as `fd`, which may be closed afterwards. The array owns
  /// the map. `name` is for messages; `crc32` is the checksum that the bytes are said to have. Throws
  /// Error{invalid_argument} where the file is shorter.
  static Array<const std::byte> map(int fd, std::int64_t first, std::int64_t bytes, std::string name,
                                    std::optional<std::uint32_t> crc32 = {});
  /// The mapped file that an address lies in; null for other memory.
  static std::shared_ptr<const MappedFile> behind(const void* address) noexcept;

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Throws Error{invalid_argument}, with both sizes, where the file has become shorter since. Takes a microsecond or less.
  /// It does not help against a file that is cut while it is read.
  void require_whole() const;
  const std::string& name() const noexcept { return name_; }
  /// The checksum that was given to map(), if [first, first + bytes) is exactly what was mapped.
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
