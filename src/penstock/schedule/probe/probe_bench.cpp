#include "penstock/schedule/probe/probe_bench.hpp"

namespace penstock::probing {
namespace {

constexpr std::int64_t kWordsAtOnce = 1 << 18;    // of a thread's share of filling memory
constexpr std::uint32_t kScramble = 2654435761u;  // a prime near 2^32 / 1.618: its multiples look random

}  // namespace

Bench::Bench(Where device, std::int64_t size)
    : where(device),
      bytes(size),
      pinned(allocate<std::byte>(size, {where.is_gpu() ? Memory::pinned : Memory::host})),
      target(allocate<std::byte>(size, device_place(where))),
      source(allocate<std::byte>(size, device_place(where))),
      sum(allocate<std::uint32_t>(1, device_place(where))),
      first(where),
      second(where),
      begin_(where, true),
      first_end_(where, true),
      second_end_(where, true) {
  auto* words = reinterpret_cast<std::uint32_t*>(pinned.data);
  parallel_ranges(bytes / 4, kWordsAtOnce, [&](std::int64_t from, std::int64_t to) {
    for (auto i = from; i < to; ++i) words[i] = static_cast<std::uint32_t>(i) * kScramble;
  });
  copy_async(target.data, pinned.data, bytes, first);
  copy_async(source.data, pinned.data, bytes, first);
  copy_async(sum.data, pinned.data, sum.bytes(), first);  // the first word is 0
  synchronize(first);
}

Bench::~Bench() {
  drain(first);
  drain(second);
}

void Bench::start(int streams) {
  record(begin_, first);
  if (streams > 1)
    wait(second, begin_);  // only where it is needed: the smallest transfers would feel the call
  host_begin_ = Clock::now();
}

void Bench::stop(int stream) {
  record(stream == 0 ? first_end_ : second_end_, stream == 0 ? first : second);
  host_took_[static_cast<std::size_t>(stream)] = since(host_begin_);
}

double Bench::after(int stream) {
  const Event end = stream == 0 ? first_end_ : second_end_;
  synchronize(end);
  const double took = where.is_gpu() ? seconds(begin_, end) : host_took_[static_cast<std::size_t>(stream)];
  return std::max(took, kLeastTime);
}

void copy_up(Bench& b, std::int64_t offset, std::int64_t bytes, Stream stream) {
  copy_async(b.target.data + offset, b.pinned.data + offset, bytes, stream);
}

void copy_down(Bench& b, std::int64_t offset, std::int64_t bytes, Stream stream) {
  copy_async(b.pinned.data + offset, b.source.data + offset, bytes, stream);
}

void copy_both(Bench& b, std::int64_t bytes) {
  const bool apart = 2 * bytes <= b.bytes;
  // Where the array does not hold both, they go in halves, one direction a half ahead of the other.
  const auto piece = apart ? bytes : (bytes + 1) / 2;
  for (std::int64_t done = 0; done < bytes; done += piece) {
    const auto size = std::min(piece, bytes - done);
    copy_up(b, done, size, b.first);
    if (apart) copy_down(b, b.bytes - bytes, bytes, b.second);
    else if (done == 0) copy_down(b, piece, bytes - piece, b.second);
    else copy_down(b, 0, piece, b.second);
  }
}

}  // namespace penstock::probing
