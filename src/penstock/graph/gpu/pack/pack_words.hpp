#pragma once
#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reserve.hpp"
#include "penstock/graph/gpu/pack_gpu.hpp"
#include "penstock/graph/gpu/packed_steps.hpp"

// Where a device that packs lists (pack_gpu.cpp) puts their words. If all fit, two blocks grow, of long lists and of others. If not, one
// block is filled: long lists from its front, others behind the room that is kept for those; what exceeds it goes to host memory. At
// the end the long lists move up to the others, so that the block is a prefix of the words.
namespace penstock {

inline constexpr double kSpare = 1.02;  // of what a sample promises
inline constexpr std::int64_t kSpareWords = 16 << 10;
inline constexpr double kLongSpare = 0.1;  // of long lists that were not looked at: their room cannot grow

/// Host memory for words that a device has no room for. They arrive one after the other, while raw lists go the other way, and stay where
/// they land, for kernels to read. A thread touches and locks the pages of what is expected, ahead of the copies, since both take longer
/// than the copies themselves; what exceeds that is locked when it comes.
class FarWords {
 public:
  /// At most `most` bytes, about `expected` of them.
  FarWords(std::int64_t most, std::int64_t expected, Where where) : where_(where), most_(most) {
    if (!where.is_gpu() || most < kLeastLocked) {
      memory_ = allocate_bytes(most, {where.is_gpu() ? Memory::pinned : Memory::host, 0});
      locked_ = most_;
      return;
    }
    memory_ = zeroed_bytes((most + kPiece - 1) / kPiece * kPiece);
    ahead_ = std::jthread([this, upto = std::min(most, expected)](const std::stop_token& stop) {
      try {
        const UseDevice use(where_);
        const ThreadsHere few(4);  // others pack
        while (!stop.stop_requested() && lock_next(upto)) {}
      } catch (...) {  // append() locks what is needed, or says why it cannot
      }
    });
  }
  ~FarWords() { stop(); }
  FarWords(const FarWords&) = delete;
  FarWords& operator=(const FarWords&) = delete;

  std::int64_t bytes() const { return end_; }
  /// Queues a copy of device memory to where the last one ends. Throws Error{out_of_memory} where no more pages can be locked.
  void append(const void* from, std::int64_t bytes, Stream copies) {
    require(end_ + bytes <= most_, "packed lists: more came to the host than was said");
    while (lock_next(end_ + bytes)) {}
    if (const std::lock_guard<std::mutex> guard(mutex_); failed_ && locked_ < end_ + bytes)
      std::rethrow_exception(failed_);
    const auto* at = static_cast<const std::byte*>(from);
    for (std::int64_t n = 0; bytes > 0; at += n, end_ += n, bytes -= n) {
      n = std::min(bytes, (end_ / kPiece + 1) * kPiece - end_);  // pages that were locked together
      copy_async(data() + end_, at, n, copies);
    }
  }
  /// What has arrived, once the copies are done, with its pages locked as long as it lives.
  Array<const std::uint32_t> keep() {
    stop();
    if (const auto pieces = static_cast<std::size_t>((end_ + kPiece - 1) / kPiece); pieces < locks_.size())
      locks_.resize(pieces);                                                            // more was expected
    using Held = std::pair<std::shared_ptr<void>, std::vector<std::shared_ptr<void>>>;  // locks go first
    const auto held = std::make_shared<Held>(memory_, std::move(locks_));
    return {reinterpret_cast<const std::uint32_t*>(data()),
            end_ / 4,
            {where_.is_gpu() ? Memory::pinned : Memory::host, 0},
            std::shared_ptr<void>(held, data())};
  }

