// WebGraph's BVGraph: Boldi and Vigna, "The WebGraph framework I: compression techniques", WWW 2004.
//
// A first pass finds where each list begins and how long it is. It reads every code and keeps no list, on one thread: where
// a code begins, only the one before it tells. With a file of offsets, all threads read the lengths alone. Then ranges of
// vertices are read by all threads. A list may refer to one before its range, that one to another; these are read again.
#include "penstock/io/webgraph/bv_graph.hpp"

#include <variant>

#include "penstock/core/parallel.hpp"
#include "penstock/io/webgraph/bv_walk.hpp"

namespace penstock {
namespace {

// Entries of a range, and what lists before it may cost besides. Graphs whose references go back without a limit have chains
// of some hundred lists.
constexpr std::int64_t kRange = 1 << 18, kBudget = 1 << 21;
constexpr std::int64_t kMostPadding = 128;  // bits behind the last list

/// f(codes) with the type of the graph's codes.
template <class F>
auto with_codes(const BvParameters& p, F&& f) {
  return p.usual() ? f(std::type_identity<UsualBvCodes>()) : f(std::type_identity<AnyBvCodes>());
}

void add_degree(BvGraph& a, std::int64_t v, std::int64_t degree) {
  a.indptr.data[v + 1] = a.indptr.data[v] + degree;
  if (a.indptr.data[v + 1] > a.parameters.arcs)
    throw BvFault{"the lists up to its own have over " + std::to_string(a.parameters.arcs) +
                  " arcs, as many as the .properties promises"};
}

template <class Codes>
void walk_codes(BvGraph& a) {
  BvLists<Codes> lists(a.bytes, a.parameters);
  const auto n = a.parameters.nodes;
  std::int64_t v = 0;
  try {
    for (; v < n; ++v) {
      a.positions.data[v] = lists.in.at();
      const auto h = lists.head(v);
      add_degree(a, v, h.degree);
      const auto* const referred = a.indptr.data + (v - h.reference);
      if (h.degree > 0) lists.skip(h, referred[1] - referred[0]);
      if (v % 1024 == 0) poll_interrupt();
    }
  } catch (const BvFault& fault) {
    bv_fail(a, v, fault);
  }
  a.positions.data[n] = lists.in.at();
}

void read_offsets(BvGraph& a, const Array<const std::uint8_t>& offsets) {
  BvReader in(offsets);
  const auto fail = [](std::int64_t v, const std::string& what) {
    throw Error(Errc::invalid_argument,
                "the .offsets: vertex " + std::to_string(v) + ": " + what +
                    "; it is damaged or of another graph: remove it, it is not needed");
  };
  std::int64_t at = 0;
  for (std::int64_t v = 0; v <= a.parameters.nodes; ++v) {
    try {
      at += static_cast<std::int64_t>(read_code(in, a.parameters.offsets, a.parameters.zeta_k));
    } catch (const BvFault&) {
      fail(v, "the file ends, or has a number that is too large");
    }
    if (at > a.bytes.size * 8)
      fail(v, "its list begins at bit " + std::to_string(at) + ", the graph has " +
                  std::to_string(a.bytes.size * 8));
    a.positions.data[v] = at;
    if (v % 4096 == 0) poll_interrupt();
  }
}

template <class Codes>
void read_degrees(BvGraph& a) {
  parallel_ranges(a.parameters.nodes, 1 << 14, [&](std::int64_t first, std::int64_t last) {
    BvLists<Codes> lists(a.bytes, a.parameters);
    auto v = first;
    try {
      for (; v < last; ++v) {
        lists.in.seek(a.positions.data[v]);
        a.indptr.data[v + 1] = lists.head(v).degree;
      }
    } catch (const BvFault& fault) {
      bv_fail(a, v, fault);
    }
    poll_interrupt();
  });
  std::int64_t v = 0;
  try {
    for (; v < a.parameters.nodes; ++v) add_degree(a, v, a.indptr.data[v + 1]);
  } catch (const BvFault& fault) {
    bv_fail(a, v, fault);
  }
}

/// Ranges of whole rows of about kRange entries.
std::vector<std::int64_t> cut_rows(std::span<const Offset> indptr) {
  std::vector<std::int64_t> first{0};
  const auto rows = std::ssize(indptr) - 1;
  while (first.back() < rows) {
    const auto from = indptr.begin() + first.back();
    const auto end = std::upper_bound(from + 1, indptr.end(), *from + kRange) - indptr.begin() - 1;
    first.push_back(std::clamp(end, first.back() + 1, std::min(rows, first.back() + kRange)));
  }
  return first;
}

using AnyWalk = std::variant<BvWalk<UsualBvCodes>, BvWalk<AnyBvCodes>>;

std::unique_ptr<AnyWalk> walk_of(const BvGraph& a) {
  return with_codes(a.parameters, [&]<class Codes>(std::type_identity<Codes>) {
    return std::make_unique<AnyWalk>(std::in_place_type<BvWalk<Codes>>, a);
  });
}

/// Reads the rows from each of `first` to the next, to where `out` says. Where references go too far back for that, `walk` is
/// made, which reads all lists in order, and which is used from then on.
void read_rows(const BvGraph& a, std::span<const std::int64_t> first, std::unique_ptr<AnyWalk>& walk,
               Index* out) {
  const auto* const indptr = a.indptr.data;
  const auto place = [&](std::int64_t row) { return out + (indptr[row] - indptr[first[0]]); };
  if (!walk) {
    try {
      parallel_for(std::ssize(first) - 1, [&](std::int64_t i) {
        const auto own = walk_of(a);
        std::visit(
            [&](auto& w) {
              w.start(first[at(i)], kBudget);
              w.read(first[at(i) + 1], place(first[at(i)]));
            },
            *own);
        poll_interrupt();
      });
      return;
    } catch (const BvTooFar&) {
      walk = walk_of(a);
      std::visit([](auto& w) { w.start(0, 0); }, *walk);
    }
  }
  std::visit(
      [&](auto& w) {
        std::vector<Index> before;
        for (const auto all = cut_rows(a.indptr.span()); w.vertex() < first[0]; poll_interrupt()) {
          const auto end = std::min(*std::upper_bound(all.begin(), all.end(), w.vertex()), first[0]);
          before.resize(at(indptr[end] - indptr[w.vertex()]));
          w.read(end, before.data());
        }
        for (std::size_t i = 0; i + 1 < first.size(); ++i, poll_interrupt())
          w.read(first[i + 1], place(first[i]));
      },
      *walk);
}

}  // namespace

BvGraph open_bv_graph(const BvParameters& p, const Array<const std::uint8_t>& bytes,
                      const Array<const std::uint8_t>* offsets) {
  require(p.nodes >= 0 && p.nodes <= bytes.size * 8,
          std::to_string(p.nodes) + " vertices cannot be in " + std::to_string(bytes.size) +
              " bytes: the .graph is truncated, or the .properties is of another graph");
  BvGraph a{p, bytes, allocate<Offset>(p.nodes + 1), allocate<Offset>(p.nodes + 1), offsets != nullptr};
  a.indptr.data[0] = 0;
  with_codes(p, [&]<class Codes>(std::type_identity<Codes>) {
    if (!offsets) return walk_codes<Codes>(a);
    read_offsets(a, *offsets);
    read_degrees<Codes>(a);
  });
  const auto end = a.positions.data[p.nodes], arcs = a.indptr.data[p.nodes];
  const auto sizes = "the lists end at bit " + std::to_string(end) + " of " + std::to_string(bytes.size * 8);
  if (end > bytes.size * 8 || end + kMostPadding < bytes.size * 8)
    throw Error(Errc::invalid_argument,
                sizes + ": the .graph or the .properties is damaged or of another graph");
  if (arcs != p.arcs)
    throw Error(Errc::invalid_argument, "the lists have " + std::to_string(arcs) +
                                            " arcs, the .properties promises " + std::to_string(p.arcs) +
                                            ": one of them is of another graph");
  return a;
}

Csr<One> to_csr(const BvGraph& a) {
  const auto indices = allocate<Index>(a.parameters.arcs);
  std::unique_ptr<AnyWalk> walk;
  read_rows(a, cut_rows(a.indptr.span()), walk, indices.data);
  return {a.parameters.nodes, a.parameters.nodes, a.indptr, indices, {}};
}

struct BvPacking::Walk {
  std::unique_ptr<AnyWalk> walk;
};

BvPacking::BvPacking(const BvGraph& a, const PackOptions& options)
    : graph_(a),
      blocks_(std::make_shared<std::vector<PackedBlock>>(cut_blocks(a.indptr.span(), options.block_nnz))),
      walk_(std::make_unique<Walk>()) {}
BvPacking::~BvPacking() = default;

BvPacking::Part BvPacking::next(std::int64_t most) {
  const auto begin = next_;
  auto& blocks = *blocks_;
  auto end = std::min(begin + std::max<std::int64_t>(most, 1), std::ssize(blocks));
  while (end < std::ssize(blocks) && blocks[at(end)].piece &&
         blocks[at(end)].first_row == blocks[at(end - 1)].first_row)
    ++end;  // the pieces of a row stay together
  std::vector<std::int64_t> rows;
  for (auto i = begin; i < end; ++i)
    if (rows.empty() || blocks[at(i)].first_row != rows.back()) rows.push_back(blocks[at(i)].first_row);
  const auto& last = blocks[at(end - 1)];
  rows.push_back(last.first_row + last.rows);
  const auto* const indptr = graph_.indptr.data;
  const auto first_nnz = indptr[rows.front()];
  Part part;
  part.columns = allocate<Index>(indptr[rows.back()] - first_nnz);
  read_rows(graph_, rows, walk_->walk, part.columns.data);
  part.blocks.resize(at(end - begin));
  parallel_for(end - begin, [&](std::int64_t i) {
    auto& b = blocks[at(begin + i)];
    part.blocks[at(i)] =
        pack_block(indptr, part.columns.data + (b.first_nnz - first_nnz), graph_.parameters.nodes, b);
  });
  for (auto i = begin; i < end; ++i) blocks[at(i)].at = bytes_, bytes_ += blocks[at(i)].bytes;
  next_ = end;
  return part;
}

Packed<One> BvPacking::directory() const {
  const auto& p = graph_.parameters;
  return {p.nodes, p.nodes, p.arcs, ValueKind::none, blocks_, {}};
}

Packed<One> to_packed(const BvGraph& a, const PackOptions& options) {
  BvPacking packing(a, options);
  std::vector<Array<std::byte>> blocks;
  while (!packing.done())
    for (auto& block : packing.next(4 * num_threads()).blocks) blocks.push_back(std::move(block));
  auto packed = packing.directory();
  const auto& all = *packed.blocks;
  const auto bytes = allocate<std::byte>(all.empty() ? 0 : all.back().at + all.back().bytes);
  parallel_for(std::ssize(all), [&](std::int64_t i) {
    std::memcpy(bytes.data + all[at(i)].at, blocks[at(i)].data, at(all[at(i)].bytes));
    blocks[at(i)] = {};
  });
  packed.bytes = bytes;
  return packed;
}

}  // namespace penstock
