#pragma once
#include <chrono>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/sssp/sssp_gpu_rule.hpp"
#include "penstock/graph/sssp/sssp_gpu_state.hpp"

// One search for shortest paths on a GPU, as its host thread drives it. For each window the host reads a few numbers (how many
// vertices are near, how many edges they have), decides how the window is relaxed (pushed, pulled, or many small windows in
// one kernel; sssp_gpu_rule.hpp), and launches the kernels. sssp_gpu.cpp has the idea.
namespace penstock::graph {

/// Memory that the searches of one graph share, and its weights.
struct PathWork {
  explicit PathWork(GpuGraph& g);
  /// What a call takes besides: bytes of a distance, whether it asks for predecessors, and weights that go to the GPU as a whole.
  struct Needs {
    std::int64_t distance_bytes = 4;
    bool tree = false;
    const void* values = nullptr;
    std::int64_t weight_bytes = 0;
  };
  /// That of the graph. What else the graph keeps makes room for it and for what the call takes.
  static PathWork& of(GpuGraph& g, const Needs& needs);
  static std::int64_t most_segments(const GpuGraph& g);

  template <class D>
  gpu::PathState<D> state(GpuGraph& g);
  /// Weights along the edges, placed once for each array.
  template <class W>
  gpu::WeightView<W> place(GpuGraph& g, const Array<const W>& values);

  struct Placed {
    const void* values = nullptr;
    GpuGraph::Along along;
  };
  std::int64_t words;
  Array<unsigned> keys;  // the distances as keys: one or two words a vertex
  Array<Index> list, starts, tree;
  Array<gpu::Bits> bits;
  Array<gpu::PathSegment> segments;
  Array<Index> piles;
  Array<gpu::SmallTurn> turns;
  Array<gpu::PathCounts> counts, seen;  // on the device, and the copy that the host reads
  std::vector<Placed> placed;
  Array<std::uint32_t> wide;  // whole weights in four bytes
};

template <class D, class W>
class PathRun {
 public:
  PathRun(GpuGraph& g, PathWork& work, const gpu::WeightView<W>& weights, const SsspGpuOptions& options,
          double delta, double widest, double smallest, D limit)
      : g_(g), work_(work), weights_(weights), options_(options), s_(work.state<D>(g)), limit_(limit) {
    access_ = g.access_or_best(options.access);
    smallest_ = static_cast<D>(smallest);
    width_ = least_ = std::max(delta, smallest), widest_ = widest;
    window_ = {.width = width_of(width_), .over_link = !g.in_core()};
  }

  /// Returns false if a path was longer than the limit.
  bool run(std::span<const Index> sources) {
    steps_.clear();
    gpu::begin_paths(s_, sources, stream());
    if (options_.method == SsspMethod::bellman_ford) scan();
    else search();
    return look().out_of_range == 0;
  }

  void find_tree(std::span<const Index> sources) {
    if (!work_.tree.data) work_.tree = g_.take<Index>(g_.vertices(), "the predecessors");
    s_.tree = work_.tree.data;
    gpu::begin_tree(s_, stream());
    walk({.step = gpu::PathStep::tight, .count = g_.vertices(), .limit = limit_});
    const bool level = look().changed != 0;
    gpu::mark_tree(s_, sources, stream());
    if (level && look().near > 0) {
      copy_async(s_.front, s_.pending, 4 * s_.words, stream());
      for (;;) {
        gpu::next_of_tree(s_, stream());
        const auto found = look().near;
        if (found == 0) break;
        walk({.step = gpu::PathStep::level, .list = s_.list, .count = found, .limit = limit_});
      }
    }
    gpu::finish_tree(s_, sources, stream());
    synchronize(stream());
  }

  const gpu::Key<D>* distances() const { return s_.distances; }
  std::vector<SsspStep>& steps() { return steps_; }

 private:
  Stream stream() const { return g_.stream(); }
  static D width_of(double width) {
    if constexpr (std::is_integral_v<D>) return static_cast<D>(std::min(width, 0x1p31 - 1));
    else return static_cast<D>(std::min(width, static_cast<double>(std::numeric_limits<D>::max())));
  }

  /// Waits for the device and returns its counters.
  const gpu::PathCounts& look() {
    copy_async(work_.seen.data, s_.counts, sizeof(gpu::PathCounts), stream());
    synchronize(stream());
    poll_interrupt();
    return *work_.seen.data;
  }
  void walk(const gpu::PathWalk<D>& step) {
    gpu::walk_paths(g_.view(), weights_, s_, step, access_, options_.count, stream());
  }

