#include "formats/models/safetensors_checksums.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/digest.h"
#include "core/base/running_digest.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kPieceBytes = 4 * kMiB.count;

tl::unexpected<Error> damaged(const std::string& where, std::string_view stored, std::string_view found) {
  return fail({.kind = ErrorKind::kInput,
               .what = stored.empty() ? "it has no checksum"
                                      : fmt::format("its bytes are not those that were written: their checksum is {}, and was {}",
                                                    found, stored),
               .where = where,
               .remedy = {}});
}

std::string_view value_in(const SafetensorsHeader& header, const std::string& key) {
  const auto found = header.metadata.find(key);
  return found == header.metadata.end() ? std::string_view() : found->second;
}

Result<void> compare(const SafetensorsFile& file, const SafetensorsTensor& tensor, const std::string& found) {
  const std::string_view stored = value_in(file.header(), checksum_key(tensor.name));
  if (stored == found) return {};
  return damaged(fmt::format("{}: tensor '{}'", file.path().string(), tensor.name), stored, found);
}

}  // namespace

std::string checksum_key(std::string_view tensor) { return fmt::format("{}:{}", kChecksumKey, tensor); }

Result<void> check_header_checksum(const SafetensorsFile& file) {
  const std::string where = file.path().string() + ": header";
  const std::string stored(value_in(file.header(), std::string(kChecksumKey)));
  if (stored.size() != kNoChecksum.size()) return damaged(where, "", "");
  std::string head = file.read_head();
  const std::string mark = fmt::format("\"{}\":\"{}\"", kChecksumKey, stored);
  const std::size_t at = head.find(mark);
  if (at == std::string::npos) return damaged(where, "", "");
  head.replace(at + mark.size() - 1 - stored.size(), stored.size(), kNoChecksum);
  const std::string found = digest_of(head);
  return found == stored ? Result<void>{} : damaged(where, stored, found);
}

Result<void> check_checksum(const SafetensorsFile& file, const SafetensorsTensor& tensor, std::span<const std::byte> stored) {
  return compare(file, tensor, digest_of_bytes(stored));
}

Result<void> check_all_checksums(const SafetensorsFile& file) {
  if (auto head = check_header_checksum(file); !head) return head;
  std::vector<std::byte> piece;
  for (const SafetensorsTensor& tensor : file.header().tensors) {
    RunningDigest digest;
    for (std::int64_t at = 0; at < tensor.bytes.count; at += kPieceBytes) {
      piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, tensor.bytes.count - at)));
      if (auto read = file.read_bytes(tensor, Bytes(at), piece); !read) return read;
      digest.add(piece);
    }
    if (auto same = compare(file, tensor, digest.text()); !same) return same;
  }
  return {};
}

}  // namespace plimsoll
