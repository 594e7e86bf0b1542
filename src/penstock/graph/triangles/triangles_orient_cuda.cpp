// Orients edges on a GPU (triangles_orient_gpu.hpp). The entries are checked while they come over the link. Vertices get their
// numbers by a sort of their degrees, and every edge becomes a key, number of its larger end << bits | number of the smaller
// one; sorted keys are the lists. For 135 million edges between 8 million vertices, sorting keys of 46 bits takes 6 passes and
// moves 13 GB, which is the largest part beside the upload.
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/trace.hpp"
#include "penstock/graph/triangles/triangles_orient_gpu.hpp"
#include "penstock/kernel/structure/sort_keys.hpp"
#include "penstock/schedule/device/upload.hpp"

namespace penstock {
namespace {

/// Ends that are looked up at middle vertices cost less than those of whole lists: nothing is read for each list but its entry.
constexpr double kWorth = 1.25;

struct OrientEnd {
  Stream stream;
  ~OrientEnd() { drain(stream); }
};

/// Memory of the stream: what is freed is taken again by what comes after it on the stream.
template <class T>
std::shared_ptr<T> scratch_of(std::int64_t count, Stream stream) {
  return std::static_pointer_cast<T>(allocate_scratch(count * std::int64_t(sizeof(T)), stream));
}

class Orienter {
 public:
  Orienter(const Csr<One>& a, const OrientGpuOptions& options)
      : a_(a), options_(options), use_(Where{options.gpu}), stream_(Where{options.gpu}) {
    here_ = {Memory::device, static_cast<std::int16_t>(options.gpu)};
    bits_ = std::max(1, int(std::bit_width(std::uint64_t(std::max<std::int64_t>(a.rows - 1, 0)))));
    facts_ = scratch_of<gpu::PatternFacts>(1, stream_);
    fill_async(facts_.get(), 0, sizeof(gpu::PatternFacts), stream_);
  }

  std::optional<OrientedOnGpu> run() {
    const bool here = a_.indptr.place == here_ && a_.indices.place == here_;
    const auto uploaded = here ? 0 : a_.bytes();
    result_.bytes = uploaded + orient_bytes(a_.rows, a_.nnz(), gpu::sort_bytes);
    if (result_.bytes > options_.memory) return {};
    if (here) take(a_);
    else bring();
    const auto begin = Clock::now();
    auto facts = measure();
    result_.simple = facts.faults == 0 && 2 * std::int64_t(facts.below) == pattern_.entries;
    if (!result_.simple) {
      const auto keys = options_.symmetric ? pattern_.entries : 2 * pattern_.entries;
      const auto bytes = uploaded + clean_bytes(a_.rows, keys, gpu::sort_bytes);
      if (bytes > options_.memory) return {};
      result_.bytes = std::max(result_.bytes, bytes);
      clean(keys);
      if (held_bytes_ + orient_bytes(a_.rows, pattern_.entries, gpu::sort_bytes) > options_.memory) return {};
      facts = measure();
      require(2 * std::int64_t(facts.below) == pattern_.entries,
              "triangles: the pattern is not symmetric, though it was said to be");
    }
    // A regular graph has half as many pairs as look-ups of whole lists.
    const auto worth = [&](double lookups) {
      return worth_renumbering(pattern_.entries, lookups, std::int64_t(facts.connected));
    };
    if (worth(facts.lookups) || worth(2 * facts.pairs)) renumber(facts);
    else keep_numbers(facts);
    add_incoming_if_there_is_room(facts.most);
    synchronize(stream_);
    result_.seconds = since(begin);
    return std::move(result_);
  }

 private:
  /// The arrays are on the GPU already.
  void take(const Csr<One>& a) {
    pattern_ = {a.rows, a.nnz(), a.indptr.data, a.indices.data};
    gpu::check_entries(pattern_, 0, pattern_.entries, !options_.symmetric, facts_.get(), stream_);
  }

