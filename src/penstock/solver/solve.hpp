#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "penstock/solver/linear_op.hpp"

namespace penstock {

/// Where a method is between two iterations: enough to go on as if it had never stopped.
struct SolveState {
  std::int64_t iterations = 0;
  std::vector<double> residuals = {};  // those of SolveResult
  std::vector<double> scalars = {};    // the same on every process
  /// When it is read: M is another one than before, so that directions and recurrences no longer fit. The method takes x and
  /// the counts, and begins again from b - A x.
  bool anew = false;
  /// The method's memory: x and other vectors, of each the rows that this process owns.
  std::vector<std::span<std::byte>> vectors;
};

/// States that are kept in case a solve is interrupted. The method says how many scalars and vectors its state has.
struct Checkpoints {
  /// Iterations from one checkpoint to the next (GMRES: the cycle is ended first); there is one more when the iterations
  /// have run out. 0: never.
  std::int64_t every = 0;
  std::function<void(const SolveState&)> save = {};
  /// Called once, before the first iteration. It writes the vectors in place and fills in the rest, or returns false for a new
  /// beginning.
  std::function<bool(SolveState&)> load = {};
};

struct SolveOptions {
  double rtol = 1e-5, atol = 0;  // done when norm(b - A x) <= max(rtol norm(b), atol)
  std::int64_t max_iterations = 1000;
  int restart = 20;             // GMRES: vectors kept
  bool flexible = false;        // GMRES: M may be another map each time, and its results are kept, too
  bool starts_at_zero = false;  // x is zero on entry: the first product is saved
  /// After each iteration; x is current in CG and BiCGStab, and after each cycle of GMRES.
  std::function<void(std::int64_t iteration, double residual)> callback = {};
  Checkpoints checkpoints = {};  // only of one right-hand side with vectors on the CPU
};

/// Why a solve ended.
enum class Stop {
  converged,
  max_iterations,
  stagnated,           // the true residual no longer falls: rounding
  not_positive,        // CG: p . A p <= 0
  bad_preconditioner,  // CG: r . M r <= 0
  rho,                 // BiCGStab: the residual is orthogonal to the shadow residual
  omega,               // BiCGStab: the stabilising step is zero
  singular,            // GMRES: the Krylov space is exhausted and the residual is not zero
  not_finite,          // NaN or infinity in the recurrence
};

struct SolveResult {
  Stop stop = Stop::max_iterations;
  std::string reason;
  std::int64_t iterations = 0;
  /// Norms of the residual: of the start, then after each iteration, as the recurrence has them.
  std::vector<double> residuals;
  double residual = 0;  // norm(b - A x), computed from the x returned
  double target = 0;    // the norm that the method had to reach
  /// Least bytes that the method's passes and products moved for vectors.
  std::int64_t vector_bytes = 0;
  double seconds = 0;
};

/// Conjugate gradients for a symmetric positive definite A and M (hestenes-1952). M may be null. x is the guess and the result.
template <class T>
SolveResult cg(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
               const SolveOptions& options, const Space& space = {});

/// CG with one reduction an iteration, which overlaps M and A (Ghysels & Vanroose 2014, algorithm 4).
template <class T>
SolveResult pipelined_cg(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
                         const SolveOptions& options, const Space& space = {});

/// Stabilised biconjugate gradients for any A (van der Vorst 1992), preconditioned from the right.
template <class T>
SolveResult bicgstab(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
                     const SolveOptions& options, const Space& space = {});

/// Restarted GMRES (Saad & Schultz 1986), preconditioned from the right: its residuals are the true ones. `flexible`: Saad 1993.
template <class T>
SolveResult gmres(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
                  const SolveOptions& options, const Space& space = {});

/// CG on `count` right-hand sides, one after the other in b and x: every one has its own step lengths and stops by itself,
/// and all that have not stopped share each product (LinearOp::apply_many). The callback hears of the largest residual.
template <class T>
std::vector<SolveResult> cg_many(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b,
                                 std::span<T> x, std::int64_t count, const SolveOptions& options,
                                 const Space& space = {});

}  // namespace penstock

// The entries of vectors for which methods with complex scalars are compiled. Those with real scalars take the parts of complex vectors
// (solver/complex_op.hpp).
#define PENSTOCK_FOR_EACH_ENTRY(X) \
  X(float)                         \
  X(double)                        \
  X(std::complex<float>)           \
  X(std::complex<double>)
