#include "cli/print/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace plimsoll {
namespace {

std::string_view first_bytes(FileKind kind) {
  constexpr std::string_view kFirst[] = {"SQLite format 3", "{", "<svg", "# plimsoll export", "\x0a\x04\x50\x01\x68\x01", "trace,kind,step,id,"};
  return kFirst[static_cast<std::size_t>(kind)];
}

std::string_view name_of(FileKind kind) {
  constexpr std::string_view kNames[] = {"run file", "JSON file", "SVG file", "export of this program", "Perfetto trace", "table of a trace"};
  return kNames[static_cast<std::size_t>(kind)];
}

tl::unexpected<Error> refused(const std::string& path, std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path, .remedy = "choose another name"});
}

}  // namespace

bool is_of_kind(const std::string& path, FileKind kind) {
  std::ifstream file(path, std::ios::binary);
  std::string start(first_bytes(kind).size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file && start == first_bytes(kind);
}

Result<void> check_place(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return fail({.kind = ErrorKind::kEnvironment,
                 .what = fmt::format("nothing can be written into the folder {}: {}", folder,
                                     std::system_category().message(errno)),
                 .where = path,
                 .remedy = "choose a folder that exists and may be written"});
  }
  const auto status = std::filesystem::status(path);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return {};
  if (std::filesystem::is_directory(status)) return refused(path, "this is a folder");
  return refused(path, "this is a device, a pipe or a socket, so no file takes its place");
}

Result<void> check_replaceable(const std::string& path, FileKind kind) {
  if (const auto place = check_place(path); !place) return place;
  if (std::filesystem::exists(path) && std::filesystem::file_size(path) > 0 && !is_of_kind(path, kind)) {
    return refused(path, fmt::format("this is no {}, so it is not replaced", name_of(kind)));
  }
  return {};
}

}  // namespace plimsoll
