#include "core/base/differing_words.h"

#include <sstream>

namespace plimsoll {

std::string differing_words(const std::string& theirs, const std::string& ours) {
  std::string different;
  std::istringstream words(theirs);
  for (std::string word; words >> word;) {
    if ((" " + ours + " ").find(" " + word + " ") != std::string::npos) continue;
    different += (different.empty() ? "" : " ") + word;
  }
  return different;
}

}  // namespace plimsoll
