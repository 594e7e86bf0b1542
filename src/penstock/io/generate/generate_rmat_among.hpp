#pragma once
#include "penstock/comm/comm.hpp"
#include "penstock/io/generate/generate_rmat.hpp"
#include "penstock/partition/partition.hpp"

namespace penstock {

/// generate_rmat(options, keep), bit for bit, for `keep` = the rows and columns that this rank holds entries of by `p`
/// (the whole of rows that are shared in pieces). Each rank draws its part of the edges, twice, and sends them to whom
/// they belong, piece by piece: beside its result it needs two bytes an entry and a few MB. Collective.
Csr<One> generate_rmat_among(Comm& comm, const RmatOptions& options, const Partition& p,
                             const KeptRows& keep);

}  // namespace penstock
