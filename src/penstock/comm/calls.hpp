#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

// What ranks call together, as each of them sees it. Ranks that make different calls are told so, with the calls of both.
namespace penstock {

enum class Reduce { sum, min, max };

enum class Verb {
  barrier,
  broadcast,
  all_gather,
  all_gather_v,
  gather_v,
  scatter_v,
  all_to_all_v,
  all_reduce_sum,
  all_reduce_min,
  all_reduce_max,
  reduce_sum,
  start_sum,
  persistent,
  neighborhood,
  indexed,
  put,
  own_tag,
  exchange,
  messages,
  share,
  split,
  end,          // the rank's program has ended: it makes no more calls
  second_half,  // ends a verb in which ranks read each other's memory: no rank leaves before all have read
};
const char* name(Verb verb);

/// What a number of calls in a row are about, as "name\nargument\tvalue\nargument\tvalue": "bfs\nsource\t3". All ranks give the
/// same text, or are told which argument differs.
struct Topic {
  explicit Topic(std::string t);
  std::string text;
  std::uint64_t hash;
};
using TopicPtr = std::shared_ptr<const Topic>;

/// A call of a Comm.
struct Call {
  Verb verb = Verb::barrier;
  int root = -1;            // -1: it has none
  std::int64_t bytes = -1;  // the same on all ranks; -1: ranks may have different numbers
  char type = 0;            // 'd' (float64), 'l' (int64); 0: bytes
  /// What else must be the same on all ranks: a hash of offsets, or the number of an exchange.
  std::uint64_t more = 0;
  TopicPtr topic = nullptr;  // the topic at the time of the call
  std::uint64_t hash() const;
  std::string text() const;  // in the form of a Topic: the topic, if any, then the call
};

/// The call of an all_reduce of numbers, and the call of a verb with offsets that are the same on all ranks.
Call reduction_call(Reduce op, std::int64_t bytes, char type);
Call with_offsets(Verb verb, int root, std::span<const std::int64_t> offsets);
/// The tag that a call of own_tag() gives out. These tags begin at 9000 and stay below the fixed tags of other steps.
int own_tag_of(std::int64_t number);

/// A hash of bytes; `seed` continues another.
std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed = 0);

/// "bfs: ranks disagree on source: rank 0 gives 1, rank 2 gives 5: ...", out of two texts of calls.
std::string disagreement(int rank, const std::string& text, int other, const std::string& other_text);
/// Whether a text is that of Verb::end: then the ranks do not disagree, but one of them has ended.
bool is_end(const std::string& text);

/// The calls that a rank has made of a Comm: their number, and a hash of each with all before it. Ranks that have made
/// the same calls have the same hash.
class Calls {
 public:
  struct Entry {
    std::int64_t number = 0;
    std::uint64_t before = 0, now = 0;
    bool refused = false;
    Call call;
  };
  const Entry& begin(Call call);
  /// Notes that all ranks have refused the last call. It keeps its number, but the hashes of later calls leave it out.
  void refuse();
  const Entry& last() const { return entry(number_); }
  std::int64_t number() const { return number_; }
  /// The call of that number, if it is one of the last 64; null for older calls, later calls and refused ones.
  const Entry* find(std::int64_t number) const;

  /// Sets what calls are about from now on, and returns what they were about before.
  TopicPtr exchange_topic(TopicPtr topic) {
    std::swap(topic, topic_);
    return topic;
  }
  const TopicPtr& topic() const { return topic_; }

 private:
  static constexpr std::int64_t kKept = 64;
  const Entry& entry(std::int64_t number) const { return kept_[static_cast<std::size_t>(number % kKept)]; }
  std::array<Entry, kKept> kept_;
  std::int64_t number_ = 0;
  TopicPtr topic_;
};

}  // namespace penstock
