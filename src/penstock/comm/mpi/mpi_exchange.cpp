#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "penstock/comm/mpi/mpi_comm.hpp"
#include "penstock/core/error.hpp"

// The exchanges of an MPI communicator. Each keeps the communicator's session; the communicator outlives them.
namespace penstock {
namespace {

std::vector<int> ranks_of(const auto& sends, const auto& receives) {
  std::vector<int> out;
  for (const auto& m : sends) out.push_back(m.rank);
  for (const auto& m : receives) out.push_back(m.rank);
  return out;
}

/// What the rounds of an exchange have in common.
class Rounds {
 public:
  Rounds(std::shared_ptr<MpiWatch> watch, Call call, std::vector<int> peers)
      : watch_(std::move(watch)), call_(std::move(call)), peers_(std::move(peers)) {}
  void begin() {
    watch_->session().ready();
    number_ = watch_->calls.begin(call_).number;
    under_way_ = true;
  }
  void wait(MpiRequests& requests) {
    watch_->wait(requests.data(), requests.size(), number_, peers_, "an exchange");
    under_way_ = false;
  }
  /// Cancels receives that an exception has left, so that no message is written into memory that is gone.
  void take_back(MpiRequests& requests, int receives) {
    if (under_way_) watch_->verbs().cancel_all(requests.data(), receives);
  }

 private:
  std::shared_ptr<MpiWatch> watch_;
  Call call_;
  std::vector<int> peers_;
  std::int64_t number_ = 0;
  bool under_way_ = false;
};

std::vector<PenstockMpiMessage> for_c(const std::vector<Message>& messages) {
  std::vector<PenstockMpiMessage> all;
  for (const auto& m : messages) all.push_back({m.rank, m.data, m.bytes});
  return all;
}

/// Persistent requests. Those of sends that move with the base come last, and are made anew when the base has changed.
class MpiPersistent final : public Exchange {
 public:
  MpiPersistent(std::shared_ptr<MpiSession> session, PenstockMpiHandle comm, int tag, Rounds rounds,
                std::vector<Message> sends, const std::vector<Message>& receives)
      : session_(std::move(session)),
        comm_(comm),
        tag_(tag),
        rounds_(std::move(rounds)),
        sends_(std::move(sends)),
        receives_(static_cast<int>(receives.size())),
        requests_(mpi(), static_cast<int>(sends_.size()) + receives_) {
    int n = 0;
    for (const auto& m : receives)
      session_->check(mpi().receive_init(m.data, m.bytes, m.rank, tag_, comm_, requests_.at(n++)),
                      "MPI_Recv_init");
    const auto moving =
        std::ranges::stable_partition(sends_, [](const Message& m) { return m.from_base < 0; });
    for (const auto& m : std::span(sends_.begin(), moving.begin())) describe(m, n++);
    first_ = n;
    sends_.erase(sends_.begin(), moving.begin());
  }
  ~MpiPersistent() override {
    if (!session_->library().running()) return;
    rounds_.take_back(requests_, receives_);
    mpi().free_all(requests_.data(), requests_.size());
  }
  MpiPersistent(const MpiPersistent&) = delete;
  MpiPersistent& operator=(const MpiPersistent&) = delete;

  void rebase(const std::byte* base) override {
    if (sends_.empty() || base == base_) return;
    session_->check(mpi().free_all(requests_.at(first_), static_cast<int>(sends_.size())),
                    "MPI_Request_free");
    base_ = base;
    for (int n = first_; const auto& m : sends_) describe(m, n++);
  }
  void start() override {
    rounds_.begin();
    session_->check(mpi().start_all(requests_.data(), requests_.size()), "MPI_Startall");
  }
  void finish() override { rounds_.wait(requests_); }

