#include "penstock/bind/bind.hpp"

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);
  penstock::bind::core(m);
  penstock::bind::csr(m);
  penstock::bind::coo(m);
  penstock::bind::encode(m);
  penstock::bind::generate(m);
  penstock::bind::generate_gpu(m);
  penstock::bind::text(m);
  penstock::bind::multiply(m);
  penstock::bind::spgemm(m);
  penstock::bind::multiply_columns(m);
  penstock::bind::place(m);
  penstock::bind::graph_counts(m);
  penstock::bind::graph_gpu(m);
  penstock::bind::graph_gpu_parts(m);
  penstock::bind::graph_gpu_paths(m);
  penstock::bind::graph_gpu_components(m);
  penstock::bind::graph_paths(m);
  penstock::bind::graph_ranks(m);
  penstock::bind::gpu(m);
  penstock::bind::gpu_columns(m);
  penstock::bind::cusparse_products(m);
  penstock::bind::ell_g(m);
  penstock::bind::structure(m);
  penstock::bind::reorder(m);
  penstock::bind::graph_traverse(m);
  penstock::bind::solver(m);
  penstock::bind::stream(m);
  penstock::bind::precondition(m);
  penstock::bind::device_op(m);
  penstock::bind::probe(m);
  penstock::bind::partition_rows(m);
  penstock::bind::comm_measure(m);
  penstock::bind::comm(m);
}
