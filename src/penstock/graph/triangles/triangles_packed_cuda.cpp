// Orients edges out of packed lists (triangles_packed_gpu.hpp): lists are decoded once to count the ends of each row, and once more
// to write them. Where numbers are ranks by degree, the ends of a range of rows become keys that are sorted.
#include "penstock/graph/triangles/triangles_packed_gpu.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/gpu/graph_room.hpp"
#include "penstock/kernel/structure/sort_keys.hpp"

namespace penstock {
namespace {

class PackedOrienter {
 public:
  PackedOrienter(GpuGraph& g, bool to_host)
      : g_(g), to_host_(to_host), use_(g.where()), n_(g.vertices()), edges_(g.edges() / 2) {
    here_ = {Memory::device, static_cast<std::int16_t>(g.where().gpu)};
    bits_ = std::max(1, int(std::bit_width(std::uint64_t(std::max<std::int64_t>(n_ - 1, 0)))));
  }

  std::optional<OrientedOnGpu> run() {
    const auto begin = Clock::now();
    // Numbers, their order and offsets; or, before, lengths and two buffers of keys of the vertices beside numbers and order.
    const auto kept = 12 * n_ + 8 * (n_ + 1) + kBesides;
    const auto least = std::max(kept + range_bytes(std::min(edges_, kRangeLeast)),
                                12 * n_ + 16 * n_ + gpu::sort_bytes(n_) + kBesides);
    g_.make_room(least + lists_bytes());
    if (n_ == 0 || edges_ == 0 || g_.left() < least) return {};
    if (!number()) return {};
    offsets_ = scratch<Offset>(n_ + 1);
    gpu::offsets_below(lengths_.get(), n_, offsets_.get(), stream());
    lengths_ = {};
    const auto on_host = allocate<Offset>(n_ + 1, {Memory::pinned});
    copy_async(on_host.data, offsets_.get(), on_host.bytes(), stream());
    synchronize(stream());
    if (on_host.data[n_] != edges_) return {};
    Offset longest = 1;
    for (std::int64_t r = 0; r < n_; ++r) longest = std::max(longest, on_host.data[r + 1] - on_host.data[r]);
    const auto left = g_.left() - kept;
    // Beside what stays, searches of the packed lists have the room that these leave them.
    const bool stays =
        !to_host_ && left - lists_bytes() >= range_bytes(std::min(edges_, kRangeLeast)) &&
        packed_list_room(n_, g_.edges(), g_.facts().room()) >= lists_bytes() + result_.number.bytes();
    const auto room = stays ? left - lists_bytes() : left;
    const auto most = std::max(longest, orient_range(room, edges_, gpu::sort_bytes));
    if (range_bytes(most) > room) return {};  // the ends of the longest row are sorted at once
    result_.bytes = kept + range_bytes(most) + (stays ? lists_bytes() : 0);
    {
      const auto aside = g_.set_aside(result_.bytes, "orienting edges");
      write(on_host, most, stays);
    }
    keep(stays);
    result_.simple = true;
    result_.seconds = since(begin);
    return std::move(result_);
  }

 private:
  static constexpr std::int64_t kBesides = 1 << 20;

  Stream stream() const { return g_.stream(); }
  std::int64_t lists_bytes() const { return 8 * (n_ + 1) + 4 * edges_; }
  static std::int64_t range_bytes(Offset entries) { return orient_range_bytes(entries, gpu::sort_bytes); }
  template <class T>
  std::shared_ptr<T> scratch(std::int64_t count) {
    return std::static_pointer_cast<T>(
        allocate_scratch(std::max<std::int64_t>(count, 1) * std::int64_t(sizeof(T)), stream()));
  }

