#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace plimsoll::test {

using Words = std::vector<std::string>;

inline Words profile_of(const Words& program, const Words& options = {}, const char* cupti = PLIMSOLL_FAKE_CUPTI) {
  Words words{PLIMSOLL_PROGRAM, "profile", "--cupti", cupti, "-o", "a.plimsoll"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", PLIMSOLL_FAKE_PROGRAM});
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

inline std::size_t files_in(const TemporaryFolder& folder) {
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  return files;
}

/// While it lives, the fake CUPTI of child processes behaves so.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Setting() { ::unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

}  // namespace plimsoll::test
