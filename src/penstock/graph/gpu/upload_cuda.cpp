// Uploads arrays of ordinary memory. The driver copies those at 7 to 9 GB/s, and from locked pages at 55. Locking takes about
// as long as the copy, so both go on at once, piece by piece.
#include "penstock/graph/gpu/upload.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kUploadPiece = 64 << 20;
// Pieces begin at multiples of this, so that no page belongs to two of them.
constexpr std::uintptr_t kUploadAlign = 2 << 20;

/// The bytes from `at` on that are locked and copied together. The rest is not left with less than can be locked.
std::int64_t piece_from(const std::byte* at, std::int64_t left) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const auto end = (begin + kUploadPiece) / kUploadAlign * kUploadAlign;
  const auto bytes = static_cast<std::int64_t>(end - begin);
  return left - bytes < kLeastLocked ? left : bytes;
}

struct UploadEnd {
  Stream stream;
  ~UploadEnd() { drain(stream); }
};

}  // namespace

void upload(void* to, const Array<const std::byte>& from, Stream stream,
            const std::function<void(std::int64_t)>& queued) {
  std::vector<std::shared_ptr<void>> locks;
  const UploadEnd end{stream};  // ends before the locks do
  bool locking = from.place.memory == Memory::host && from.size >= kLeastLocked;
  for (std::int64_t done = 0; done < from.size;) {
    const auto* at = from.data + done;
    const auto bytes = piece_from(at, from.size - done);
    try {
      if (locking) locks.push_back(lock_pages(at, bytes));
    } catch (const Error& e) {  // the system allows no more locked pages: ordinary copies are slower
      if (e.code() != Errc::out_of_memory) throw;
      locking = false;
    }
    copy_async(static_cast<std::byte*>(to) + done, at, bytes, stream);
    done += bytes;
    if (queued) queued(done);
    poll_interrupt();
  }
  synchronize(stream);
}

}  // namespace penstock
