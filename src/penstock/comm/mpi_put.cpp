#include <algorithm>
#include <cstring>
#include <set>

#include "penstock/comm/mpi_comm.hpp"
#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr int kPostedTag = 2;  // on inside_

class MpiPut final : public Exchange {
 public:
  MpiPut(std::shared_ptr<MpiSession> session, PenstockMpiHandle comm, std::vector<Message> sends,
         std::vector<Message> receives)
      : session_(std::move(session)),
        comm_(comm),
        sends_(std::move(sends)),
        receives_(std::move(receives)),
        tokens_(mpi(), static_cast<int>(sends_.size() + receives_.size())) {
    sources_ = group(receives_);
    targets_ = group(sends_);
  }
  ~MpiPut() override {
    session_->library().windows().retire(window);
    if (!session_->library().running()) return;
    mpi().free_group(sources_);
    mpi().free_group(targets_);
  }
  MpiPut(const MpiPut&) = delete;
  MpiPut& operator=(const MpiPut&) = delete;

  // MPI_Win_start and MPI_Win_complete wait for the target's MPI_Win_post, as long as it takes. So each rank says by a
  // message, which can be waited for with a limit, that it has posted.
  void start() override {
    session_->ready();
    int n = 0;
    for (const auto& m : sends_)
      session_->check(mpi().receive(nullptr, 0, m.rank, kPostedTag, comm_, tokens_.at(n++)), "MPI_Irecv");
    if (!receives_.empty()) session_->check(mpi().window_post(window, sources_), "MPI_Win_post");
    for (const auto& m : receives_)
      session_->check(mpi().send(nullptr, 0, m.rank, kPostedTag, comm_, tokens_.at(n++)), "MPI_Isend");
    if (sends_.empty()) return;
    session_->wait(tokens_.data(), static_cast<int>(sends_.size()), "an exchange by MPI_Put");
    session_->check(mpi().window_start(window, targets_), "MPI_Win_start");
    for (std::size_t i = 0; i < sends_.size(); ++i)
      session_->check(mpi().put(sends_[i].source(base_), sends_[i].bytes, sends_[i].rank, offsets[i], window),
                      "MPI_Put");
  }
  void finish() override {
    if (!sends_.empty()) session_->check(mpi().window_complete(window), "MPI_Win_complete");
    if (!receives_.empty())
      session_->until([&](int* done) { return mpi().window_test(window, done); }, "an exchange by MPI_Put");
    session_->wait(tokens_.data(), tokens_.size(), "an exchange by MPI_Put");
    if (!staged) return;
    const auto* from = staged;
    for (const auto& m : receives_) {
      std::memcpy(m.data, from, m.bytes);
      from += m.bytes;
    }
  }

  void rebase(const std::byte* base) override { base_ = base; }

  PenstockMpiHandle window = 0;
  std::vector<std::int64_t> offsets;  // of each send in its receiver's window
  const std::byte* staged = nullptr;  // the window's memory, where it is not the receives' own

 private:
  const PenstockMpi& mpi() const { return session_->verbs(); }
  PenstockMpiHandle group(const std::vector<Message>& messages) {
    std::vector<int> ranks;
    for (const auto& m : messages) ranks.push_back(m.rank);
    PenstockMpiHandle made = 0;
    session_->check(mpi().group_of(comm_, ranks.data(), static_cast<int>(ranks.size()), &made),
                    "MPI_Group_incl");
    return made;
  }

  std::shared_ptr<MpiSession> session_;
  PenstockMpiHandle comm_;
  std::vector<Message> sends_, receives_;
  const std::byte* base_ = nullptr;
  MpiRequests tokens_;
  PenstockMpiHandle sources_ = 0, targets_ = 0;
};

}  // namespace

std::vector<Message> tidy_messages(std::vector<Message> messages, int size, const char* what) {
  std::set<int> seen;
  for (const auto& m : messages) {
    require(m.rank >= 0 && m.rank < size && m.bytes >= 0, std::string(what) + ": " + std::to_string(m.bytes) +
                                                              " bytes with rank " + std::to_string(m.rank) +
                                                              " of " + std::to_string(size));
    require(seen.insert(m.rank).second,
            std::string(what) + ": two messages with rank " + std::to_string(m.rank));
  }
  std::erase_if(messages, [](const Message& m) { return m.bytes == 0; });
  return messages;
}

std::int64_t MpiComm::first_window_used() const {
  return session_->library().windows().first_used(number_, windows_);
}

void MpiComm::free_windows_before(std::int64_t number) {
  session_->library().windows().free_before(number_, number, [&](const MpiWindows::Entry& w) {
    session_->check(session_->library().free_window(w), "MPI_Win_free");
  });
}

void MpiComm::keep_window(PenstockMpiHandle window, bool passive) {
  session_->library().windows().add({window, number_, windows_++, passive});
}

PenstockMpiHandle MpiComm::passive_window(std::int64_t bytes, void** memory) {
  std::int64_t first[1] = {first_window_used()};
  all_reduce(first, Reduce::min);
  free_windows_before(first[0]);
  PenstockMpiHandle window = 0;
  session_->check(mpi().window_allocate(bytes, inside_, memory, &window), "MPI_Win_allocate");
  session_->check(mpi().window_lock_all(window), "MPI_Win_lock_all");
  keep_window(window, true);
  return window;
}

std::unique_ptr<Exchange> MpiComm::put(std::vector<Message> sends, std::vector<Message> receives) {
  sends = tidy_messages(std::move(sends), size_, "put");
  receives = tidy_messages(std::move(receives), size_, "put");
  // The receives' own memory is the window where it is one piece on every rank, as ghosts of a vector are.
  std::byte *first = nullptr, *end = nullptr;
  std::int64_t bytes = 0;
  for (const auto& m : receives) {
    first = bytes ? std::min(first, m.data) : m.data;
    end = bytes ? std::max(end, m.data + m.bytes) : m.data + m.bytes;
    bytes += m.bytes;
  }
  std::int64_t agreed[2] = {-static_cast<std::int64_t>(end - first != bytes), first_window_used()};
  all_reduce(agreed, Reduce::min);
  free_windows_before(agreed[1]);
  const bool staged = agreed[0] != 0;

  auto made = std::make_unique<MpiPut>(session_, inside_, sends, receives);
  void* memory = first;
  session_->check(staged ? mpi().window_allocate(bytes, inside_, &memory, &made->window)
                         : mpi().window_create(first, bytes, inside_, &made->window),
                  "MPI_Win_create");
  keep_window(made->window, false);
  if (staged) made->staged = static_cast<const std::byte*>(memory);
  made->offsets.resize(sends.size());
  std::vector<std::int64_t> mine(receives.size());
  std::vector<Message> told, asked;
  std::int64_t so_far = 0;
  for (std::size_t i = 0; i < receives.size(); ++i) {
    mine[i] = staged ? so_far : receives[i].data - first;
    so_far += receives[i].bytes;
    told.push_back({receives[i].rank, reinterpret_cast<std::byte*>(&mine[i]), 8});
  }
  for (std::size_t i = 0; i < sends.size(); ++i)
    asked.push_back({sends[i].rank, reinterpret_cast<std::byte*>(&made->offsets[i]), 8});
  deliver(told, asked, "put");
  return made;
}

}  // namespace penstock
