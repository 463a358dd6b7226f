#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

namespace plimsoll::cuda {

/// What cuFile's functions answer: its own code, 0 where all went well, and the CUDA driver's where that failed.
struct CuFileStatus {
  int code;
  int of_cuda;
};

/// A file as cuFile takes it.
struct CuFileDescriptor {
  int kind = 1;  ///< a descriptor of Linux
  union {
    int descriptor = -1;
    void* other;
  } file;
  const void* operations = nullptr;  ///< of file systems outside the kernel
};

/// NVIDIA's library of GPUDirect Storage, which is loaded when somebody asks: its header is not needed to build. Its driver is open
/// as long as this lives. The functions that we call, as NVIDIA's reference of the cuFile API declares them:
class CuFileLibrary {
 public:
  /// Throws EnvironmentError where it is not found, or its driver does not open; the remedy is to do without.
  static std::shared_ptr<const CuFileLibrary> open();
  ~CuFileLibrary();
  CuFileLibrary(const CuFileLibrary&) = delete;
  CuFileLibrary& operator=(const CuFileLibrary&) = delete;

  /// "cuFile, nvidia-fs loaded"; without that kernel module what it does instead.
  [[nodiscard]] std::string describe() const;

  CuFileStatus (*register_file)(void** handle, CuFileDescriptor* file) = nullptr;
  void (*deregister_file)(void* handle) = nullptr;
  CuFileStatus (*register_memory)(const void* base, std::size_t bytes, int flags) = nullptr;
  CuFileStatus (*deregister_memory)(const void* base) = nullptr;
  /// Bytes that were moved between the file from `offset` on and `base` + `at`; -1 with errno, or another number below 0 whose
  /// negative is a code.
  ssize_t (*read)(void* handle, void* base, std::size_t bytes, off_t offset, off_t at) = nullptr;
  ssize_t (*write)(void* handle, const void* base, std::size_t bytes, off_t offset, off_t at) = nullptr;

 private:
  CuFileLibrary() = default;
  bool find_all(void* library);

  CuFileStatus (*open_driver_)() = nullptr;
  CuFileStatus (*close_driver_)() = nullptr;
  bool is_open_ = false;
};

/// "code 5027", and the CUDA driver's where it failed.
std::string describe(CuFileStatus status);

/// Where the library is found; empty where it is not. Loads it, and opens nothing.
std::string find_cufile();

/// Whether the kernel has NVIDIA's file system module, without which cuFile copies by way of the host or, where both are new enough,
/// uses the kernel's own transfers between PCIe devices.
bool has_nvidia_fs();

}  // namespace plimsoll::cuda
