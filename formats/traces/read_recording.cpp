#include "formats/traces/read_recording.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "formats/text/open_file.h"
#include "formats/traces/read_kineto.h"
#include "formats/traces/read_memory_snapshot.h"
#include "formats/traces/read_nsight.h"

namespace plimsoll {
namespace {

/// Why it cannot be opened is said here: the readers behind would take such a file for an empty one.
Result<std::string> first_bytes(const std::string& path) {
  const auto file = OpenFile::for_reading(path);
  if (!file) return fail(file.error());
  std::string bytes(static_cast<std::size_t>(std::min<std::int64_t>(16, file->size().count)), '\0');
  file->read_at(Bytes(0), std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

tl::unexpected<Error> refuse(const std::string& path, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path, .remedy = std::move(remedy)});
}

}  // namespace

Result<Recording> read_recording(const std::string& path, bool everything) {
  const auto first = first_bytes(path);
  if (!first) return fail(first.error());
  const std::string& bytes = *first;
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
