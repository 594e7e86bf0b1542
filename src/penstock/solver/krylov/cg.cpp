// Conjugate gradients (hestenes-1952). An iteration is a product with p . A p taken on the way and two passes: r -= alpha q
// with its inner products, then x += alpha p and p = z + beta p together. Ten vectors cross memory, the least that
// the method allows without storing less; a diagonal M costs one more read in each pass.
#include <memory>

#include "penstock/solver/progress.hpp"

namespace penstock {
namespace {

/// One right-hand side. p is where the next product reads, q where it writes; the caller multiplies.
template <class T>
class Column {
 public:
  Column(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x, std::span<T> p,
         std::span<T> q, const SolveOptions& o, const Space& space)
      : p(p),
        q(q),
        progress(a, m, b, x, o, space),
        m_(m),
        diagonal_(m && m->diagonal.size ? m->diagonal.data : nullptr),
        general_(m && !diagonal_),
        n_(a.rows),
        work_(a.rows, general_ ? 2 : 1),
        r_(work_[0]),
        z_(general_ ? work_[1] : r_),
        x_(x),
        space_(space) {
    if (progress.load({&rz_}, std::array{r_, p})) return;
    const auto norm = progress.residual(r_, o.starts_at_zero);
    progress.start(norm);
    if (!progress.ended()) begin();
  }
  void save() { progress.save({rz_}, std::array{r_, p}); }
  bool running() const { return !progress.ended() && progress.more(); }
  SolveResult finish() { return progress.finish(r_); }

  /// The rest of an iteration, given this process's part of p . q with q = A p.
  void step(double local_pq) {
    auto& sweep = progress.sweep;
    std::array<double, 1> pq{local_pq};
    space_.sum(pq);
    if (!std::isfinite(rz_ + pq[0])) progress.not_finite();
    else if (!(rz_ > 0)) progress.bad_preconditioner(rz_);
    else if (!(pq[0] > 0)) progress.not_positive(pq[0]);
    if (progress.ended()) return;
    const auto alpha = static_cast<T>(rz_ / pq[0]);
    std::array<double, 2> sums;
    sweep(n_, diagonal_ ? 4 : 3, sums, [&](std::int64_t f, std::int64_t n, double* s) {
      axpy<T>(-alpha, q.data() + f, r_.data() + f, n);
      add_dots(f, n, s);
    });
    const auto [rr, rz] = precondition(sums);
    const bool done = progress.small(std::sqrt(rr));
    const auto beta = static_cast<T>(rz / rz_);
    rz_ = rz;
    sweep(n_,
          done        ? 3
          : diagonal_ ? 6
                      : 5,
          [&](std::int64_t f, std::int64_t n) {
            axpy<T>(alpha, p.data() + f, x_.data() + f, n);
            if (done) return;
            if (diagonal_) dxpby<T>(diagonal_ + f, r_.data() + f, beta, p.data() + f, n);
            else xpby<T>(z_.data() + f, beta, p.data() + f, n);
          });
    progress.step(std::sqrt(rr));
    if (done && !progress.verified(r_)) begin();
  }

  std::span<T> p, q;
  Progress<T> progress;

 private:
  /// r . r and, where M is a diagonal, r . M r
  void add_dots(std::int64_t f, std::int64_t n, double* s) const {
    s[0] += dot(r_.data() + f, r_.data() + f, n);
    if (diagonal_) s[1] += dot_scaled(diagonal_ + f, r_.data() + f, n);
  }
  /// {r . r, r . z} over all processes, with z = M r.
  std::array<double, 2> precondition(std::array<double, 2> local) {
    if (general_) local[1] = apply_dots<T>(*m_, r_, z_, r_.data(), progress.sweep).wy;
    else if (!diagonal_) local[1] = local[0];
    space_.sum(local);
    return local;
  }
  /// Sets p = z, for the first direction and for a new beginning from r.
  void begin() {
    auto& sweep = progress.sweep;
    std::array<double, 2> sums;
    sweep(n_, diagonal_ ? 2 : 1, sums, [&](std::int64_t f, std::int64_t n, double* s) { add_dots(f, n, s); });
    rz_ = precondition(sums)[1];
    sweep(n_, diagonal_ ? 3 : 2, [&](std::int64_t f, std::int64_t n) {
      if (diagonal_)
        for (auto i = f; i < f + n; ++i) p[i] = diagonal_[i] * r_[i];
      else std::copy_n(z_.data() + f, n, p.data() + f);
    });
  }

