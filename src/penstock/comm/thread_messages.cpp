// Messages between two ranks. The side that comes first leaves its message in the receiver's box; the side that comes second
// finds it there and copies.
#include <algorithm>
#include <cstring>
#include <utility>

#include "penstock/comm/thread_comm.hpp"

namespace penstock::thread_comm {
namespace {

/// Up to so many bytes a message is copied twice, and its sender never waits.
constexpr std::int64_t kShort = 4096;
constexpr int kLastTag = 32767;

void require_message(const Member& m, std::int64_t bytes, int peer, int tag, const char* verb) {
  m.require_rank(peer, verb);
  require(tag >= 0 && tag <= kLastTag, std::string(verb) + ": tag " + std::to_string(tag) +
                                           " is not between 0 and " + std::to_string(kLastTag));
  require(bytes >= 0, std::string(verb) + ": a message of " + std::to_string(bytes) + " bytes");
}

/// Takes the first message that fits out of the list; null where none fits.
std::shared_ptr<Post> take(std::vector<std::shared_ptr<Post>>& list, int from, int tag) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& p) { return p->from == from && p->tag == tag; });
  if (found == list.end()) return nullptr;
  auto post = std::move(*found);
  list.erase(found);
  return post;
}

/// Copies the message where both sides agree on its size; returns the size that the other side gives.
void copy_message(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

std::string mismatch(const Post& sent, const Post& awaited) {
  return "rank " + std::to_string(sent.from) + " sends " + std::to_string(sent.bytes) + " bytes with tag " +
         std::to_string(sent.tag) + " to rank " + std::to_string(sent.to) + ", which expects " +
         std::to_string(awaited.bytes);
}

}  // namespace

Request ThreadComm::keep(std::shared_ptr<Post> post) {
  under_way_.emplace(next_, std::move(post));
  return next_++;
}

Request ThreadComm::send(const void* data, std::int64_t bytes, int to, int tag) {
  m_.check();
  require_message(m_, bytes, to, tag, "send");
  auto mine = std::make_shared<Post>();
  mine->from = rank(), mine->to = to, mine->tag = tag, mine->bytes = bytes;
  mine->source = static_cast<const std::byte*>(data);
  auto& seat = m_.seat(to);
  std::shared_ptr<Post> other;
  {
    const auto held = m_.copy();
    {
      const std::lock_guard guard(seat.box);
      other = take(seat.receives, rank(), tag);
      if (!other) {
        if (bytes <= kShort) {
          mine->kept.assign(mine->source, mine->source + bytes);
          mine->source = mine->kept.data();
          mine->done.store(true, std::memory_order_relaxed);
        }
        seat.sends.push_back(mine);
      }
    }
    if (other && other->bytes == bytes) {
      copy_message(other->target, mine->source, bytes);
      mine->done.store(true, std::memory_order_relaxed);
      other->done.store(true, std::memory_order_release);
    }
  }
  if (other && other->bytes != bytes) m_.refuse(mismatch(*mine, *other));
  seat.bell.ring();
  return keep(std::move(mine));
}

Request ThreadComm::receive(void* data, std::int64_t bytes, int from, int tag) {
  m_.check();
  require_message(m_, bytes, from, tag, "receive");
  auto mine = std::make_shared<Post>();
  mine->from = from, mine->to = rank(), mine->tag = tag, mine->bytes = bytes;
  mine->target = static_cast<std::byte*>(data);
  auto& seat = m_.seat(rank());
  std::shared_ptr<Post> other;
  {
    const auto held = m_.copy();
    {
      const std::lock_guard guard(seat.box);
      other = take(seat.sends, from, tag);
      if (!other) seat.receives.push_back(mine);
    }
    if (other && other->bytes == bytes) {
      copy_message(mine->target, other->source, bytes);
      mine->done.store(true, std::memory_order_relaxed);
      other->done.store(true, std::memory_order_release);
    }
  }
  if (other && other->bytes != bytes) m_.refuse(mismatch(*other, *mine));
  if (other && other->kept.empty()) m_.seat(from).bell.ring();
  return keep(std::move(mine));
}

int ThreadComm::own_tag() {
  m_.check();
  const int tag = own_tag_of(m_.begin({Verb::own_tag}));
  steps_[tag] = m_.seat(rank()).calls.topic();
  return tag;
}

void ThreadComm::step(int tag) {
  m_.check();
  const auto known = steps_.find(tag);
  m_.begin({.verb = Verb::messages,
            .more = static_cast<std::uint64_t>(tag),
            .topic = known == steps_.end() ? nullptr : known->second});
}

TopicPtr ThreadComm::exchange_topic(TopicPtr topic) noexcept {
  auto& mine = m_.seat(rank());
  const std::lock_guard guard(mine.calls_lock);
  return mine.calls.exchange_topic(std::move(topic));
}

void ThreadComm::wait(std::span<Request> requests) {
  m_.check();
  for (auto& request : requests) {
    if (request == kNoRequest) continue;
    const auto found = under_way_.find(request);
    require(found != under_way_.end(),
            "wait: request " + std::to_string(request) +
                " is not under way: it was waited for before, or belongs to another Comm");
    const auto& post = *found->second;
    const bool sent = post.target == nullptr && post.from == rank();
    const auto ready = [&] { return post.done.load(std::memory_order_acquire); };
    const int peer = sent ? post.to : post.from;
    m_.wait(
        m_.seat(rank()).bell, ready, [&](int r) { return r == peer && !ready(); },
        m_.seat(rank()).calls.number(), sent ? "send" : "receive");
    under_way_.erase(found);
    request = kNoRequest;
  }
}

/// Takes back the messages that nobody has waited for: their memory may go with this Comm.
ThreadComm::~ThreadComm() {
  for (const auto& [request, post] : under_way_) {
    if (post->done.load(std::memory_order_acquire)) continue;
    auto& seat = m_.seat(post->to);
    bool taken_back = false;
    {
      const std::lock_guard guard(seat.box);
      for (auto* list : {&seat.sends, &seat.receives})
        taken_back |= std::erase_if(*list, [&](const auto& p) { return p == post; }) > 0;
    }
    // otherwise another rank copies it at this moment, or was not allowed to
    while (!taken_back && !post->done.load(std::memory_order_acquire) && !m_.fate().failed())
      std::this_thread::yield();
  }
  if (m_.fate().failed()) m_.fate().settle();
}

}  // namespace penstock::thread_comm
