#pragma once

#include <map>
#include <string>

#include "core/base/result.h"

namespace plimsoll {

/// What tells the data of a training from other data: its length and a checksum (XXH3) of its bytes. Of data of more
/// than 1 GiB the checksum is of 16384 parts of 64 KiB, spread evenly from its first byte to its last, so that it is
/// known in a second or two; a change between them that leaves the length as it was is not noticed.
struct DataMark {
  std::string path;  ///< as the user named it; the same data may have another name tomorrow
  std::string text;  ///< "4000 bytes, xxh3 0123456789abcdef": equal for equal data

  [[nodiscard]] bool exists() const { return !text.empty(); }
};

/// Reads the data's file. Throws EnvironmentError where it cannot be read to its end.
Result<DataMark> mark_data(const std::string& path);

/// As entries of a training state's metadata.
void put_mark(const DataMark& mark, std::map<std::string, std::string>& metadata);

/// Fails, naming both, where the metadata of the file `state` say that its training had other data. Those of earlier
/// programs say nothing.
Result<void> check_same_data(const std::string& state, const std::map<std::string, std::string>& metadata,
                             const DataMark& data);

}  // namespace plimsoll
