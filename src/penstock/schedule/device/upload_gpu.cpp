// Uploads arrays of ordinary memory. The driver copies those at 7 to 9 GB/s, and from locked pages at 55. Locking takes about
// as long as the copy, so both go on at once, piece by piece.
#include "penstock/schedule/device/upload.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kUploadPiece = 64 << 20;
// Pieces begin at multiples of this, so that no page belongs to two of them.
constexpr std::uintptr_t kUploadAlign = 2 << 20;
constexpr std::uintptr_t kLargestPage = 64 << 10;  // of hosts with GPUs; most have 4 KiB

/// The bytes from `at` on that are locked and copied together. The rest is not left with less than can be locked.
std::int64_t piece_from(const std::byte* at, std::int64_t left) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const auto end = (begin + kUploadPiece) / kUploadAlign * kUploadAlign;
  const auto bytes = static_cast<std::int64_t>(end - begin);
  return left - bytes < kLeastLocked ? left : bytes;
}

}  // namespace

PartUpload::PartUpload(const Array<const std::byte>& from, Stream stream, bool inside)
    : from_(from),
      stream_(stream),
      locking_(stream.where.is_gpu() && from.place.memory == Memory::host && from.size >= kLeastLocked) {
  if (!locking_) ready_ = from.size;
  if (!inside || !stream.where.is_gpu() || from.place.memory != Memory::host) return;
  const auto past = reinterpret_cast<std::uintptr_t>(from.data) % kLargestPage;
  if (past == 0) return;
  const auto bytes = std::min(static_cast<std::int64_t>(kLargestPage - past), from.size);
  shared_.assign(from.data, from.data + bytes);
  if (locking_) ready_ = bytes;
}

void PartUpload::copy(void* to, std::int64_t first, std::int64_t bytes) {
  for (std::int64_t done = 0; done < bytes;) {
    while (first + done >= ready_) lock_next();
    const auto shared = std::ssize(shared_);
    const auto end = first + done < shared ? shared : ready_;
    const auto here = std::min(bytes - done, end - (first + done));
    const auto* const at = first + done < shared ? shared_.data() : from_.data;
    copy_async(static_cast<std::byte*>(to) + done, at + first + done, here, stream_);
    done += here;
    poll_interrupt();
  }
}

void PartUpload::lock_next() {
  const auto* at = from_.data + ready_;
  const auto bytes = piece_from(at, from_.size - ready_);
  try {
    if (locking_) locks_.push_back(lock_pages(at, bytes));
  } catch (const Error& e) {  // the system allows no more locked pages: ordinary copies are slower
    if (e.code() != Errc::out_of_memory) throw;
    locking_ = false;
  }
  ready_ += bytes;
}

void upload(void* to, const Array<const std::byte>& from, Stream stream,
            const std::function<void(std::int64_t)>& queued) {
  PartUpload parts(from, stream);
  for (std::int64_t done = 0; done < from.size;) {
    const auto bytes = piece_from(from.data + done, from.size - done);
    parts.copy(static_cast<std::byte*>(to) + done, done, bytes);
    done += bytes;
    if (queued) queued(done);
  }
  synchronize(stream);
}

}  // namespace penstock
