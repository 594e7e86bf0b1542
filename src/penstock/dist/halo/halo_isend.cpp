#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/dist/halo/halo_packed.hpp"

// One message for each neighbour in each exchange, posted when it is packed: MPI_Irecv, MPI_Isend, MPI_Waitall.
namespace penstock::halo {
namespace {

class Isend : public Exchange {
 public:
  Isend(std::shared_ptr<Comm> comm, std::vector<Message> sends, std::vector<Message> receives)
      : comm_(std::move(comm)),
        sends_(std::move(sends)),
        receives_(std::move(receives)),
        tag_(comm_->own_tag()) {}

  ~Isend() override {
    // After an exception messages may be under way: they must not be written here once the buffers are gone.
    if (std::ranges::all_of(under_way_, [](Request r) { return r == kNoRequest; })) return;
    comm_->fail("it left an exchange before the end");
    try {
      comm_->wait(under_way_);
    } catch (const Error&) {}
  }

  void start() override {
    under_way_.clear();
    comm_->step(tag_);
    if (!comm_->one_process()) receive();
    for (const auto& m : sends_) under_way_.push_back(comm_->send(m.source(base_), m.bytes, m.rank, tag_));
  }
  void finish() override {
    if (comm_->one_process()) receive();
    comm_->wait(under_way_);
  }
  void rebase(const std::byte* base) override { base_ = base; }

 private:
  /// Of two threads, the one that comes second copies the message. Receives are waited for last, so that each rank copies its
  /// own messages, at the same time as the others.
  void receive() {
    for (const auto& m : receives_) under_way_.push_back(comm_->receive(m.data, m.bytes, m.rank, tag_));
  }
  std::shared_ptr<Comm> comm_;
  std::vector<Message> sends_, receives_;
  int tag_;  // messages of another exchange never end in this one's memory
  const std::byte* base_ = nullptr;
  std::vector<Request> under_way_;
};

}  // namespace

std::unique_ptr<Exchange> isend(std::shared_ptr<Comm> comm, std::vector<Message> sends,
                                std::vector<Message> receives) {
  return std::make_unique<Isend>(std::move(comm), std::move(sends), std::move(receives));
}

}  // namespace penstock::halo
