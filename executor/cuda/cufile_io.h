#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "executor/cuda/cufile_library.h"
#include "executor/tiers/block_io.h"

namespace plimsoll::cuda {

/// A file as cuFile knows it. It is found by its name, which may be gone once this is made.
class CuFileHandle {
 public:
  /// Throws EnvironmentError where cuFile does not take the file of that name.
  CuFileHandle(std::shared_ptr<const CuFileLibrary> library, const std::string& path, const DriveFile& file);
  ~CuFileHandle();
  CuFileHandle(const CuFileHandle&) = delete;
  CuFileHandle& operator=(const CuFileHandle&) = delete;
  [[nodiscard]] void* get() const { return handle_; }

 private:
  std::shared_ptr<const CuFileLibrary> library_;
  int descriptor_;
  void* handle_ = nullptr;
};

/// Moves bytes between a file that bypasses the page cache and memory of a device, by cuFile. Nobody can look at the bytes on the
/// host, so `look` must be empty.
class CuFileIo final : public BlockIo {
 public:
  /// `pieces` are of the device's memory, each within one allocation; they are registered, so that each is pinned once, where cuFile
  /// has room for that, and what lies in none or could not be registered passes through memory of its own on the device.
  /// `use_device` makes the device the calling thread's. Throws EnvironmentError where cuFile does not take the file.
  CuFileIo(std::shared_ptr<const CuFileLibrary> library, const DriveFile& file, std::span<const std::span<std::byte>> pieces,
           std::function<void()> use_device);
  ~CuFileIo() override;
  CuFileIo(const CuFileIo&) = delete;
  CuFileIo& operator=(const CuFileIo&) = delete;

  void read(Bytes offset, std::span<std::byte> into, const LookAtBytes& look) override;
  void write(Bytes offset, std::span<const std::byte> from, const LookAtBytes& look) override;
  [[nodiscard]] std::string name() const override;

 private:
  /// Where cuFile finds bytes: `at` behind `base`, and no more than `bytes` of them.
  struct Place {
    const std::byte* base = nullptr;
    std::size_t at = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] Place place_of(const std::byte* data, std::size_t bytes) const;
  /// Calls `transfer` with place and offset until all bytes are moved.
  template <typename Transfer>
  void move(Bytes offset, const std::byte* data, std::size_t bytes, const Transfer& transfer) const;

  std::shared_ptr<const CuFileLibrary> library_;
  std::function<void()> use_device_;
  std::shared_ptr<const CuFileHandle> file_;
  std::vector<std::span<std::byte>> registered_;  ///< by address
  CuFileStatus unregistered_{};                   ///< why a piece is not
};

}  // namespace plimsoll::cuda
