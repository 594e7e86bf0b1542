// Chebyshev iteration from zero as a preconditioner (Saad 2003, section 12.3): a polynomial in D^-1 A that is positive on the
// interval. So M is symmetric positive definite where A is and the interval holds the eigenvalues of D^-1 A. It needs no
// inner products. A step is a product and one pass.
#include "penstock/core/error.hpp"
#include "penstock/solver/precondition/preconditioners.hpp"
#include "penstock/solver/vectors.hpp"

namespace penstock {

/// Vectors that a step reads or writes: its pass 8, and its product 2.
static constexpr std::int64_t kStepVectors = 10;

void check_chebyshev(const ChebyshevOptions& o) {
  require(o.degree >= 1, "Chebyshev: degree=" + std::to_string(o.degree) + ": give at least 1");
  require(o.smallest > 0 && o.smallest < o.largest,
          "Chebyshev: the eigenvalues lie in an interval (smallest, largest) with 0 < smallest < largest");
}

template <class T>
LinearOp<T> chebyshev(const LinearOp<T>& a, Array<const T> inverse_diagonal, const ChebyshevOptions& o) {
  check_chebyshev(o);
  require(inverse_diagonal.size == 0 || inverse_diagonal.size == a.rows,
          "Chebyshev: a diagonal entry for each row");
  struct State {
    LinearOp<T> a;
    Array<const T> inverse;
    ChebyshevOptions o;
  };
  auto s = std::make_shared<const State>(State{a, std::move(inverse_diagonal), o});
  LinearOp<T> op;
  op.rows = a.rows;
  op.apply = [s](std::span<const T> b, std::span<T> z) {
    const auto n = s->a.rows;
    const Workspace<T> work(n, 3);
    const auto r = work[0], d = work[1], q = work[2];
    const T* inverse = s->inverse.size ? s->inverse.data : nullptr;
    const double middle = (s->o.largest + s->o.smallest) / 2, radius = (s->o.largest - s->o.smallest) / 2;
    const double sigma = middle / radius;
    Sweeper sweep(sizeof(T));
    sweep(n, 4, [&](std::int64_t f, std::int64_t count) {
      const auto scale = static_cast<T>(1 / middle);
      for (auto i = f; i < f + count; ++i) {
        r[i] = b[i];
        z[i] = d[i] = scale * (inverse ? inverse[i] * b[i] : b[i]);
      }
    });
    double rho = 1 / sigma;
    for (int step = 0; step < s->o.degree; ++step) {
      s->a.apply(d, q);
      const double next = 1 / (2 * sigma - rho);
      const auto keep = static_cast<T>(next * rho), add = static_cast<T>(2 * next / radius);
      sweep(n, 8, [&](std::int64_t f, std::int64_t count) {
        T* __restrict rt = r.data() + f, * __restrict dt = d.data() + f, * __restrict zt = z.data() + f;
        const T* __restrict qt = q.data() + f;
        for (std::int64_t i = 0; i < count; ++i) rt[i] -= qt[i];
        if (inverse)
          for (std::int64_t i = 0; i < count; ++i) dt[i] = keep * dt[i] + add * (inverse[f + i] * rt[i]);
        else
          for (std::int64_t i = 0; i < count; ++i) dt[i] = keep * dt[i] + add * rt[i];
        for (std::int64_t i = 0; i < count; ++i) zt[i] += dt[i];
      });
      rho = next;
    }
  };
  op.matrix_bytes = [s] {
    const auto matrix = s->a.matrix_bytes ? s->a.matrix_bytes() : 0;
    return s->o.degree * (matrix + kStepVectors * s->a.rows * static_cast<std::int64_t>(sizeof(T)));
  };
  return op;
}

template LinearOp<float> chebyshev(const LinearOp<float>&, Array<const float>, const ChebyshevOptions&);
template LinearOp<double> chebyshev(const LinearOp<double>&, Array<const double>, const ChebyshevOptions&);

}  // namespace penstock
