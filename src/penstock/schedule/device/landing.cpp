// Copies from a GPU to ordinary memory run at a fraction of the link's speed, and the host waits for each. So pages are locked,
// piece by piece; that takes about as long as it takes to touch new pages for the first time.
#include "penstock/schedule/device/landing.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kPiece = 128 << 20;
constexpr std::int64_t kHugePage = 2 << 20;  // a reservation consists of whole ones
constexpr std::int64_t kPage = 4096;

}  // namespace

Landing::Landing(std::int64_t most, Stream copies)
    : most_(most), copies_(copies), memory_(most), locking_(copies.where.is_gpu() && most >= kLeastLocked) {}

Landing::~Landing() { drain(copies_); }

/// Touches and locks a piece. Nothing has landed there.
void Landing::lock(std::int64_t piece) {
  auto* const first = data() + piece * kPiece;
  const auto whole = (most_ + kHugePage - 1) / kHugePage * kHugePage;
  const auto bytes = std::min(kPiece, whole - piece * kPiece);
  parallel_ranges(bytes, kHugePage, [&](std::int64_t at, std::int64_t last) {
    for (; at < last; at += kPage) first[at] = std::byte{0};
  });
  try {
    locks_.push_back(lock_pages(first, bytes));
  } catch (const Error& e) {  // the system allows no more locked pages: ordinary copies are slower
    if (e.code() != Errc::out_of_memory) throw;
    locking_ = false;
  }
}

void Landing::append(const void* from, std::int64_t bytes) {
  require(end_ + bytes <= most_, "Landing: more has come than was said");
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const auto piece = end_ / kPiece;
    if (locking_ && piece == std::ssize(locks_)) lock(piece);
    const auto n =
        std::min(bytes, (piece + 1) * kPiece - end_);  // a copy stays in memory that is locked alike
    copy_async(data() + end_, at, n, copies_);
    at += n, end_ += n, bytes -= n;
  }
}

void Landing::arrive() {
  synchronize(copies_);
  locks_.clear();
}

}  // namespace penstock
