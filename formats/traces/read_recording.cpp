#include "formats/traces/read_recording.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include "formats/traces/read_kineto.h"
#include "formats/traces/read_memory_snapshot.h"
#include "formats/traces/read_nsight.h"

namespace plimsoll {
namespace {

std::string first_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(16, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

tl::unexpected<Error> refuse(const std::string& path, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path, .remedy = std::move(remedy)});
}

}  // namespace

Result<Recording> read_recording(const std::string& path, bool everything) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return refuse(path, "there is no such file", {});
  const std::string bytes = first_bytes(path);
  if (bytes.empty()) return refuse(path, "an empty file", "name a trace");
  if (begins(bytes, "SQLite format 3")) return read_nsight(path);
  if (begins(bytes, "PLMSPOOL"))
    return refuse(path, "a spool that plimsoll profile did not convert", "profile the program again");
  if (begins(bytes, "PK\x03\x04")) return refuse(path, "a zip archive", "unpack it, and name the trace in it");
  if (bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5) return read_memory_snapshot(path);
  const std::size_t start = bytes.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const bool json = start != std::string::npos && (bytes[start] == '{' || bytes[start] == '[');
  if (json || begins(bytes, "\x1f\x8b")) return read_kineto(path, everything);
  return refuse(path, "no trace of a kind that is known",
                "name a Chrome or Kineto trace (.json, .json.gz), an SQLite export of Nsight Systems (nsys export --type "
                "sqlite), a memory snapshot of PyTorch (.pickle), or a run file");
}

}  // namespace plimsoll
