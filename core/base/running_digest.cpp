#include "core/base/running_digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace plimsoll {

void RunningDigest::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

RunningDigest::RunningDigest() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state_.get());
}

void RunningDigest::add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }

std::string RunningDigest::text() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_.get())); }

std::uint64_t fingerprint_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string digest_of_bytes(std::span<const std::byte> bytes) { return fmt::format("{:016x}", fingerprint_of(bytes)); }

}  // namespace plimsoll