  /// The distance of the nearest vertex plus the smallest weight. Distances up to this are final.
  gpu::Key<D> final_to(gpu::Key<D> nearest) const {
    if constexpr (std::is_integral_v<D>)
      return static_cast<D>(std::min<std::uint64_t>(std::uint64_t(nearest) + smallest_, gpu::kNoPath<D> - 1));
    else return gpu::key_of<D>(gpu::length_of<D>(nearest) + smallest_);
  }

  void search() {
    const bool may_be_small =
        access_ == Access::aligned || access_ == Access::direct || access_ == Access::packed;
    bool was_small = false;
    for (;;) {
      gpu::choose_window(g_.view(), s_, window_, stream());
      const auto now = look();
      if (now.pending == 0) return;
      const auto nearest = static_cast<gpu::Key<D>>(~now.nearest);
      SsspStep step{.kind = SsspStepKind::push,
                    .nearest = static_cast<double>(gpu::length_of<D>(nearest)),
                    .pending = now.pending,
                    .vertices = now.near,
                    .edges = std::int64_t(now.near_edges),
                    .link_edges = std::int64_t(now.near_link)};
      // A kernel of small windows that gave up leaves at least one window to this loop.
      if (may_be_small && !was_small && is_small_window(now.near, step.edges, now.pending)) {
        was_small = true;
        step.kind = SsspStepKind::small, step.edges = step.link_edges = 0;
        run_small(now.pending);
      } else {
        was_small = false;
        const auto cost = path_cost(double(now.near_edges), double(now.near_link));
        if (!pulls(nearest, step)) {
          gpu::list_window(s_, stream());
          walk({.step = gpu::PathStep::push, .list = s_.list, .count = now.near, .limit = limit_});
        }
        width_ = next_width(width_, least_, widest_, cost, double(g_.edges()));
        window_.width = width_of(width_);
      }
      steps_.push_back(step);
    }
  }

  /// Lets the vertices behind the window pull, if that costs less. They then see every pending vertex.
  bool pulls(gpu::Key<D> nearest, SsspStep& step) {
    if (!options_.symmetric || !may_pull(step.edges, g_.edges())) return false;
    const auto beyond = final_to(nearest);
    gpu::measure_open(g_.view(), s_, beyond, window_.over_link, stream());
    const auto& open = look();
    const auto edges = static_cast<double>(open.open_edges), link = static_cast<double>(open.open_link);
    if (!(path_cost(edges, link) <
          path_cost(static_cast<double>(step.edges), static_cast<double>(step.link_edges))))
      return false;
    step.kind = SsspStepKind::pull;
    step.edges = std::int64_t(open.open_edges), step.link_edges = std::int64_t(open.open_link);
    fill_async(s_.pending, 0, 4 * s_.words, stream());
    walk({.step = gpu::PathStep::pull, .count = g_.vertices(), .beyond = beyond, .limit = limit_});
    return true;
  }

  void run_small(Index pending) {
    gpu::compact(s_.pending, s_.words, s_.list, s_.starts, &s_.counts->near, stream());
    Index* const piles = work_.piles.data;
    const gpu::SmallPaths small{
        .near = {piles, piles + kSmallNear},
        .far = {piles + 2 * kSmallNear, piles + 2 * kSmallNear + kSmallFar},
        .turns = work_.turns.data,
    };
    gpu::small_windows(g_.view(), weights_, s_, small, window_, limit_, pending, options_.count, stream());
  }

  void scan() {
    if constexpr (!std::is_same_v<W, std::uint8_t> && !std::is_same_v<W, std::uint16_t>) {
      const auto n = g_.vertices();
      ListView all = g_.view();
      all.list_begin = nullptr;                              // EMOGI has no cache
      auto* now = reinterpret_cast<std::uint8_t*>(s_.list);  // the changed vertices: no list is made here
      auto* next = now + n;
      gpu::flag_pending(s_, now, stream());
      for (bool changed = true; changed; std::swap(now, next)) {
        fill_async(next, 0, n, stream());
        gpu::scan_paths(all, weights_, s_, limit_, now, next, access_, options_.count, stream());
        changed = look().changed != 0;
        steps_.push_back({.kind = SsspStepKind::scan});
      }
    }
  }

  GpuGraph& g_;
  PathWork& work_;
  gpu::WeightView<W> weights_;
  const SsspGpuOptions& options_;
  gpu::PathState<D> s_;
  gpu::Window<D> window_;
  double width_ = 0, least_ = 0, widest_ = 0;  // of a window
  Access access_ = Access::aligned;
  D smallest_{}, limit_{};
  std::vector<SsspStep> steps_;
};

}  // namespace penstock::graph
