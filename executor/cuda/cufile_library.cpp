#include "executor/cuda/cufile_library.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "core/base/error.h"
#include "executor/cuda/find_symbol.h"

namespace plimsoll::cuda {
namespace {

constexpr std::array<const char*, 2> kNames{"libcufile.so.0", "/usr/local/cuda/lib64/libcufile.so.0"};

struct Loaded {
  void* library = nullptr;
  std::string name;
};

Loaded load() {
  for (const char* name : kNames) {
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return {library, name};  // stays loaded
  }
  return {};
}

[[noreturn]] void refuse(std::string what, const std::string& remedy) {
  throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                          .what = std::move(what),
                          .where = "--direct-storage",
                          .remedy = remedy + "; or leave --direct-storage out, and SSD data passes through host memory"});
}

}  // namespace

bool CuFileLibrary::find_all(void* library) {
  return find_symbol(library, "cuFileDriverOpen", open_driver_) && find_symbol(library, "cuFileDriverClose", close_driver_) &&
         find_symbol(library, "cuFileHandleRegister", register_file) &&
         find_symbol(library, "cuFileHandleDeregister", deregister_file) &&
         find_symbol(library, "cuFileBufRegister", register_memory) &&
         find_symbol(library, "cuFileBufDeregister", deregister_memory) && find_symbol(library, "cuFileRead", read) &&
         find_symbol(library, "cuFileWrite", write);
}

std::shared_ptr<const CuFileLibrary> CuFileLibrary::open() {
  const Loaded loaded = load();
  if (loaded.library == nullptr) {
    refuse("libcufile.so.0 is not found, by which a GPU and a drive exchange data directly",
           "install GPUDirect Storage, nvidia-gds or the CUDA toolkit's libcufile, or put its folder into LD_LIBRARY_PATH");
  }
  const std::shared_ptr<CuFileLibrary> opened(new CuFileLibrary());
  if (!opened->find_all(loaded.library)) refuse(loaded.name + " lacks a function", "install GPUDirect Storage of CUDA 12 or newer");
  const CuFileStatus status = opened->open_driver_();
  if (status.code != 0) {
    refuse(fmt::format("cuFile's driver does not open: {}", cuda::describe(status)),
           "GPUDirect Storage's gdscheck -p says what is missing; without nvidia-fs cuFile's configuration must allow its "
           "compatibility mode");
  }
  opened->is_open_ = true;
  return opened;
}

CuFileLibrary::~CuFileLibrary() {
  if (is_open_) close_driver_();
}

std::string CuFileLibrary::describe() const {
  return has_nvidia_fs() ? "cuFile, nvidia-fs loaded" : "cuFile without nvidia-fs: it may copy by way of the host";
}

std::string describe(CuFileStatus status) {
  return status.of_cuda == 0 ? fmt::format("code {}", status.code) : fmt::format("code {}, CUDA driver's {}", status.code, status.of_cuda);
}

std::string find_cufile() { return load().name; }

bool has_nvidia_fs() { return ::access("/sys/module/nvidia_fs", F_OK) == 0; }

}  // namespace plimsoll::cuda