 private:
  const PenstockMpi& mpi() const { return session_->verbs(); }
  void describe(const Message& m, int n) {
    session_->check(mpi().send_init(m.source(base_), m.bytes, m.rank, tag_, comm_, requests_.at(n)),
                    "MPI_Send_init");
  }
  std::shared_ptr<MpiSession> session_;
  PenstockMpiHandle comm_;
  int tag_;
  Rounds rounds_;
  std::vector<Message> sends_;  // those that move with the base
  const std::byte* base_ = nullptr;
  int receives_;   // requests of which come first
  int first_ = 0;  // request of the first of them
  MpiRequests requests_;
};

/// Persistent requests of receives and of sends of scattered entries. The sends are made anew when the base has changed.
class MpiIndexed final : public Exchange {
 public:
  MpiIndexed(std::shared_ptr<MpiSession> session, PenstockMpiHandle comm, int tag, Rounds rounds,
             const std::byte* base, int receives, int sends)
      : session_(std::move(session)),
        comm_(comm),
        tag_(tag),
        rounds_(std::move(rounds)),
        base_(base),
        receives_(receives),
        requests_(mpi(), receives + sends) {}
  ~MpiIndexed() override {
    if (!session_->library().running()) return;
    rounds_.take_back(requests_, receives_);
    mpi().free_all(requests_.data(), requests_.size());
    for (const auto& t : targets_)
      if (t.type) mpi().free_type(*t.type);
    if (entry_) mpi().free_type(*entry_);
  }
  MpiIndexed(const MpiIndexed&) = delete;
  MpiIndexed& operator=(const MpiIndexed&) = delete;

  void describe(std::int64_t entry_bytes) {
    PenstockMpiHandle made = 0;
    session_->check(mpi().entry_type(entry_bytes, &made), "MPI_Type_contiguous");
    entry_ = made;
  }
  void add_receive(const Message& m, int entries) {
    session_->check(
        mpi().typed_receive_init(m.data, entries, *entry_, m.rank, tag_, comm_, requests_.at(described_++)),
        "MPI_Recv_init");
  }
  void add_send(const IndexedMessage& m, std::int64_t entry_bytes) {
    const auto count = static_cast<int>(m.count);
    if (in_a_row({m.indices, static_cast<std::size_t>(m.count)})) {
      targets_.push_back({m.rank, {}, count, m.indices[0] * entry_bytes});
      return;
    }
    PenstockMpiHandle made = 0;
    session_->check(mpi().indexed_type(*entry_, m.indices, count, &made), "MPI_Type_create_indexed_block");
    targets_.push_back({m.rank, made, 1, 0});
  }

  void rebase(const std::byte* base) override { base_ = base; }
  void start() override {
    rounds_.begin();
    if (base_ != bound_to_ || !bound_) bind();
    session_->check(mpi().start_all(requests_.data(), requests_.size()), "MPI_Startall");
  }
  void finish() override { rounds_.wait(requests_); }

 private:
  struct Target {
    int rank;
    /// The type of scattered entries; none where the entries lie side by side.
    std::optional<PenstockMpiHandle> type;
    int count;
    std::int64_t offset;
  };
  const PenstockMpi& mpi() const { return session_->verbs(); }
  void bind() {
    const int n = static_cast<int>(targets_.size());
    session_->check(mpi().free_all(requests_.at(receives_), n), "MPI_Request_free");
    for (int i = 0; i < n; ++i) bind(targets_[static_cast<std::size_t>(i)], requests_.at(receives_ + i));
    bound_to_ = base_;
    bound_ = true;
  }
  void bind(const Target& t, void* request) {
    const auto type = t.type.value_or(*entry_);
    session_->check(mpi().typed_send_init(base_ + t.offset, t.count, type, t.rank, tag_, comm_, request),
                    "MPI_Send_init");
  }

  std::shared_ptr<MpiSession> session_;
  PenstockMpiHandle comm_;
  int tag_;
  Rounds rounds_;
  const std::byte *base_, *bound_to_ = nullptr;
  bool bound_ = false;
  int receives_, described_ = 0;
  MpiRequests requests_;
  std::optional<PenstockMpiHandle> entry_;
  std::vector<Target> targets_;
};

class MpiNeighborhood final : public Exchange {
 public:
  MpiNeighborhood(std::shared_ptr<MpiSession> session, Rounds rounds, void* plan, std::vector<Message> sends)
      : session_(std::move(session)),
        rounds_(std::move(rounds)),
        plan_(plan),
        sends_(std::move(sends)),
        request_(session_->verbs(), 1) {}
  ~MpiNeighborhood() override {
    if (session_->library().running()) session_->verbs().neighbor_free(plan_);
  }
  MpiNeighborhood(const MpiNeighborhood&) = delete;
  MpiNeighborhood& operator=(const MpiNeighborhood&) = delete;
  void rebase(const std::byte* base) override {
    if (base == base_) return;
    base_ = base;
    for (int i = 0; const auto& m : sends_) {
      if (m.from_base >= 0)
        session_->check(session_->verbs().neighbor_move(plan_, i, m.source(base)), "MPI_Get_address");
      ++i;
    }
  }
  void start() override {
    rounds_.begin();
    session_->check(session_->verbs().neighbor_start(plan_, request_.data()), "MPI_Ineighbor_alltoallw");
  }
  void finish() override { rounds_.wait(request_); }

