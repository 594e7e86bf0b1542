#pragma once
#include <unordered_map>

#include "penstock/comm/comm.hpp"
#include "penstock/comm/thread_group.hpp"

namespace penstock::thread_comm {

/// A rank of threads(). Collectives are in threads.cpp, messages in thread_messages.cpp.
class ThreadComm final : public Comm {
 public:
  ThreadComm(std::shared_ptr<Group> group, int rank)
      : me_(std::make_shared<Member>(std::move(group), rank)), m_(*me_) {}
  ~ThreadComm() override;

  int rank() const override { return m_.rank; }
  int size() const override { return m_.size(); }
  std::string name() const override { return "threads"; }
  bool one_process() const override { return true; }
  double timeout() const override { return m_.group->timeout; }

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
  void fail(const std::string& why) noexcept override;
  void leave() noexcept override { m_.fate().leave(m_.first_rank); }
  int own_tag() override;
  void step(int tag) override;
  TopicPtr exchange_topic(TopicPtr topic) noexcept override;

 private:
  template <class T>
  void reduce(std::span<T> values, Reduce op);
  template <class T>
  void reduce_in_slices(std::span<T> values, Reduce op);
  void check_offsets(std::span<const std::int64_t> offsets, const char* verb) const;
  Request keep(std::shared_ptr<Post> post);
  std::unique_ptr<Exchange> connect_all(Verb verb, const std::vector<Message>& sends,
                                        const std::vector<Message>& receives);

  std::shared_ptr<Member> me_;  // shared with the exchanges of this Comm
  Member& m_;
  std::unordered_map<Request, std::shared_ptr<Post>> under_way_;
  Request next_ = 0;
  std::span<double> summing_;
  bool sum_under_way_ = false;
  std::int64_t summed_in_ = 0;               // the call that began it
  std::unordered_map<int, TopicPtr> steps_;  // the topics of steps with tags of own_tag()
};

}  // namespace penstock::thread_comm
