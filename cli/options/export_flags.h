#pragma once

#include <string>
#include <vector>

#include "cli/options/fit_flags.h"
#include "cli/program/exit_code.h"

namespace plimsoll {

/// What `export` is asked, as typed.
struct ExportFlags {
  FitFlags asked;  ///< its model is a run file, a plan file or a model
  std::vector<std::string> given;  ///< names of all options that were
  // Of a run file.
  std::string chrome;
  std::string perfetto;
  std::string csv;
  std::string nsight;
  std::string plan;
  [[nodiscard]] bool of_run() const {
    return !(chrome.empty() && perfetto.empty() && csv.empty() && nsight.empty() && plan.empty());
  }
  // Of a plan or a training.
  std::string target;  ///< empty: no other program
  std::string output;  ///< empty: standard output
  std::string nvme;
  bool json = false;
};

/// Refuses options that a plan file or a run file has decided.
Result<void> check_export_alone(const ExportFlags& flags);

/// Writes the traces of a run file.
Result<ExitCode> export_run(const ExportFlags& flags);

/// Writes the training of a plan, or the one that the flags ask for, as the options of another program.
Result<ExitCode> export_to_program(const ExportFlags& flags);

}  // namespace plimsoll