  void bring() {
    const ScopedTimer timer(&result_.upload_seconds);
    offsets_ = scratch_of<Offset>(a_.rows + 1, stream_);
    ends_ = scratch_of<Index>(a_.nnz(), stream_);
    held_bytes_ = a_.bytes();
    pattern_ = {a_.rows, a_.nnz(), offsets_.get(), ends_.get()};
    const OwnedStream copies(stream().where);
    const OwnedEvent ready(stream().where), copied(stream().where);
    record(ready, stream_);  // the memory is there for other streams from here on
    wait(copies, ready);
    upload(offsets_.get(), as_bytes(a_.indptr), copies);
    Offset checked = 0;
    upload(ends_.get(), as_bytes(a_.indices), copies, [&](std::int64_t bytes) {
      record(copied, copies);
      wait(stream_, copied);
      const Offset last = bytes / std::int64_t(sizeof(Index));
      gpu::check_entries(pattern_, checked, last, !options_.symmetric, facts_.get(), stream_);
      checked = last;
    });
  }

  /// The facts, once all entries have been checked; the lengths of the rows' lower parts are in below_.
  gpu::PatternFacts measure() {
    if (!below_) below_ = scratch_of<Index>(std::max<std::int64_t>(a_.rows, 1), stream_);
    gpu::measure_rows(pattern_, below_.get(), facts_.get(), stream_);
    return read_facts();
  }

  gpu::PatternFacts read_facts() {
    gpu::PatternFacts facts;
    copy_async(&facts, facts_.get(), sizeof facts, stream_);
    synchronize(stream_);
    fill_async(facts_.get(), 0, sizeof facts, stream_);
    return facts;
  }

  struct Keys {
    std::shared_ptr<std::uint64_t> keys, other;
    std::shared_ptr<std::byte> scratch;
    gpu::SortBuffers buffers;
  };
  Keys keys_for(std::int64_t count) {
    const auto bytes = gpu::sort_bytes(count);
    Keys k{scratch_of<std::uint64_t>(count, stream_),
           scratch_of<std::uint64_t>(count, stream_),
           scratch_of<std::byte>(bytes, stream_),
           {}};
    k.buffers = {k.keys.get(), k.other.get(), k.scratch.get(), bytes};
    return k;
  }

  /// Makes the pattern simple and symmetric: keys of all entries in both directions, sorted, each once.
  void clean(std::int64_t most) {
    const auto k = keys_for(most);
    const auto append = [&](gpu::KeysOf what) {
      gpu::append_keys(pattern_, what, nullptr, bits_, k.buffers.keys, most, facts_.get(), stream_);
    };
    append(gpu::KeysOf::along);
    if (!options_.symmetric) append(gpu::KeysOf::against);
    const auto count = std::int64_t(read_facts().held);
    const std::uint64_t* sorted = k.buffers.keys;
    std::int64_t unique = 0;
    if (count > 0) {
      const auto length = scratch_of<std::int64_t>(1, stream_);
      sorted = gpu::sort_unique(k.buffers, count, 2 * bits_, length.get(), stream_);
      copy_async(&unique, length.get(), sizeof unique, stream_);
      synchronize(stream_);
    }
    auto offsets = scratch_of<Offset>(a_.rows + 1, stream_);
    auto ends = scratch_of<Index>(unique, stream_);
    gpu::write_lists(sorted, unique, bits_, a_.rows, offsets.get(), ends.get(), stream_);
    offsets_ = std::move(offsets), ends_ = std::move(ends);
    pattern_ = {a_.rows, unique, offsets_.get(), ends_.get()};
    held_bytes_ = std::int64_t(sizeof(Offset)) * (a_.rows + 1) + std::int64_t(sizeof(Index)) * unique;
  }

  /// Numbers are ranks from the highest degree down.
  void renumber(const gpu::PatternFacts& facts) {
    const auto n = a_.rows;
    const auto number = allocate<Index>(n, here_);
    {
      const auto k = keys_for(n);
      gpu::degree_keys(pattern_, facts.most, bits_, k.buffers.keys, stream_);
      // Vertices of one degree are in their order already.
      const auto* sorted =
          gpu::sort_keys(k.buffers, n, bits_, bits_ + int(std::bit_width(facts.most)), stream_);
      gpu::write_numbers(sorted, n, bits_, number.data, stream_);
    }
    const auto edges = pattern_.entries / 2;
    auto k = keys_for(edges);
    gpu::append_keys(pattern_, gpu::KeysOf::lower, number.data, bits_, k.buffers.keys, edges, facts_.get(),
                     stream_);
    offsets_ = {}, ends_ = {}, below_ = {};
    const auto* sorted = gpu::sort_keys(k.buffers, edges, 0, 2 * bits_, stream_);
    const auto held = std::int64_t(read_facts().held);
    require(held == edges, "triangles: " + std::to_string(held) + " of " + std::to_string(edges) +
                               " edges were oriented; has the matrix changed?");
    k.scratch = {};
    result_.number = number;
    write(edges, [&](Offset* offsets, Index* ends) {
      gpu::write_lists(sorted, edges, bits_, n, offsets, ends, stream_);
    });
  }

