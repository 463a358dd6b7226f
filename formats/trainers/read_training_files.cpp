#include "formats/trainers/read_training_files.h"

#include <filesystem>
#include <optional>

#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestFile{std::int64_t{1} << 20};

/// A file that a training file names lies beside it or above, where the program was started.
std::string found_beside(const std::string& named, const std::filesystem::path& file) {
  std::error_code ignored;
  std::filesystem::path folder = file.parent_path();
  if (!named.ends_with(".json") || std::filesystem::exists(named, ignored)) return named;
  for (int level = 0; level < 4; ++level, folder /= "..") {
    if (std::filesystem::exists(folder / named, ignored)) return (folder / named).lexically_normal().string();
  }
  return named;
}

Result<TrainingFile> read_one(const std::string& path) {
  const auto text = read_text_file(path, kLargestFile);
  if (!text) return fail(text.error());
  auto file = read_training_file(*text, path);
  if (!file) return file;
  if (const auto named = file->options.find("--strategy"); named != file->options.end()) named->second = found_beside(named->second, path);
  return file;
}

}  // namespace

bool names_training_file(std::string_view word) { return word.ends_with(".yaml") || word.ends_with(".yml"); }

Result<TrainingFile> read_training_files(const std::vector<std::string>& paths) {
  std::optional<TrainingFile> all;
  for (const std::string& path : paths) {
    auto file = read_one(path);
    if (!file) return file;
    all = all ? joined(*std::move(all), *file) : *std::move(file);
  }
  settle(*all);
  return *std::move(all);
}

}  // namespace plimsoll
