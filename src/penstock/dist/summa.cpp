#include "penstock/dist/one_sided.hpp"

namespace penstock {

TileResult multiply_summa(TileMatrix& a, TileMatrix& b, const TileMultiplyOptions& options) {
  LapClock clock, whole;
  TileTimes times;
  require(options.replicas == 1, "SUMMA has no copies of C: replicas=1");
  auto how = options;
  how.kept = Stationary::c;
  auto plan = prepare(a, b, how);
  const auto &am = a.map(), &bm = b.map();
  require(am.grid == bm.grid && am.grid == plan.c.grid, "SUMMA needs A, B and C on one grid of ranks");
  const auto grid = am.grid;
  const auto comm = a.comm();
  const int row = comm->rank() / grid.cols, col = comm->rank() % grid.cols;
  const auto along_row = comm->split(row, col), along_col = comm->split(col, row);
  TileSums sums(plan, a);
  times.prepare = clock.lap();

  // The tile on all ranks of a row or column of the grid.
  const auto spread = [&](Comm& ranks, TileMatrix& from, std::int64_t i, std::int64_t j, int root,
                          std::shared_ptr<void>& memory) -> TileView {
    const auto& tile = from.map().at(i, j);
    const auto bytes = from.map().bytes(i, j);
    if (ranks.rank() == root) {
      auto* own = from.own_tile(i, j);
      ranks.broadcast(own, bytes, root);
      return {own, tile};
    }
    memory = allocate_bytes(bytes, {});
    ranks.broadcast(memory.get(), bytes, root);
    times.fetched += bytes;
    return {static_cast<const std::byte*>(memory.get()), tile};
  };

  const auto m = am.down(), ks = am.across(), n = bm.across();
  for (std::int64_t k = 0; k < ks; ++k) {
    std::vector<std::shared_ptr<void>> memory(static_cast<std::size_t>(m + n));
    std::vector<TileView> as(static_cast<std::size_t>(m)), bs(static_cast<std::size_t>(n));
    for (std::int64_t i = row; i < m; i += grid.rows)
      if (const auto s = static_cast<std::size_t>(i); am.at(i, k).nnz > 0)
        as[s] = spread(*along_row, a, i, k, static_cast<int>(k % grid.cols), memory[s]);
    for (std::int64_t j = col; j < n; j += grid.cols)
      if (const auto s = static_cast<std::size_t>(j); bm.at(k, j).nnz > 0)
        bs[s] = spread(*along_col, b, k, j, static_cast<int>(k % grid.rows),
                       memory[static_cast<std::size_t>(m) + s]);
    times.communication += clock.lap();
    for (std::int64_t i = row; i < m; i += grid.rows)
      for (std::int64_t j = col; j < n; j += grid.cols) {
        const auto &av = as[static_cast<std::size_t>(i)], &bv = bs[static_cast<std::size_t>(j)];
        if (!av.data || !bv.data) continue;
        if (options.mask) {
          const auto mask = options.mask->get_tile(i, j);  // own
          if (mask.tile().nnz == 0) continue;
          sums.sum(i, j).multiply_add_on({mask.data(), mask.tile()}, av, bv);
        } else {
          sums.sum(i, j).multiply_add(av, bv);
        }
        ++times.own;
      }
    times.compute += clock.lap();
  }
  sums.settle();
  times.compute += clock.lap();
  for (const auto& p : plan.plan.products)
    if (p.owner == comm->rank()) times.flops += p.flops;
  auto c = sums.finish(times.accumulation, times.imbalance);
  times.seconds = whole.lap();
  return {std::move(c), std::move(plan.plan), times};
}

}  // namespace penstock