 private:
  static constexpr std::int64_t kPiece = 64 << 20, kHugePage = 2 << 20, kPage = 4096;

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  void stop() {
    ahead_.request_stop();
    if (ahead_.joinable()) ahead_.join();
  }
  /// Touches and locks the next piece, if bytes below `upto` are in it. Whoever comes first does it, and the other waits. Returns whether
  /// more may follow.
  bool lock_next(std::int64_t upto) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (failed_ || locked_ >= upto) return false;
    auto* const first = data() + locked_;
    try {
      parallel_ranges(kPiece, kHugePage, [&](std::int64_t at, std::int64_t last) {
        for (; at < last; at += kPage) first[at] = std::byte{0};
      });
      locks_.push_back(lock_pages(first, kPiece));
    } catch (...) {
      failed_ = std::current_exception();
      return false;
    }
    locked_ += kPiece;
    return true;
  }

  Where where_;
  std::int64_t most_, end_ = 0, locked_ = 0;
  std::shared_ptr<void> memory_;
  std::vector<std::shared_ptr<void>> locks_;
  std::exception_ptr failed_;
  std::mutex mutex_;
  std::jthread ahead_;  // the last: it uses the others
};

/// Words of packed lists, about.
struct ExpectedWords {
  std::int64_t lists = 0, longs = 0;
};

/// What pieces of lists that go to the host, and long lists, are trusted to take: at first what a sample says of all lists; where that was
/// too little, what was met; and at last the most that an entry can take. Then pieces are cut anew, and travel again.
class StagedPromise {
 public:
  /// Bytes of an entry of a piece, where entries take so many on average.
  double staged(double average) const { return std::max(kStaged * average, staged_); }
  /// Words of all long lists, of which a sample promises so many.
  double longs(double promised, double entries) const {
    return longs_.all ? std::max(promised, kMost * entries) : promised * long_share_;
  }

  /// A piece took so many bytes an entry, and there was no room for it.
  void break_staged(double met) { met_ = met, broken_ = &pieces_; }
  void break_longs(bool far) { broken_ = far ? &longs_ : nullptr; }
  /// Whether more may be promised than was.
  bool broken() const { return broken_ && !broken_->all; }
  void raise() {
    broken_->all = broken_->tries++ > 0;
    if (broken_ == &longs_) long_share_ *= 1.5;
    else staged_ = pieces_.all ? 4 * kMost : std::max(staged_, kMore * met_);
    met_ = 0, broken_ = nullptr;
  }

 private:
  static constexpr double kStaged = 1.2;  // of what pieces take on average
  static constexpr double kMore =
      1.4;  // of what the first one took for which there was no room: a slot's memory grows by an eighth more
  static constexpr double kMost = 3;  // words: of a list of one entry with a length, alone in its group
  struct Tries {
    int tries = 0;
    bool all = false;  // the most that an entry can take is promised
  };
  Tries pieces_, longs_;
  Tries* broken_ = nullptr;  // the one of which more is needed
  double staged_ = 0, long_share_ = 1, met_ = 0;
};

class WordMemory {
 public:
  /// Words that a piece has written beside the block, on their way to the host.
  struct Staged {
    explicit Staged(Where where) : written(where), gone(where) {}
    std::shared_ptr<std::uint32_t> words;
    std::int64_t size = 0;
    OwnedEvent written, gone;
  };

  /// `settle` waits until nothing writes words any more.
  WordMemory(PackedOnGpu& out, Stream stream, std::function<void()> settle)
      : out_(out), stream_(stream), back_(stream.where), settle_(std::move(settle)) {}
  ~WordMemory() { drain(back_); }
  WordMemory(const WordMemory&) = delete;
  WordMemory& operator=(const WordMemory&) = delete;

  void stop() {
    drain(back_);
    far_.reset();
  }
  const std::string& why() const { return why_; }
  bool exceeds() const { return exceeds_; }  // whether more room was all that was missing
  /// Says that pieces leave no room for lists on their way to the host; false, as fails().
  bool lacks_staging() { return lacks("pieces leave no room for packed lists on their way to the host"); }

