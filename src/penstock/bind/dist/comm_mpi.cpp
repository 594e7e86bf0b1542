// MPI's ranks as _core.Comm. What is found and compiled where is python/penstock/dist/_mpi_find.py's.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/comm/mpi/mpi.hpp"
#include "penstock/core/error.hpp"

namespace penstock::bind {
namespace {

const MpiLibrary& library() {
  const auto* loaded = MpiLibrary::loaded();
  if (!loaded)
    throw Error(Errc::not_accessible, "no MPI has been loaded into this process: call mpi_load() first");
  return *loaded;
}

std::shared_ptr<Comm> make(std::uintptr_t address, std::optional<double> timeout, std::int64_t largest,
                           int node_ranks) {
  MpiOptions options;
  options.timeout = timeout ? *timeout : default_timeout();
  options.largest = largest;
  options.node_ranks = node_ranks;
  const nb::gil_scoped_release release;
  return mpi_comm(library(), reinterpret_cast<const void*>(address), options);
}

}  // namespace

void comm_mpi(nb::module_& m) {
  m.def(
      "mpi_load",
      [](const std::string& libmpi, const std::string& plugin) {
        const nb::gil_scoped_release release;
        return MpiLibrary::load(libmpi, plugin).flavour();
      },
      nb::arg("libmpi"), nb::arg("plugin"),
      "Loads an MPI library and the plugin compiled for it; its flavour, \"openmpi\", \"mpich\" or \"abi\". "
      "Once a process.");
  m.def(
      "mpi_start",
      [] {
        const nb::gil_scoped_release release;
        library().start();
      },
      "MPI_Init, unless that is done.");
  m.def(
      "mpi_finish",
      [] {
        const nb::gil_scoped_release release;
        if (const auto* loaded = MpiLibrary::loaded()) loaded->finish();
      },
      "Frees what is left, and MPI_Finalize where mpi_start() began MPI. Waits for the other ranks.");
  m.def(
      "mpi_end_job",
      [](int code) {
        const nb::gil_scoped_release release;
        if (const auto* loaded = MpiLibrary::loaded()) loaded->end_job(code);
      },
      nb::arg("code") = 1, "MPI_Abort: ends all processes of the job, where MPI runs.");
  m.def(
      "mpi_name", [] { return library().name(); }, "The loaded MPI and its version, as \"Open MPI 5.0.11\".");
  m.def(
      "mpi_gpu_aware", [] { return library().gpu_aware(); },
      "Whether the MPI says that messages may lie in GPU memory. After mpi_start().");
  m.def("mpi_comm", make, nb::arg("address") = 0, nb::arg("timeout") = nb::none(),
        nb::arg("largest") = 0x7fffffff, nb::arg("node_ranks") = 0,
        "The ranks of the MPI_Comm at `address` (0: MPI_COMM_WORLD), which is duplicated. Collective. "
        "Messages over `largest` "
        "bytes travel as derived types, and at most `node_ranks` ranks of a node share memory (0: all): both "
        "smaller only in "
        "tests.");
  m.def(
      "mpi_failed_rank",
      [](const Comm& comm) {
        const int rank = failed_rank(comm);
        return rank < 0 ? std::optional<int>() : rank;
      },
      nb::arg("comm"), "The other rank whose failure has reached this communicator; None where none has.");
}

}  // namespace penstock::bind
