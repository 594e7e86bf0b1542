#pragma once
#include <cstdint>

// Decides in which direction a level of a search on a GPU goes, by functions of numbers alone, for host and device. The unit
// of costs is a byte of a long list over the link; if the edges are in device memory, everything is faster by about the same
// factor.
//
// Costs are ratios, which change less from one GPU to another than the speeds that they compare: device memory is 25 (T4) to
// 130 (B200) times as fast as the PCIe link of its time, and 80 times where these were measured. A ratio that is wrong by a
// factor of two changes the direction of levels that cost about the same either way; no result depends on it.
namespace penstock {

/// A request for 32 bytes, of many lists in ascending order: 640 million of them a second, where long reads run at 50 GB/s
/// (H200).
inline constexpr double kSectorCost = 78;
/// How far apart the addresses of concurrent probes may lie. If they are farther apart, the translation of host addresses is
/// the limit (H200, millions of requests a second within 256 MB, 1 GB, 4 GB: 640, 111, 48).
inline constexpr std::int64_t kReach = 256 << 20;
/// The share of all lists, in ascending order, that may be probed at once.
constexpr float reach_of(std::int64_t edges, bool in_core) {
  return in_core || edges * 4 <= kReach ? 1.0f : float(kReach) / (4.0f * float(edges));
}
/// What each list costs besides its entries, because its first and last lines also hold entries of other lists.
inline constexpr double kListCost = 64;
/// How many entries of cached lists, in device memory, cost as much as one over the link: by 3 TB/s and 50 GB/s, and less
/// because both have the same gathers.
inline constexpr std::int64_t kCachedCost = 32;
/// Asking the sample of an unvisited vertex. It takes 40 ps, which is the time of 2 bytes; the rest is for levels where it
/// helps little.
inline constexpr double kAskCost = 3;

/// The largest frontiers that the one-kernel mode takes; for larger ones order and balance are worth the launches. Edges are
/// those of lists that the sample does not hold; one warp may have to walk all of them.
inline constexpr std::int64_t kSmallVertices = 64 << 10, kSmallEdges = 16 << 10;
/// The same for lists in the GPU's own memory, if none has more than kSmallList entries: a warp takes 20 us for these. None has more than
/// twice as many otherwise.
inline constexpr std::int64_t kSmallNearEdges = 256 << 10, kSmallList = 1024;

/// `longest`: entries of the longest list, or more.
constexpr bool is_small(std::int64_t vertices, std::int64_t long_edges, bool near = false,
                        std::int64_t longest = 0) {
  const bool more = near && longest <= kSmallList;
  if (near && longest > 2 * kSmallList) return false;
  return vertices <= kSmallVertices && long_edges <= (more ? kSmallNearEdges : kSmallEdges);
}

/// The cost of a top-down step from `vertices` vertices with `long_edges` edges in lists that the sample does not hold.
constexpr double down_cost(double vertices, double long_edges) {
  return 4 * long_edges + kListCost * (vertices < long_edges ? vertices : long_edges);
}

/// Whether samples are asked before anything is read, because a top-down step would cost more.
constexpr bool asks_samples(double vertices, double long_edges, double unvisited) {
  return down_cost(vertices, long_edges) > kAskCost * unvisited;
}

/// The cost of reading the lists of `open` vertices, a sector at a time, up to the first entry in the frontier. An entry is in
/// the frontier with a probability that is the share of all edges that leave the frontier.
constexpr double up_cost(double open, double frontier_edges, double all_edges, double mean_degree) {
  constexpr double kEntriesOfSector = 8;
  const double probes = frontier_edges * mean_degree < all_edges ? mean_degree : all_edges / frontier_edges;
  const double sectors = probes / kEntriesOfSector;
  return open * kSectorCost * (sectors > 1 ? sectors : 1);
}

// Where all or most lists are in the GPU's own memory, what binds is how many entries are compared with a bitmap. So the unit of these
// costs is an entry that a top-down step walks there: 5 ps on an H100, 8 of a packed list.
inline constexpr double kNearList = 2;  // a list of the frontier
/// A byte of a list that is read over the link, in ascending order, and a request for 32 bytes, in these units.
inline constexpr double kFarByte = 3, kFarSector = 200;
/// What bottom-up steps cost: `ask` for a vertex whose sample is asked, or the beginning of its packed list; `list` for one whose list
/// is probed, and `step` for each step of the probe, which eight lanes do together, one after the other. `far_share` of all lists are
/// read over the link; they have no answer if there is no sample.
struct NearCosts {
  double ask = 2, list = 8, step = 14;
  bool sampled = true;
  double far_share = 0;
};
constexpr NearCosts near_costs(bool packed, bool sampled, double far_share = 0) {
  NearCosts costs{.sampled = sampled || !packed, .far_share = far_share};
  if (packed) costs.step = 35;
  if (!costs.sampled) costs.ask = 6;
  return costs;
}

constexpr double near_down_cost(double vertices, double edges, double far_bytes = 0) {
  return edges + kNearList * vertices + kFarByte * far_bytes;
}
/// What up_cost() is, of `open` vertices, `open_far` of which have lists that are read over the link. In graphs with neighbourhoods most
/// lists that a sample leaves open lie elsewhere: half of them are taken to be read to their ends, unless these are far.
constexpr double near_up_cost(double open, double open_far, double frontier_edges, double all_edges,
                              double mean_degree, const NearCosts& costs) {
  constexpr double kEntriesOfStep = 8, kMostSteps = 3;
  const double probes = frontier_edges * mean_degree < all_edges ? mean_degree : all_edges / frontier_edges;
  const double hit = probes > kEntriesOfStep ? probes / kEntriesOfStep : 1;
  const double all = mean_degree / kEntriesOfStep;
  const double missed = all > kMostSteps ? kMostSteps : all > 1 ? all : 1;
  const double steps = (hit + missed) / 2;
  return open * costs.list + (open - open_far) * costs.step * steps + open_far * kFarSector * steps;
}
/// What asks_samples() is: whether a bottom-up step is expected to cost less, if each of four entries of a sample is in the frontier with
/// the same probability; or asking costs little beside the top-down step. `doubt`: how many times as much it is taken to cost.
constexpr bool asks_near(double vertices, double edges, double far_bytes, double all_edges, double unvisited,
                         double mean_degree, const NearCosts& costs, double doubt) {
  constexpr double kLittle = 4;
  const double others = edges < all_edges ? 1 - edges / all_edges : 0;
  const double unanswered = unvisited * others * others * others * others;
  const double far = (costs.sampled ? unanswered : unvisited) * costs.far_share;
  const double open = unanswered * (1 - costs.far_share) + far, ask = costs.ask * unvisited;
  const double up = ask + near_up_cost(open, far, edges, all_edges, mean_degree, costs);
  return near_down_cost(vertices, edges, far_bytes) > doubt * (up < kLittle * ask ? up : kLittle * ask);
}

/// A search reads over the link at most the lists that are not on the GPU, once, and beyond that this share of them and so many
/// bytes; whole sectors count, of which neighbouring lists share some.
inline constexpr double kSpareShare = 0.125;
inline constexpr std::int64_t kSpareBytes = 16 << 20;
inline constexpr double kSectorBytes = 32;
/// What whole sectors add to a list, on average.
inline constexpr double kListRest = 28;
/// A bottom-up step is given up for a top-down one when it has read this share of what that one costs: its sectors are slower.
inline constexpr double kGiveUp = 0.5;

/// What lists take over the link.
constexpr double far_bytes(double edges, double lists, double bytes_of_entry) {
  return bytes_of_entry * edges + kListRest * lists;
}

/// The bytes that a bottom-up step may read. `spare`: what the search may still read in vain; `spared`: the frontier's lists, which
/// nobody reads if the step ends well; `most`: the lists that it may read. Kernels claim bytes before they read them, so no step reads
/// more. 0: it is not tried.
constexpr double up_limit(double spare, double spared, double most) {
  constexpr double kAny = 1e300;
  if (most - spared <= spare) return kAny;  // it may be read as a whole
  const double even = kGiveUp * spared, less = even < spare ? even : spare;
  return less > kSectorBytes ? less : 0;
}
/// What one of `groups` that work at once claims: `least` for its next read, and more where a quarter of the limit goes round, as an
/// atomic operation for each sector would take longer than the link.
constexpr double claim_bytes(double limit, double groups, double least) {
  constexpr double kMost = 16 * kSectorBytes;
  const double even = limit / (4 * groups), more = even < kMost ? even : kMost;
  return more > least ? more : least;
}

/// Sees to that bound. Top-down steps read each list once at most. A bottom-up step that ends well spares the lists of the frontier; one
/// that is given up has read what it has out of what there is to spare. So no level depends on the expected cost alone, and an
/// expectation that failed corrects the next ones.
class LinkLedger {
 public:
  /// `far` bytes of lists are not on the GPU.
  explicit LinkLedger(std::int64_t far = 0)
      : bounds_(far > 0), spare_(bounds_ ? kSpareShare * double(far) + double(kSpareBytes) : 0) {}

  bool bounds() const { return bounds_; }  // whether there is anything to bound
  double spare() const { return spare_; }
  /// A bottom-up step has read `read` bytes, expected at `expected`, in units of up_cost(). `spared` is as for up_limit().
  void add(double read, double expected, double spared, bool given_up) {
    if (!bounds()) return;
    spare_ += (given_up ? 0 : spared) - read;
    if (given_up) factor_ *= 2;
    else if (expected > 0) factor_ *= read / kSectorBytes * kSectorCost / expected;
    factor_ = factor_ < 0.125 ? 0.125 : factor_ > 4 ? 4 : factor_;
  }
  /// What expected costs of bottom-up steps are multiplied by.
  double factor() const { return factor_; }

 private:
  bool bounds_;
  double spare_, factor_ = 1;
};

}  // namespace penstock
