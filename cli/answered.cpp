#include "cli/answered.h"

#include <fmt/format.h>

#include <cstdio>

namespace plimsoll {

void print_when_called(AskableCommand declared, ExitCode& code) {
  declared.command->callback([ask = std::move(declared.ask), &code] {
    const auto answered = ask();
    if (!answered) {
      code = report_error(answered.error());
      return;
    }
    fmt::print("{}", answered->text);
    fmt::print(stderr, "{}", answered->said);
    code = answered->code;
  });
}

}  // namespace plimsoll
