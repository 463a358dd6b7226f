#include "profiler/decode/spool_reader.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "formats/text/open_file.h"

namespace plimsoll {
namespace {

using Take = std::function<void(const SpoolRecord&)>;

/// Makes the record of a tag from its bytes; nothing when their number is wrong.
using Make = std::optional<SpoolRecord> (*)(std::span<const std::byte>);

template <std::size_t At>
std::optional<SpoolRecord> make_record(std::span<const std::byte> bytes) {
  using Record = std::variant_alternative_t<At, SpoolRecord>;
  Record record;
  if constexpr (std::is_same_v<Record, NameRecord>) {
    if (bytes.size() < sizeof(record.id)) return std::nullopt;
    std::memcpy(&record.id, bytes.data(), sizeof(record.id));
    record.text.assign(reinterpret_cast<const char*>(bytes.data()) + sizeof(record.id), bytes.size() - sizeof(record.id));
  } else {
    static_assert(std::is_trivially_copyable_v<Record>);
    if (bytes.size() != sizeof(record)) return std::nullopt;
    std::memcpy(&record, bytes.data(), sizeof(record));
  }
  return record;
}

template <std::size_t... At>
constexpr std::array<Make, sizeof...(At)> makers(std::index_sequence<At...>) {
  return {&make_record<At>...};
}

constexpr auto kMakers = makers(std::make_index_sequence<std::variant_size_v<SpoolRecord>>());

/// Gives the records of one whole block; false when they are not records.
bool take_records(std::span<const std::byte> block, SpoolSummary& summary, const Take& take) {
  std::vector<SpoolRecord> records;
  while (!block.empty()) {
    std::uint16_t head[2];
    if (block.size() < sizeof(head)) return false;
    std::memcpy(head, block.data(), sizeof(head));
    if (head[0] >= kMakers.size() || block.size() - sizeof(head) < head[1]) return false;
    auto record = kMakers[head[0]](block.subspan(sizeof(head), head[1]));
    if (!record) return false;
    records.push_back(std::move(*record));
    block = block.subspan(sizeof(head) + head[1]);
  }
  for (const SpoolRecord& record : records) {
    if (std::holds_alternative<EndRecord>(record)) summary.closed = true;
    take(record);
  }
  summary.records += records.size();
  return true;
}

tl::unexpected<Error> refuse(const std::string& path, std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path, .remedy = "profile the program again"});
}

Result<SpoolHeader> read_header(const OpenFile& file, const std::string& path) {
  SpoolHeader header;
  if (file.size() < Bytes(sizeof(header))) return refuse(path, "too short for a spool of device records");
  file.read_at(Bytes(0), std::as_writable_bytes(std::span(&header, 1)));
  if (header.magic != SpoolHeader::kMagic) return refuse(path, "not a spool of device records");
  if (header.checksum != XXH3_64bits(&header, offsetof(SpoolHeader, checksum))) return refuse(path, "a damaged spool header");
  if (header.version != SpoolHeader::kVersion) {
    return refuse(path, fmt::format("spool version {} is unknown; this program reads {}", header.version, SpoolHeader::kVersion));
  }
  return header;
}

}  // namespace

Result<SpoolHeader> read_spool_header(const std::string& path) {
  const auto file = OpenFile::for_reading(path);
  if (!file) return fail(file.error());
  return read_header(*file, path);
}

Result<SpoolSummary> read_spool(const std::string& path, const Take& take) {
  auto file = OpenFile::for_reading(path);
  if (!file) return fail(file.error());
  auto header = read_header(*file, path);
  if (!header) return fail(header.error());
  SpoolSummary summary{.header = *header};
  const Bytes size = file->size();
  Bytes at(sizeof(SpoolHeader));
  std::vector<std::byte> bytes;
  while (at < size && summary.trouble.empty()) {
    SpoolBlock block;
    const Bytes left = size - at;
    if (left < Bytes(sizeof(block))) {
      summary.trouble = "the last block was being written";
      break;
    }
    file->read_at(at, std::as_writable_bytes(std::span(&block, 1)));
    const bool sane = block.magic == SpoolBlock::kMagic && block.bytes <= SpoolBlock::kMaxBytes && block.number == summary.blocks;
    if (!sane) {
      summary.trouble = fmt::format("what stands at byte {} is no block", at.count);
    } else if (left - Bytes(sizeof(block)) < Bytes(block.bytes)) {
      summary.trouble = "the last block was being written";
    } else {
      bytes.resize(block.bytes);
      file->read_at(at + Bytes(sizeof(block)), bytes);
      const bool whole = XXH3_64bits_withSeed(bytes.data(), bytes.size(), block.number) == block.checksum;
      if (!whole || !take_records(bytes, summary, take))
        summary.trouble = fmt::format("the block at byte {} is damaged", at.count);
    }
    if (!summary.trouble.empty()) break;
    ++summary.blocks;
    at += Bytes(sizeof(block)) + Bytes(block.bytes);
  }
  summary.cut_bytes = static_cast<std::uint64_t>((size - at).count);
  return summary;
}

}  // namespace plimsoll
