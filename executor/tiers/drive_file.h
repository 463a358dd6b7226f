#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/quantity.h"
#include "executor/tiers/file_system.h"

namespace plimsoll {

/// A file without a name, all of its blocks reserved: the kernel frees it when the process ends, however it ends.
class DriveFile {
 public:
  /// Makes it in `folder`, of zeros. With `direct` it bypasses the page cache where the file system allows that.
  /// Throws EnvironmentError that says what is needed and what is free when there is too little room.
  DriveFile(const std::string& folder, Bytes bytes, bool direct);
  ~DriveFile();
  /// Makes it that long, of what it held and zeros. When there is too little room it throws as the constructor does and
  /// stays as it is.
  void resize(Bytes bytes, bool direct);

  DriveFile(const DriveFile&) = delete;
  DriveFile& operator=(const DriveFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] Bytes size() const { return size_; }
  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] const FileSystem& file_system() const { return file_system_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// For libraries that open a file by its name: what `make` makes of it while it has one, the first time, and the same from then on. It
  /// is kept as long as the file. By one thread at a time. Throws what `make` throws, and EnvironmentError where the file system gives it no name.
  [[nodiscard]] std::shared_ptr<void> kept(const std::function<std::shared_ptr<void>(const std::string& path)>& make) const;

 private:
  void reserve(Bytes bytes);
  void set_direct(bool direct);
  [[nodiscard]] bool takes_direct_reads() const;

  std::string folder_;
  Bytes size_;
  FileSystem file_system_;
  int descriptor_ = -1;
  bool direct_ = false;
  mutable std::shared_ptr<void> kept_;
};

}  // namespace plimsoll
