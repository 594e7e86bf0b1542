#include "penstock/comm/mpi/mpi_watch.hpp"

#include <algorithm>
#include <utility>

#include "penstock/core/error.hpp"

namespace penstock {

MpiWatch::MpiWatch(std::shared_ptr<MpiSession> session, std::uint64_t id, int rank, std::vector<int> members)
    : session_(std::move(session)),
      id_(id),
      rank_(rank),
      members_(std::move(members)),
      told_(members_.size()) {
  const int size = static_cast<int>(members_.size());
  for (int step = 1; step < size; step *= 2) {
    around_.push_back((rank_ + step) % size);
    around_.push_back((rank_ + size - step) % size);
  }
  session_->add(this);
}

MpiWatch::~MpiWatch() { session_->remove(this); }

void MpiWatch::ask(std::int64_t number, std::span<const int> peers) {
  const auto* e = calls.find(number);
  if (!e) return;
  const auto text = e->call.text();
  for (const int r : peers)
    if (r != rank_) session_->send_note(member(r), id_, rank_, number, e->now, text);
}

void MpiWatch::compare() {
  for (std::size_t r = 0; r < told_.size(); ++r) {
    auto& t = told_[r];
    // The rank has said nothing, or it speaks of a call that this rank has yet to make.
    if (t.number == 0 || t.number > calls.number()) continue;
    const auto said = std::exchange(t, {});
    const auto* mine = calls.find(said.number);
    if (!mine || mine->now == said.now) continue;
    const auto other = static_cast<int>(r);
    const auto text = mine->call.text();
    session_->give_up(is_end(text) || is_end(said.text) ? Errc::comm : Errc::invalid_argument,
                      disagreement(rank_, text, other, said.text));
  }
}

}  // namespace penstock
