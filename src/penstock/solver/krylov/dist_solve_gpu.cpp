#include "penstock/solver/krylov/dist_solve_gpu.hpp"

namespace penstock {

template <class T>
SolveResult dist_solve_gpu(const std::string& method, const DeviceSolve<T>& s, const T* b, T* x,
                           const SolveOptions& options) {
  if (method == "cg") return dist_cg_gpu<T>(s, b, x, options);
  if (method == "pipecg") return dist_pipelined_cg_gpu<T>(s, b, x, options);
  if (method == "bicgstab") return dist_bicgstab_gpu<T>(s, b, x, options);
  if (method == "gmres") return dist_gmres_gpu<T>(s, b, x, options);
  throw Error(Errc::invalid_argument, "method '" + method + "' is unknown");
}

template SolveResult dist_solve_gpu(const std::string&, const DeviceSolve<float>&, const float*, float*,
                                    const SolveOptions&);
template SolveResult dist_solve_gpu(const std::string&, const DeviceSolve<double>&, const double*, double*,
                                    const SolveOptions&);

}  // namespace penstock
