#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <system_error>

#include "cli/commands.h"
#include "cli/inputs/training_files.h"
#include "cli/program/answer_error.h"
#include "cli/program/documents.h"
#include "cli/program/usage_error.h"
#include "cli/program/without_blas_threads.h"

namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done, 2 usage or bad input, 3 does not fit or a threshold was missed, 4 the environment failed, 130 "
    "interrupted.\n"
    "Example: plimsoll fit gpt2-xl --on \"RTX 2060 6GB\" --ram 16GiB --ssd 200GB";

int run_command_line(int argc, char** argv) {
  using namespace plimsoll;
  CLI::App app{"Plimsoll: will this training fit, how fast, what limits it - and then run that very plan"};
  app.name("plimsoll");
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  app.footer(kFooter);
  ExitCode code = ExitCode::kDone;
  for (const auto add : {add_fit, add_largest, add_curve, add_headlines, add_plan, add_simulate, add_run, add_calibrate, add_compare,
                         add_show, add_validate, add_report, add_export, add_profile, add_import, add_replay, add_tokenize, add_schedule,
                         add_sweep, add_pack, add_recompute, add_partition, add_merge, add_generate, add_machines, add_models, add_doctor,
                         add_completion, add_manual}) {
    add(app, code);
  }
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    const auto line = with_training_files(app, words);
    if (!line) return static_cast<int>(report_usage_error(words, line.error()));
    fmt::print(stderr, "{}", line->said);
    app.parse(std::vector<std::string>(line->words.rbegin(), line->words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // asked for help
    return static_cast<int>(report_usage_error(words, usage_error(app, error, words)));
  } catch (const EnvironmentError& error) {
    return static_cast<int>(report_error(app, error.error()));
  } catch (const std::bad_alloc&) {
    return static_cast<int>(report_error(app, {.kind = ErrorKind::kEnvironment,
                                               .what = "out of memory",
                                               .where = {},
                                               .remedy = "use a smaller model, --batch or --accumulate"}));
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    return static_cast<int>(report_error(app, {.kind = ErrorKind::kEnvironment,
                                               .what = error.what(),
                                               .where = {},
                                               .remedy = "threads need room: raise ulimit -v or -u, or use fewer --cpu-cores"}));
  }
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  plimsoll::restart_without_blas_threads(argv);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond the limit is then an error like a full disk
  try {
    const int code = run_command_line(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    std::fputs("plimsoll: the answer cannot be written to standard output\n", stderr);
  } catch (const std::exception& error) {  // a long answer fails while it is printed
    const bool unwritten = std::ferror(stdout) != 0;
    std::fprintf(stderr, "plimsoll: %s\n", unwritten ? "the answer cannot be written to standard output" : error.what());
  }
  return static_cast<int>(plimsoll::ExitCode::kEnvironment);
}