 private:
  std::shared_ptr<MpiSession> session_;
  Rounds rounds_;
  void* plan_;
  std::vector<Message> sends_;
  const std::byte* base_ = nullptr;
  MpiRequests request_;
};

}  // namespace

std::vector<Message> tidy_messages(std::vector<Message> messages, int size, const char* verb) {
  std::set<int> seen;
  for (const auto& m : messages) {
    require(m.rank >= 0 && m.rank < size && m.bytes >= 0, std::string(verb) + ": " + std::to_string(m.bytes) +
                                                              " bytes with rank " + std::to_string(m.rank) +
                                                              " of " + std::to_string(size));
    require(seen.insert(m.rank).second,
            std::string(verb) + ": two messages with rank " + std::to_string(m.rank));
  }
  std::erase_if(messages, [](const Message& m) { return m.bytes == 0; });
  return messages;
}

Call MpiComm::begin_exchange(Verb verb) {
  session_->ready();
  const auto& e = watch_->calls.begin({verb});
  return {
      .verb = Verb::exchange, .more = static_cast<std::uint64_t>(e.number), .topic = watch_->calls.topic()};
}

std::unique_ptr<Exchange> MpiComm::persistent(std::vector<Message> sends, std::vector<Message> receives) {
  sends = tidy_messages(std::move(sends), size_, "persistent");
  receives = tidy_messages(std::move(receives), size_, "persistent");
  auto call = begin_exchange(Verb::persistent);
  const int tag = exchange_tag(watch_->calls.number());
  Rounds rounds(watch_, std::move(call), ranks_of(sends, receives));
  return std::make_unique<MpiPersistent>(session_, inside_, tag, std::move(rounds), std::move(sends),
                                         receives);
}

std::unique_ptr<Exchange> MpiComm::neighborhood(std::vector<Message> sends, std::vector<Message> receives) {
  sends = tidy_messages(std::move(sends), size_, "neighborhood");
  const auto out = for_c(sends);
  const auto in = for_c(tidy_messages(std::move(receives), size_, "neighborhood"));
  auto call = begin_exchange(Verb::neighborhood);
  Rounds rounds(watch_, std::move(call), ranks_of(out, in));
  barrier();  // all have come now: the call that makes the graph cannot be given up
  void* plan = nullptr;
  session_->check(mpi().neighbor_create(inside_, out.data(), static_cast<int>(out.size()), in.data(),
                                        static_cast<int>(in.size()), &plan),
                  "MPI_Dist_graph_create_adjacent");
  return std::make_unique<MpiNeighborhood>(session_, std::move(rounds), plan, std::move(sends));
}

std::unique_ptr<Exchange> MpiComm::indexed(const std::byte* base, std::int64_t entry_bytes,
                                           std::vector<IndexedMessage> sends, std::vector<Message> receives) {
  require(entry_bytes > 0, "indexed: entries of " + std::to_string(entry_bytes) + " bytes");
  constexpr auto most = std::numeric_limits<int>::max();
  std::vector<Message> sizes;
  for (const auto& m : sends) sizes.push_back({m.rank, nullptr, m.count * entry_bytes});
  tidy_messages(sizes, size_, "indexed");
  std::erase_if(sends, [](const IndexedMessage& m) { return m.count == 0; });
  receives = tidy_messages(std::move(receives), size_, "indexed");
  for (const auto& m : sends)
    require(m.count <= most, "indexed: over 2^31 entries for one rank, use persistent()");
  auto call = begin_exchange(Verb::indexed);
  const int tag = exchange_tag(watch_->calls.number());
  Rounds rounds(watch_, std::move(call), ranks_of(sends, receives));
  auto made = std::make_unique<MpiIndexed>(session_, inside_, tag, std::move(rounds), base,
                                           static_cast<int>(receives.size()), static_cast<int>(sends.size()));
  made->describe(entry_bytes);
  for (const auto& m : receives) {
    require(m.bytes % entry_bytes == 0 && m.bytes / entry_bytes <= most,
            "indexed: " + std::to_string(m.bytes) + " bytes are not up to 2^31 entries of " +
                std::to_string(entry_bytes) + " bytes");
    made->add_receive(m, static_cast<int>(m.bytes / entry_bytes));
  }
  for (const auto& m : sends) made->add_send(m, entry_bytes);
  return made;
}

}  // namespace penstock
