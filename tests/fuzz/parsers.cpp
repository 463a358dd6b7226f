#include <algorithm>

#include "tests/fuzz/parser.h"

namespace plimsoll::test {

const std::vector<Parser>& parsers() {
  static const std::vector<Parser> kAll = [] {
    std::vector<Parser> all;
    for (const auto part :
         {model_parsers, plan_parsers, table_parsers, text_parsers, recording_parsers, foreign_parsers}) {
      for (Parser& parser : part()) all.push_back(std::move(parser));
    }
    std::sort(all.begin(), all.end(), [](const Parser& a, const Parser& b) { return a.name < b.name; });
    return all;
  }();
  return kAll;
}

}  // namespace plimsoll::test