  /// Bytes of two blocks with room for more than what is expected.
  static std::int64_t bytes_with_spare(const ExpectedWords& expected) {
    return 4 * (with_spare(expected.lists) + with_spare(expected.longs) + 2 * kPackedPad);
  }
  /// All words stay on the device, within `room` bytes.
  bool take(const ExpectedWords& expected, std::int64_t room) {
    room_ = room, exceeds_ = false;
    auto lists = with_spare(expected.lists), longs = with_spare(expected.longs);
    const auto most = std::max<std::int64_t>(0, room_ / 4 - 2 * kPackedPad);
    if (lists + longs > most) {
      lists = std::int64_t(double(most) * (double(lists) / double(lists + longs)));
      longs = most - lists;
    }
    return grow(out_.lists, 0, lists) && grow(out_.longs, 0, longs);
  }
  /// They fill `near` bytes, and go on in host memory; staged ones may take `room` bytes. `expected.longs` are room that suffices.
  bool take_far(const ExpectedWords& expected, std::int64_t near, std::int64_t room,
                std::int64_t most_words) {
    const auto words = near / 4 - kPackedPad;
    if (room < 0 || expected.longs > words) return fails("long lists alone exceed the GPU's budget");
    room_ = room, exceeds_ = false, near_lists_ = -1, near_groups_ = 0;
    const auto block = allocate<std::uint32_t>(words + kPackedPad, device_place(stream_.where));
    out_.longs = block.slice(0, expected.longs);
    out_.lists = block.slice(expected.longs, words + kPackedPad - expected.longs);
    const auto there = expected.lists - (out_.lists.size - kPackedPad);
    far_ = std::make_unique<FarWords>(4 * most_words, 4 * std::max<std::int64_t>(1, there), stream_.where);
    return true;
  }
  /// Gives back what was staged, and lets long lists follow the front of the block. `scratch` is memory of the device.
  bool finish_far(std::uint32_t* scratch, std::int64_t scratch_words) {
    synchronize(back_);
    if (near_lists_ < 0) near_lists_ = out_.list_words;
    for (auto left = out_.long_words; left > 0;) {  // from the end: the places may overlap
      const auto n = std::min(left, scratch_words);
      left -= n;
      copy_async(scratch, out_.longs.data + left, 4 * n, stream_);
      copy_async(out_.lists.data - out_.long_words + left, scratch, 4 * n, stream_);
    }
    fill_async(out_.lists.data + near_lists_, 0, 4 * kPackedPad, stream_);
    // What readers may touch behind the last word.
    const auto zeros = std::static_pointer_cast<std::uint32_t>(allocate_scratch(4 * kPackedPad, stream_));
    fill_async(zeros.get(), 0, 4 * kPackedPad, stream_);
    far_->append(zeros.get(), 4 * kPackedPad, stream_);
    synchronize(stream_);
    out_.near_words = out_.long_words + near_lists_;
    out_.near_vertices = std::min(out_.vertices, near_groups_ * kPackedGroup);
    out_.far = far_->keep();
    far_.reset();
    return true;
  }
  bool is_far() const { return far_ != nullptr; }

