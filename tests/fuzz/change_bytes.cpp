#include "tests/fuzz/change_bytes.h"

#include <algorithm>

namespace plimsoll::test {
namespace {

const std::vector<std::string>& edges() {
  static const std::vector<std::string> kWords{"{",
                                               "}",
                                               "[",
                                               "]",
                                               "\"",
                                               ",",
                                               ":",
                                               "\n",
                                               "\r",
                                               ";",
                                               "|",
                                               "%}",
                                               "{{",
                                               "../",
                                               "/etc/passwd",
                                               "NaN",
                                               "inf",
                                               "-1",
                                               "0",
                                               "1e999",
                                               "0.0000005",
                                               "4294967296",
                                               "2147483648",
                                               "-9223372036854775808",
                                               "9223372036854775807",
                                               "18446744073709551615",
                                               "\\ud800",
                                               "\\",
                                               "-",
                                               "null",
                                               "true",
                                               "\xff\xfe",
                                               std::string(70, '['),
                                               std::string(300, '9'),
                                               std::string(1, '\0'),
                                               std::string(8, '\xff')};
  return kWords;
}

}  // namespace

std::string changed_bytes(std::string text, const std::vector<std::string>& others, std::mt19937_64& random) {
  const auto draw = [&](std::size_t below) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(below, 1));
  };
  for (std::size_t changes = 1 + draw(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = draw(text.size());
    const std::string& other = others[draw(others.size())];
    switch (draw(8)) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << draw(8)));
        break;
      case 2:
        text.erase(at, 1 + draw(64));
        break;
      case 3:
        text.insert(at, edges()[draw(edges().size())]);
        break;
      case 4:
        text.replace(at, 1 + draw(16), edges()[draw(edges().size())]);
        break;
      case 5:
        text.insert(at, text.substr(draw(text.size()), draw(256)));
        break;
      case 6:
        text.insert(at, other.substr(draw(other.size()), draw(256)));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

}  // namespace plimsoll::test
