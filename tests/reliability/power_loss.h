#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::test {

/// Makes of a folder what a disk may hold after the power went: `log` is what disk_trouble kept beside it. Of every name that
/// changed since the folder was last synced the old or the new meaning stays, each by chance: a rename may be undone, a file that
/// was made may be gone, one that was removed may be back. Of every file that changed since it was last synced each sector of 512
/// bytes is the old or the new one, by chance, and so is its length. Equal seeds give equal disks.
void lose_power(const std::string& folder, const std::string& log, std::uint64_t seed);

}  // namespace plimsoll::test
