#include "cli/print/table_output.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "cli/print/output_file.h"
#include "formats/text/write_text_file.h"

namespace plimsoll {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool begins_alike(const std::string& path, const std::string& text) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) && line == first_line(text);
}

}  // namespace

void add_table_output(CLI::App& command, std::string& path) {
  command.add_option("-o,--output", path, "write the answer to this file instead of printing it");
}

Result<void> check_table_output(const std::string& path) { return path.empty() ? Result<void>() : check_place(path); }

Result<void> put_table(const std::string& text, const std::string& path) {
  if (path.empty()) {
    fmt::print("{}", text);
    return {};
  }
  if (const auto place = check_place(path); !place) return place;
  const bool there = std::filesystem::exists(path) && std::filesystem::file_size(path) > 0;
  if (there && !begins_alike(path, text)) {
    return fail({.kind = ErrorKind::kInput, .what = "this is no such table, so it is not replaced", .where = path,
                 .remedy = "choose another name"});
  }
  write_text_file(path, text);
  return {};
}

}  // namespace plimsoll