  void keep_numbers(const gpu::PatternFacts& facts) {
    write(std::int64_t(facts.below), [&](Offset* offsets, Index* ends) {
      gpu::offsets_below(below_.get(), a_.rows, offsets, stream_);
      gpu::copy_below(pattern_, below_.get(), offsets, ends, stream_);
    });
  }

  template <class F>
  void write(Offset edges, F&& fill) {
    const auto offsets = allocate<Offset>(a_.rows + 1, here_);
    const auto ends = allocate<Index>(edges, here_);
    fill(offsets.data, ends.data);
    result_.lists = {a_.rows, a_.rows, offsets, ends, {}};
  }

  /// The edges into each vertex, where there is room for them and they are less work.
  void add_incoming_if_there_is_room(std::uint64_t longest) {
    // What the lists were made of goes first. Memory is allocated in another way below, so it must be free by then.
    offsets_ = {}, ends_ = {}, below_ = {};
    synchronize(stream_);
    try {
      add_incoming(longest);
    } catch (const Error& e) {  // somebody else took the memory, and the lists serve without
      if (e.code() != Errc::out_of_memory) throw;
    }
  }

  void add_incoming(std::uint64_t longest) {
    const auto& lists = result_.lists;
    const auto n = a_.rows, edges = lists.nnz();
    const auto bytes =
        lists.bytes() + result_.number.bytes() + incoming_bytes(n, edges, gpu::pair_sort_bytes);
    if (edges == 0 || edges >= gpu::kMostIncomingEdges || longest > std::uint64_t(gpu::kMostIncomingLength) ||
        bytes > options_.memory)
      return;
    result_.bytes = std::max(result_.bytes, bytes);
    // The sort leaves its result in one of the two.
    const auto lists_a = allocate<std::uint64_t>(edges, here_),
               lists_b = allocate<std::uint64_t>(edges, here_);
    const auto keys = scratch_of<Index>(edges, stream_), other_keys = scratch_of<Index>(edges, stream_);
    const auto sort_bytes = gpu::pair_sort_bytes(edges);
    const auto scratch = scratch_of<std::byte>(sort_bytes, stream_);
    const auto work = scratch_of<gpu::IncomingWork>(1, stream_);
    gpu::incoming_pairs(lists.indptr.data, lists.indices.data, n, edges, keys.get(), lists_a.data, stream_);
    const auto sorted =
        gpu::sort_pairs({keys.get(), other_keys.get(), lists_a.data, lists_b.data, scratch.get(), sort_bytes},
                        edges, bits_, stream_);
    const auto offsets = allocate<Offset>(n + 1, here_);
    gpu::incoming_offsets(sorted.keys, edges, n, offsets.data, stream_);
    gpu::incoming_work({n, lists.indptr.data, lists.indices.data, offsets.data, sorted.values}, work.get(),
                       stream_);
    gpu::IncomingWork ends;
    copy_async(&ends, work.get(), sizeof ends, stream_);
    synchronize(stream_);
    if (ends.here > kWorth * ends.first) return;
    result_.incoming = {offsets, sorted.values == lists_a.data ? lists_a : lists_b};
  }

  Stream stream() const { return stream_; }

  const Csr<One>& a_;
  const OrientGpuOptions& options_;
  UseDevice use_;
  OwnedStream stream_;
  Place here_;
  int bits_ = 1;
  OrientedOnGpu result_;
  gpu::Pattern pattern_;
  std::shared_ptr<gpu::PatternFacts> facts_;
  std::shared_ptr<Offset> offsets_;
  std::shared_ptr<Index> ends_, below_;
  std::int64_t held_bytes_ = 0;  // of offsets_ and ends_
  OrientEnd end_{stream_};
};

}  // namespace

std::optional<OrientedOnGpu> orient_edges_gpu(const Csr<One>& a, const OrientGpuOptions& options) {
  require_adjacency(a);
  return Orienter(a, options).run();
}

}  // namespace penstock
