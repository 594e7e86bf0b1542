#pragma once
#include <optional>
#include <span>
#include <unordered_map>

#include "penstock/comm/mpi/mpi.hpp"
#include "penstock/comm/mpi/mpi_session.hpp"
#include "penstock/comm/mpi/mpi_watch.hpp"
#include "penstock/comm/mpi/mpi_windows.hpp"

namespace penstock {

/// Messages of an exchange without the empty ones. Throws Error{invalid_argument} for a rank out of range, and for two
/// messages with one rank; `verb` begins the text.
std::vector<Message> tidy_messages(std::vector<Message> messages, int size, const char* verb);

/// See mpi.hpp. Implemented in mpi.cpp (collectives), mpi_meet.cpp (how they begin), mpi_messages.cpp (messages),
/// mpi_exchange.cpp and mpi_put.cpp (exchanges), mpi_node.cpp (windows).
class MpiComm final : public Comm {
 public:
  /// `id` and `members` are those of MpiWatch.
  MpiComm(std::shared_ptr<MpiSession> session, PenstockMpiHandle comm, MpiOptions options, std::uint64_t id,
          std::vector<int> members);
  ~MpiComm() override;
  MpiComm(const MpiComm&) = delete;
  MpiComm& operator=(const MpiComm&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override;
  bool one_process() const override { return size_ == 1; }
  double timeout() const override { return session_->timeout(); }
  bool reaches_gpus() const override { return session_->library().gpu_aware(); }
  void barrier() override;
  void broadcast(void* data, std::int64_t bytes, int root) override;
  void all_gather(const void* mine, std::int64_t bytes, void* all) override;
  void all_gather_v(const void* mine, void* all, std::span<const std::int64_t> offsets) override;
  void gather_v(const void* mine, void* all, std::span<const std::int64_t> offsets, int root) override;
  void scatter_v(const void* all, std::span<const std::int64_t> offsets, void* mine, int root) override;
  void all_to_all_v(const void* send, std::span<const std::int64_t> send_offsets, void* receive,
                    std::span<const std::int64_t> receive_offsets) override;
  void all_reduce(std::span<double> values, Reduce op) override;
  void all_reduce(std::span<std::int64_t> values, Reduce op) override;
  void reduce_sum(std::span<double> values, int root) override;
  void start_sum(std::span<double> values) override;
  void finish_sum() override;
  Request send(const void* data, std::int64_t bytes, int to, int tag) override;
  Request receive(void* data, std::int64_t bytes, int from, int tag) override;
  void wait(std::span<Request> requests) override;
  std::unique_ptr<Exchange> persistent(std::vector<Message> sends, std::vector<Message> receives) override;
  std::unique_ptr<Exchange> neighborhood(std::vector<Message> sends, std::vector<Message> receives) override;
  std::unique_ptr<Exchange> indexed(const std::byte* base, std::int64_t entry_bytes,
                                    std::vector<IndexedMessage> sends,
                                    std::vector<Message> receives) override;
  std::unique_ptr<Exchange> put(std::vector<Message> sends, std::vector<Message> receives) override;
  std::vector<std::shared_ptr<void>> share(std::shared_ptr<void> mine) override;
  std::unique_ptr<Comm> split(int color, int key) override;
  void fail(const std::string& why) noexcept override { session_->fail(why); }
  void leave() noexcept override;
  int own_tag() override;
  void step(int tag) override;
  TopicPtr exchange_topic(TopicPtr topic) noexcept override {
    return watch_->calls.exchange_topic(std::move(topic));
  }

  /// A window over `bytes` of each rank, which MPI allocates and which all ranks may access from now on; the caller gives it up
  /// in the end (MpiWindows). Collective.
  PenstockMpiHandle passive_window(std::int64_t bytes, void** memory);

  MpiSession& session() { return *session_; }
  const MpiSession& session() const { return *session_; }

 private:
  const PenstockMpi& mpi() const { return session_->verbs(); }
  // Tags on inside_. Each exchange and each delivery has its own tag, made of the number of its call, so that its messages
  // never arrive in the memory of another one.
  // The ranges of the two kinds do not overlap, and end below 32767, the largest tag that every MPI allows.
  static constexpr int kMeetTag = 1, kTextTag = 2;
  static constexpr int kFirstExchangeTag = 1000, kFirstDeliveryTag = 16000, kDeliveryTags = 16000;
  static int exchange_tag(std::int64_t number) {
    return kFirstExchangeTag + static_cast<int>(number % (kFirstDeliveryTag - kFirstExchangeTag));
  }
  static int delivery_tag(std::int64_t number) {
    return kFirstDeliveryTag + static_cast<int>(number % kDeliveryTags);
  }

  /// Writes `low` combined with `high` to `out`, which is one of the two.
  using Combine = void (*)(const std::byte* low, const std::byte* high, std::byte* out, std::int64_t bytes);
  static constexpr std::int64_t kInline = 4096;  // bytes that travel with the first messages
  static const std::size_t kMeetBytes;
  /// Returns where all ranks make the same call, and throws on all of them otherwise. Up to kInline bytes of each rank are
  /// combined into `data`. Every collective call begins with it.
  void meet(const Call& call, void* data = nullptr, std::int64_t bytes = 0, Combine combine = nullptr);
  void hear(int from, std::int64_t number, Verb verb);
  [[noreturn]] void refuse(int a, int b, bool can_go_on);  // with the calls of ranks a and b
  /// A meeting for at most kInline bytes of which each rank gives some, and zeros in the places of the others.
  void meet_and_merge(const Call& call, const void* mine, std::int64_t at, std::int64_t bytes,
                      std::int64_t total, void* all, std::int64_t from, std::int64_t wanted);
  /// The call that a round of an exchange is, for one that is made now.
  Call begin_exchange(Verb verb);
  /// Calls post(request), which starts a collective, and waits for it.
  template <class F>
  void run(F&& post, const char* verb);
  void gather_to_all(const void* mine, void* all, std::span<const std::int64_t> offsets);
  template <class T>
  void reduce_all(std::span<T> values, Reduce op, int type);
  void check_rank(int rank, const char* verb) const;
  void check_offsets(std::span<const std::int64_t> offsets, const char* verb) const;
  /// Whether these offsets fit MPI's ints; if so, counts_ and places_ hold them.
  bool fits(std::span<const std::int64_t> offsets);
  /// Sends and receives messages of any size, at most one from each rank to each other. Those to this rank are copied, empty
  /// ones do not travel. They belong to the last call that was begun.
  void deliver(const std::vector<Message>& sends, const std::vector<Message>& receives, const char* verb);
  std::vector<std::int64_t> windows_given_up() const;  // MpiWindows::given_up()
  void free_window(const MpiWindows::Entry& w);
  void free_windows(std::span<const std::int64_t> given_up_by_all);  // collective
  /// A window over `bytes` of each rank, or of each rank of this node, which all may access from now on. Collective over all
  /// ranks.
  PenstockMpiHandle open_window(std::int64_t bytes, bool of_node, void** memory);
  /// Finds out which ranks share memory with this one, when it is first called. Collective.
  void meet_node();
  bool shares_memory_with(int rank) const;  // after meet_node()
  void check_ready(int root, const char* verb) const;
  Request slot();

  std::shared_ptr<MpiSession> session_;
  std::shared_ptr<MpiWatch> watch_;  // shared with the exchanges of this Comm
  PenstockMpiHandle comm_ = 0;       // collectives and messages of the caller
  PenstockMpiHandle inside_ = 0;     // what collectives and exchanges send
  MpiOptions options_;
  std::int64_t number_;  // of this communicator, in this process
  int rank_ = 0, size_ = 1;
  MpiRequests one_, sum_, slots_, together_;  // the last: those that wait() waits for
  std::vector<std::byte> out_, in_;           // messages of a meeting
  std::vector<int> peers_, asked_;            // of each slot, and of those that wait() waits for
  std::unordered_map<int, TopicPtr> steps_;   // the topics of steps with tags of own_tag()
  std::int64_t summed_in_ = 0;                // the call that began a sum
  std::vector<bool> receives_, coming_;  // likewise: whether it receives, and is cancelled when wait() fails
  std::vector<Request> free_;
  std::vector<int> counts_, places_;
  bool summing_ = false;
  std::int64_t windows_ = 0;  // made so far
  /// The communicator of the ranks that can share memory with this one.
  std::optional<PenstockMpiHandle> node_;
  std::vector<int> in_node_;  // each rank's number there; -1: elsewhere
};

}  // namespace penstock