  const LinearOp<T>* m_;
  const T* diagonal_;
  bool general_;
  std::int64_t n_;
  Workspace<T> work_;
  std::span<T> r_, z_, x_;
  const Space& space_;
  double rz_ = 0;
};

}  // namespace

template <class T>
SolveResult cg(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
               const SolveOptions& o, const Space& space) {
  const Workspace<T> work(a.rows, 2);
  Column<T> column(a, m, b, x, work[0], work[1], o, space);
  for (; column.running(); column.save())
    column.step(apply_dots<T>(a, column.p, column.q, column.p.data(), column.progress.sweep).wy);
  return column.finish();
}

template <class T>
std::vector<SolveResult> cg_many(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b,
                                 std::span<T> x, std::int64_t count, const SolveOptions& o,
                                 const Space& space) {
  const auto n = static_cast<std::size_t>(a.rows), k = static_cast<std::size_t>(count);
  require(b.size() == n * k && x.size() == n * k,
          "cg: b and x need as many vectors as there are right-hand sides");
  SolveOptions each = o;
  each.callback = nullptr;
  require(o.checkpoints.every == 0, "cg: a state is kept of one right-hand side, not of several");
  const auto p = allocate<T>(static_cast<std::int64_t>(n * k) + 1),
             q = allocate<T>(static_cast<std::int64_t>(n * k) + 1);
  const auto slot = [n](const Array<T>& all, std::size_t i) { return std::span<T>(all.data + i * n, n); };
  std::vector<std::unique_ptr<Column<T>>> columns;
  std::vector<Column<T>*> running;  // the one at i uses columns i of the product's memory
  for (std::size_t i = 0; i < k; ++i) {
    columns.push_back(std::make_unique<Column<T>>(a, m, b.subspan(i * n, n), x.subspan(i * n, n),
                                                  slot(p, running.size()), slot(q, running.size()), each,
                                                  space));
    if (columns.back()->running()) running.push_back(columns.back().get());
  }
  for (std::int64_t iteration = 1; !running.empty(); ++iteration) {
    const bool together = a.apply_many && running.size() > 1;
    if (together)
      a.apply_many({p.data, running.size() * n}, {q.data, running.size() * n}, std::ssize(running));
    double worst = 0;
    for (auto* c : running) {
      if (together) {
        std::array<double, 1> pq;
        c->progress.sweep(a.rows, 4, pq, [&](std::int64_t f, std::int64_t rows, double* s) {
          s[0] += dot(c->p.data() + f, c->q.data() + f, rows);
        });
        c->step(pq[0]);
      } else {
        c->step(apply_dots<T>(a, c->p, c->q, c->p.data(), c->progress.sweep).wy);
      }
      worst = std::max(worst, c->progress.norm());
    }
    for (std::size_t i = 0; i < running.size();) {  // the last one takes the place of one that is done
      if (running[i]->running()) {
        ++i;
        continue;
      }
      auto* last = running.back();
      if (last != running[i]) std::copy(last->p.begin(), last->p.end(), running[i]->p.begin());
      last->p = slot(p, i), last->q = slot(q, i);
      running[i] = last;
      running.pop_back();
    }
    if (o.callback) o.callback(iteration, worst);
  }
  std::vector<SolveResult> results;
  for (auto& c : columns) results.push_back(c->finish());
  return results;
}

#define X(T)                                                                                            \
  template SolveResult cg(const LinearOp<T>&, const LinearOp<T>*, std::span<const T>, std::span<T>,     \
                          const SolveOptions&, const Space&);                                           \
  template std::vector<SolveResult> cg_many(const LinearOp<T>&, const LinearOp<T>*, std::span<const T>, \
                                            std::span<T>, std::int64_t, const SolveOptions&, const Space&);
X(float)
X(double)
#undef X

}  // namespace penstock
