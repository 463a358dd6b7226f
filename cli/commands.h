#pragma once

#include <CLI/CLI.hpp>

#include "cli/program/exit_code.h"

namespace plimsoll {

/// Each adds one command; when the user asks for it, `code` tells how it ended.
void add_fit(CLI::App& app, ExitCode& code);
void add_curve(CLI::App& app, ExitCode& code);
void add_headlines(CLI::App& app, ExitCode& code);
void add_largest(CLI::App& app, ExitCode& code);
void add_plan(CLI::App& app, ExitCode& code);
void add_simulate(CLI::App& app, ExitCode& code);
void add_run(CLI::App& app, ExitCode& code);
void add_calibrate(CLI::App& app, ExitCode& code);
void add_compare(CLI::App& app, ExitCode& code);
void add_show(CLI::App& app, ExitCode& code);
void add_validate(CLI::App& app, ExitCode& code);
void add_report(CLI::App& app, ExitCode& code);
void add_export(CLI::App& app, ExitCode& code);
void add_tokenize(CLI::App& app, ExitCode& code);
void add_schedule(CLI::App& app, ExitCode& code);
void add_sweep(CLI::App& app, ExitCode& code);
void add_pack(CLI::App& app, ExitCode& code);
void add_partition(CLI::App& app, ExitCode& code);
void add_recompute(CLI::App& app, ExitCode& code);
void add_merge(CLI::App& app, ExitCode& code);
void add_generate(CLI::App& app, ExitCode& code);
void add_machines(CLI::App& app, ExitCode& code);
void add_models(CLI::App& app, ExitCode& code);
void add_doctor(CLI::App& app, ExitCode& code);
void add_profile(CLI::App& app, ExitCode& code);
void add_import(CLI::App& app, ExitCode& code);
void add_replay(CLI::App& app, ExitCode& code);

/// The build's version, "0.1.0".
const char* version();

}  // namespace plimsoll