  /// Where the lists of a piece are written, `words` in all, on `stream`; null: there is no room. `done`: the share of all entries that are
  /// in pieces up to this one.
  std::uint32_t* lists_for(Staged& staged, std::int64_t words, double done, Stream stream) {
    auto* const at = out_.lists.data + out_.list_words;
    if (!far_)
      return ensure(out_.lists, out_.list_words, words, done) ? out_.lists.data + out_.list_words : nullptr;
    if (near_lists_ < 0 && out_.list_words + words + kPackedPad <= out_.lists.size) return at;
    wait(stream, staged.gone);
    if (staged.size < words || !staged.words) {
      const auto size = words + words / 8 + 64;
      room_ -= 4 * (size - staged.size);
      if (room_ < 0)
        return fails("the GPU's budget has no room for packed lists on their way to the host"), nullptr;
      staged.words = std::static_pointer_cast<std::uint32_t>(allocate_scratch(4 * size, stream));
      staged.size = size;
    }
    return staged.words.get();
  }
  /// Lists have been written to `at` on `stream`; `before`, on the device, has the words before each of their groups.
  void written(Staged& staged, const std::uint32_t* at, std::int64_t words, const Offset* before,
               std::int64_t groups, Stream stream) {
    if (!far_) return;
    if (at != staged.words.get()) {
      near_groups_ += groups;
      return;
    }
    std::int64_t near = 0;
    if (near_lists_ < 0) {  // the first that does not fit: some of its groups do
      std::vector<Offset> ends(static_cast<std::size_t>(groups) + 1);
      copy_async(ends.data(), before, 8 * (groups + 1), stream);
      synchronize(stream);
      const auto left = out_.lists.size - kPackedPad - out_.list_words;
      const auto last = std::upper_bound(ends.begin(), ends.end(), left) - 1;
      near = *last;
      near_groups_ += last - ends.begin();
      copy_async(out_.lists.data + out_.list_words, at, 4 * near, stream);
      near_lists_ = out_.list_words + near;
    }
    record(staged.written, stream);
    wait(back_, staged.written);
    far_->append(at + near, 4 * (words - near), back_);
    record(staged.gone, back_);
  }
  /// Room for so many more words of long lists.
  bool longs_for(std::int64_t words, double done) {
    if (!far_) return ensure(out_.longs, out_.long_words, words, done);
    return out_.long_words + words <= out_.longs.size ||
           fails("long lists take more than their sample promised");
  }

  /// Gives spare memory back if all words may take no more than `most`; `freed` is what the caller has given back.
  bool trim(std::int64_t most, std::int64_t freed) {
    room_ += freed;
    return grow(out_.lists, out_.list_words, out_.list_words) &&
           grow(out_.longs, out_.long_words, out_.long_words) &&
           (out_.word_bytes() <= most || lacks("the packed lists exceed what the GPU's budget has for them"));
  }

 private:
  bool fails(std::string why) {
    why_ = std::move(why);
    return false;
  }
  bool lacks(std::string why) {
    exceeds_ = true;
    return fails(std::move(why));
  }
  static std::int64_t with_spare(std::int64_t words) {
    return std::int64_t(double(words) * kSpare) + kSpareWords;
  }

  /// Room for `more` words behind `used` ones. If the sample promised too few, as many are expected of the rest as of what is done.
  bool ensure(Array<std::uint32_t>& words, std::int64_t used, std::int64_t more, double done) {
    const auto wanted = used + more;
    if (wanted + kPackedPad <= words.size) return true;
    const auto expected = std::int64_t(double(wanted) * kSpare / std::max(done, 0.05)) + kSpareWords;
    if (!grow(words, used, expected) && !grow(words, used, wanted)) return false;
    exceeds_ = false;
    return true;
  }
  bool grow(Array<std::uint32_t>& words, std::int64_t used, std::int64_t most) {
    const auto bytes = 4 * (most + kPackedPad);
    if (bytes > room_) return lacks("the packed lists exceed the room that is left of the GPU's budget");
    auto more = allocate<std::uint32_t>(most + kPackedPad, device_place(stream_.where));
    if (used > 0) {
      settle_();
      copy_async(more.data, words.data, 4 * used, stream_);
      synchronize(stream_);
    }
    room_ += words.bytes() - bytes;
    words = std::move(more);
    return true;
  }

  PackedOnGpu& out_;
  Stream stream_;
  OwnedStream back_;  // to the host
  std::function<void()> settle_;
  std::int64_t room_ = 0,
               near_lists_ = -1;  // bytes that are left; words of lists in the block, once it is full
  std::int64_t near_groups_ = 0;  // that these are of
  std::unique_ptr<FarWords> far_;
  std::string why_;
  bool exceeds_ = false;
};

}  // namespace penstock
