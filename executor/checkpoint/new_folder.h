#pragma once

#include <filesystem>

#include "core/base/result.h"

namespace plimsoll {

/// A folder that appears whole or not at all: files go into a hidden one beside it, which finish() renames. What was not
/// finished is removed.
class NewFolder {
 public:
  /// Makes the hidden folder; throws EnvironmentError when that cannot be done.
  explicit NewFolder(std::filesystem::path path);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder();

  /// Where files go for now.
  [[nodiscard]] const std::filesystem::path& path() const { return hidden_; }
  /// Takes the place of an empty folder, or none; throws EnvironmentError when something has come there meanwhile.
  void finish();

 private:
  std::filesystem::path path_;
  std::filesystem::path hidden_;  ///< empty once it was renamed
};

/// Fails unless `path` is free or an empty folder and its parent may be written.
Result<void> check_new_folder(const std::filesystem::path& path);

}  // namespace plimsoll
