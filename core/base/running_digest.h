#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

struct XXH3_state_s;

namespace plimsoll {

/// digest_of for bytes that come in pieces: the same fingerprint, however they were cut.
class RunningDigest {
 public:
  RunningDigest();

  void add(std::span<const std::byte> bytes);
  /// Of everything added since the start; more may be added afterwards.
  [[nodiscard]] std::string text() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

/// The fingerprint of bytes that lie together: as a number, and as digest_of writes it.
std::uint64_t fingerprint_of(std::span<const std::byte> bytes);
std::string digest_of_bytes(std::span<const std::byte> bytes);

}  // namespace plimsoll
