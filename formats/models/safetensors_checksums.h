#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "formats/models/safetensors_file.h"

namespace plimsoll {

/// Under which the metadata of a file with checksums have that of the header: the digest (16 hexadecimal digits of XXH3) of
/// the file's bytes before the data, these digits taken as kNoChecksum.
inline constexpr std::string_view kChecksumKey = "xxh3";
inline constexpr std::string_view kNoChecksum = "0000000000000000";

/// Under which the metadata have the digest of a tensor's stored bytes.
std::string checksum_key(std::string_view tensor);

/// Fails, naming the file, unless the bytes before the data are those that were written.
Result<void> check_header_checksum(const SafetensorsFile& file);

/// Fails, naming file and tensor, unless `stored`, all bytes of `tensor`, are those that were written.
Result<void> check_checksum(const SafetensorsFile& file, const SafetensorsTensor& tensor, std::span<const std::byte> stored);

/// The same of every byte of the file, read in pieces.
Result<void> check_all_checksums(const SafetensorsFile& file);

}  // namespace plimsoll
