// Errors, threads, the machine, and what was built in.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/bind.hpp"
#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/gpu_code.hpp"
#include "penstock/core/machine.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::bind {
namespace {

void check_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

nb::dict config() {
  nb::dict d;
  d["version"] = kVersion;
  d["compiler"] = kCompiler;
  d["build_type"] = kBuildType;
  d["cuda"] = have_cuda;
  d["cuda_compiler"] = kCudaCompiler;
  d["cuda_architectures"] = kCudaArchitectures;
  d["cuda_kernels"] = have_cuda ? architectures_in_words(kCudaArchitectures) : "";
  d["why_no_cuda"] = why_no_cuda();
  d["simd_files"] = kSimdFiles;
  d["simd"] = std::string(name(simd_level()));
  return d;
}

nb::dict as_dict(const Machine& m, bool measured) {
  nb::dict d;
  d["cpu"] = m.cpu;
  d["cpus"] = m.cpus;
  d["gpus"] = m.gpus;
  d["memory_bytes"] = m.memory_bytes;
  d["available_bytes"] = m.available_bytes;
  d["cache_bytes"] = m.cache_bytes;
  if (measured) d["host_read"] = m.host_read, d["host_copy"] = m.host_copy, d["cache_read"] = m.cache_read;
  return d;
}

}  // namespace

void core(nb::module_& m) {
  static nb::object placement_error = nb::exception<Error>(m, "PlacementError", PyExc_ValueError);
  static nb::object not_compiled_error = nb::exception<Error>(m, "NotCompiledError", PyExc_RuntimeError);
  static nb::object comm_error = nb::exception<Error>(m, "CommError", PyExc_RuntimeError);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      PyObject* type = PyExc_RuntimeError;
      if (e.code() == Errc::invalid_argument) type = PyExc_ValueError;
      if (e.code() == Errc::out_of_memory) type = PyExc_MemoryError;
      if (e.code() == Errc::not_accessible) type = placement_error.ptr();
      if (e.code() == Errc::not_compiled) type = not_compiled_error.ptr();
      if (e.code() == Errc::comm) type = comm_error.ptr();
      PyErr_SetString(type, e.what());
    }
  });
  set_interrupt_poll(check_signals);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(python_ends));  // the first is called last
  m.def("config", config);
  m.def("num_threads", num_threads,
        "Threads that products and other long calls use. Starts from PENSTOCK_NUM_THREADS, or the CPUs that "
        "the process "
        "may use.");
  m.def("set_num_threads", set_num_threads, nb::arg("n"),
        "Sets `num_threads` for the whole process, 1 to 4096. A @ x is the same bit for bit for any number; "
        "A.T @ x "
        "may differ by rounding.");
  m.def("device_count", device_count, "GPUs that can be used, numbered from 0.");
  m.def(
      "gpus_seen",
      [] {
        nb::list all;
        for (const auto& seen : gpus_seen()) {
          nb::dict d;
          d["name"] = seen.name, d["capability"] = name(seen.capability),
          d["code"] = std::string(name(seen.code)), d["why"] = seen.why;
          all.append(d);
        }
        return all;
      },
      "Every GPU that the driver shows to this process: name, compute capability (\"9.0\"), code (how it "
      "gets its kernels: "
      "\"machine code\", \"PTX\" or \"none\") and why (the sentence for none, else \"\"). Starts no work on "
      "them.");
  m.def(
      "gpu_code",
      [](int major, int minor, const std::optional<std::string>& architectures) {
        return std::string(
            name(gpu_code(architectures ? *architectures : kCudaArchitectures, {major, minor})));
      },
      nb::arg("major"), nb::arg("minor"), nb::arg("architectures") = nb::none(),
      "\"machine code\", \"PTX\" or \"none\": how a GPU of this compute capability gets kernels from a build "
      "for "
      "`architectures` (as CMake names them, \"75-real;90\"), by default this one.");
  m.def(
      "no_kernels_for",
      [](const std::string& gpu, int major, int minor, const std::optional<std::string>& architectures) {
        return no_kernels_for(gpu, {major, minor}, architectures ? *architectures : kCudaArchitectures);
      },
      nb::arg("gpu"), nb::arg("major"), nb::arg("minor"), nb::arg("architectures") = nb::none(),
      "What the owner of a GPU is told that has no kernels in a build for `architectures`.");
  m.def("topology", [] { return as_dict(probe_topology(), false); });
  m.def(
      "last_level_caches",
      [](const std::vector<int>& cpus) {
        const auto found = last_level_caches(cpus);
        return nb::make_tuple(found.largest, found.all);
      },
      nb::arg("cpus"), "Bytes of the largest last-level cache that these CPUs have, and of all of them.");
  m.def(
      "machine",
      [] {
        const Machine* measured;
        {
          const nb::gil_scoped_release release;
          measured = &machine();
        }
        return as_dict(*measured, true);
      },
      "CPU, CPUs, GPUs, bytes of memory and cache, and bandwidths in bytes per second: host_read, host_copy "
      "(read plus "
      "written), cache_read. Measured at the first call, for about half a second.");
}

}  // namespace penstock::bind
