#include "cli/program/answered.h"

#include "cli/program/answer_error.h"
#include "cli/program/keep_freed_memory.h"

#include <fmt/format.h>

#include <cstdio>

namespace plimsoll {

void print_when_called(AskableCommand declared, ExitCode& code) {
  declared.command->callback([command = declared.command, ask = std::move(declared.ask), &code] {
    keep_freed_memory();
    const auto answered = ask();
    if (!answered) {
      code = report_error(*command, answered.error());
      return;
    }
    fmt::print("{}", answered->text);
    fmt::print(stderr, "{}", answered->said);
    code = answered->code;
  });
}

}  // namespace plimsoll
