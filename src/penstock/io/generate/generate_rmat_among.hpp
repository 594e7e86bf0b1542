#pragma once
#include "penstock/comm/comm.hpp"
#include "penstock/io/generate/generate_rmat.hpp"
#include "penstock/partition/partition.hpp"

namespace penstock {

/// generate_rmat(options, keep), bit for bit, where `keep` are the rows and columns that this rank holds entries of by `p`
/// (rows that are shared in pieces are kept as a whole). Each rank draws its part of the edges, twice, and sends them in
/// rounds to the ranks that keep them. Beside its result it needs two bytes an entry and a few MB. Collective.
Csr<One> generate_rmat_among(Comm& comm, const RmatOptions& options, const Partition& p,
                             const KeptRows& keep);

}  // namespace penstock