  /// Gives numbers where they are worth it; the length of each row is in lengths_. False: the lists are not those of a simple,
  /// symmetric graph.
  bool number() {
    const auto& view = g_.view();
    lengths_ = scratch<Index>(n_);
    gpu::count_oriented(view, nullptr, lengths_.get(), stream());
    const auto there = scratch<gpu::PatternFacts>(1);
    fill_async(there.get(), 0, sizeof(gpu::PatternFacts), stream());
    gpu::measure_packed(view, lengths_.get(), there.get(), stream());
    gpu::PatternFacts facts;
    copy_async(&facts, there.get(), sizeof facts, stream());
    synchronize(stream());
    if (2 * std::int64_t(facts.below) != g_.edges()) return false;
    if (!worth_renumbering(g_.edges(), facts.lookups, std::int64_t(facts.connected))) return true;
    const auto number = allocate<Index>(n_, here_);
    order_ = scratch<Index>(n_);
    {
      const auto keys = scratch<std::uint64_t>(n_), other = scratch<std::uint64_t>(n_);
      const auto bytes = gpu::sort_bytes(n_);
      const auto work = scratch<std::byte>(bytes);
      gpu::packed_degree_keys(view, facts.most, bits_, keys.get(), stream());
      const auto* sorted = gpu::sort_keys({keys.get(), other.get(), work.get(), bytes}, n_, bits_,
                                          bits_ + int(std::bit_width(facts.most)), stream());
      gpu::write_numbers(sorted, n_, bits_, number.data, stream());
      gpu::write_order(sorted, n_, bits_, order_.get(), stream());
    }
    result_.number = number;
    gpu::count_oriented(view, number.data, lengths_.get(), stream());
    return true;
  }

  void write(const Array<Offset>& offsets, Offset most, bool stays) {
    const bool sorts = result_.number.size > 0;
    const auto ends = allocate<Index>(edges_, stays ? here_ : Place{Memory::pinned});
    const auto bytes = gpu::sort_bytes(most);
    const auto keys = scratch<std::uint64_t>(sorts ? most : 0),
               other = scratch<std::uint64_t>(sorts ? most : 0);
    const auto work = scratch<std::byte>(sorts ? bytes : 0);
    const auto some = scratch<Index>(stays ? 0 : most);
    for (std::int64_t first = 0; first < n_;) {
      const auto from = offsets.data[first];
      const auto last = orient_range_end({offsets.data, static_cast<std::size_t>(offsets.size)}, first, most);
      const auto count = offsets.data[last] - from;
      auto* const to = stays ? ends.data + from : some.get();
      const gpu::OrientRange range{result_.number.data, order_.get(), offsets_.get(), first, last, bits_};
      if (count == 0) {
      } else if (sorts) {
        gpu::collect_keys(g_.view(), range, keys.get(), stream());
        const auto* sorted =
            gpu::sort_keys({keys.get(), other.get(), work.get(), bytes}, count, 0,
                           bits_ + int(std::bit_width(std::uint64_t(last - first - 1))), stream());
        gpu::ends_of_keys(sorted, count, bits_, to, stream());
      } else {
        gpu::collect_ends(g_.view(), range, to, stream());
      }
      if (!stays && count > 0) copy_async(ends.data + from, to, 4 * count, stream());
      first = last;
    }
    if (stays) {
      const auto own = allocate<Offset>(n_ + 1, here_);
      copy_async(own.data, offsets_.get(), own.bytes(), stream());
      result_.lists = {n_, n_, own, ends, {}};
    } else {
      result_.lists = {n_, n_, offsets, ends, {}};
    }
    synchronize(stream());
  }

  /// What stays on the GPU is of the graph's budget as long as it is there.
  void keep(bool stays) {
    const auto account =
        g_.set_aside((stays ? lists_bytes() : 0) + result_.number.bytes(), "the oriented lists", true);
    result_.number = with_account(result_.number, account);
    if (!stays) return;
    result_.lists.indptr = with_account(result_.lists.indptr, account);
    result_.lists.indices = with_account(result_.lists.indices, account);
  }

  GpuGraph& g_;
  bool to_host_;
  UseDevice use_;
  std::int64_t n_;
  Offset edges_;
  Place here_;
  int bits_ = 1;
  OrientedOnGpu result_;
  std::shared_ptr<Index> lengths_, order_;
  std::shared_ptr<Offset> offsets_;
};

}  // namespace

std::optional<OrientedOnGpu> orient_packed_gpu(GpuGraph& g, bool to_host) {
  require(g.is_packed() && g.vertices() == g.all_vertices(),
          "orient_packed_gpu needs the packed lists of a whole graph");
  const GraphTurn turn(g, nullptr);
  struct End {
    Stream stream;
    ~End() { drain(stream); }
  } end{g.stream()};
  try {
    return PackedOrienter(g, to_host).run();
  } catch (const Error& e) {  // somebody else took the memory of the budget
    if (e.code() != Errc::out_of_memory) throw;
    return {};
  }
}

}  // namespace penstock
