#include <algorithm>
#include <numeric>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/dist/halo/halo_packed.hpp"

// Brings all sums to one rank by MPI_Gatherv, which puts them in their places. The balanced distribution of Page and Kogge
// (2018, Fig. 3d) ends a product in this way.
namespace penstock::halo {
namespace {

class Gather : public Exchange {
 public:
  Gather(std::shared_ptr<Comm> comm, const std::vector<Message>& sends, const std::vector<Message>& receives)
      : comm_(std::move(comm)) {
    require(sends.size() <= 1,
            "sums by gather: rows of several ranks are computed here; one rank owns all rows");
    std::int64_t to[] = {sends.empty() ? -1 : sends.front().rank, receives.empty() ? -1 : comm_->rank()};
    comm_->all_reduce(to, Reduce::max);
    root_ = static_cast<int>(std::max<std::int64_t>({to[0], to[1], 0}));
    require(sends.empty() || sends.front().rank == root_, "sums by gather: all rows belong to one rank");
    if (!sends.empty()) from_ = sends.front().data;
    if (!receives.empty()) to_ = receives.front().data;
    const auto mine = sends.empty() ? 0 : sends.front().bytes;
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(comm_->size()));
    comm_->all_gather(&mine, sizeof(mine), bytes.data());
    offsets_.resize(bytes.size() + 1);
    std::partial_sum(bytes.begin(), bytes.end(), offsets_.begin() + 1);
  }
  void rebase(const std::byte*) override {}  // what it sends is always at the same address
  void start() override {}
  void finish() override { comm_->gather_v(from_, to_, offsets_, root_); }

 private:
  std::shared_ptr<Comm> comm_;
  int root_ = 0;
  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  std::vector<std::int64_t> offsets_;
};

}  // namespace

std::unique_ptr<Exchange> gather(std::shared_ptr<Comm> comm, std::vector<Message> sends,
                                 std::vector<Message> receives) {
  return std::make_unique<Gather>(std::move(comm), sends, receives);
}

}  // namespace penstock::halo
