#include "profiler/decode/spool_writer.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>

namespace plimsoll {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
constexpr std::size_t kMaxName = 32768;

}  // namespace

SpoolWriter::SpoolWriter(const std::string& path, SpoolHeader header)
    : descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  block_.reserve(kBlockBytes + kMaxName);
  header.checksum = XXH3_64bits(&header, offsetof(SpoolHeader, checksum));
  if (ok() && !write_all(&header, sizeof(header))) abandon();
}

SpoolWriter::~SpoolWriter() { close(); }

std::uint32_t SpoolWriter::name(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const std::string_view key = text.substr(0, kMaxName);
  if (const auto known = names_.find(key); known != names_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.emplace(key, number);
  std::vector<char> bytes(sizeof(number) + key.size());
  std::memcpy(bytes.data(), &number, sizeof(number));
  std::memcpy(bytes.data() + sizeof(number), key.data(), key.size());
  append(spool_tag<NameRecord>(), bytes.data(), bytes.size());
  return number;
}

/// A record is its tag, its size, and its bytes.
void SpoolWriter::append(std::uint16_t tag, const void* bytes, std::size_t size) {
  if (!ok()) return;
  const std::uint16_t head[2] = {tag, static_cast<std::uint16_t>(size)};
  const auto* const first = reinterpret_cast<const std::byte*>(head);
  block_.insert(block_.end(), first, first + sizeof(head));
  block_.insert(block_.end(), static_cast<const std::byte*>(bytes), static_cast<const std::byte*>(bytes) + size);
  ++in_block_;
  if (block_.size() >= kBlockBytes) write_block();
}

void SpoolWriter::write_block() {
  if (!ok() || block_.empty()) return;
  const SpoolBlock head{.bytes = static_cast<std::uint32_t>(block_.size()),
                        .number = blocks_,
                        .checksum = XXH3_64bits_withSeed(block_.data(), block_.size(), blocks_)};
  const off_t begin = ::lseek(descriptor_, 0, SEEK_CUR);
  if (write_all(&head, sizeof(head)) && write_all(block_.data(), block_.size())) {
    ++blocks_;
    records_ += in_block_;
  } else {
    lost_ += in_block_;
    // What fits later must follow the last whole block.
    if (begin >= 0 && ::ftruncate(descriptor_, begin) == 0) static_cast<void>(::lseek(descriptor_, begin, SEEK_SET));
  }
  block_.clear();
  in_block_ = 0;
}

bool SpoolWriter::write_all(const void* bytes, std::size_t size) {
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

void SpoolWriter::flush() {
  const std::lock_guard lock(mutex_);
  write_block();
}

void SpoolWriter::close() {
  const std::lock_guard lock(mutex_);
  if (!ok()) return;
  write_block();
  if (lost_ > 0) {
    const LostRecord lost{lost_};
    append(spool_tag<LostRecord>(), &lost, sizeof(lost));
  }
  const EndRecord end{records_ + in_block_};
  append(spool_tag<EndRecord>(), &end, sizeof(end));
  write_block();
  ::close(descriptor_);
  descriptor_ = -1;
}

void SpoolWriter::abandon() {
  if (ok()) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace plimsoll
