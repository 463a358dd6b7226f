#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::gpu {

enum class Verdict { kPassed, kMissed, kBroken, kSkipped };

/// What one check came to.
struct Finding {
  std::string name;
  std::string bound;
  Verdict verdict = Verdict::kSkipped;
  double value = 0;
  std::string note;
  double seconds = 0;
  std::vector<std::pair<std::string, double>> numbers = {};  ///< what the note says, for programs
};

std::string_view to_text(Verdict verdict);

/// One line of JSON, and back; nothing where a line is none (its writer was ended in the middle of it).
std::string write_finding(const Finding& finding);
std::optional<Finding> read_finding(const std::string& line);

/// What the checks were run on.
struct Conditions {
  std::string device;   ///< name, memory, driver, runtime, library
  std::string machine;  ///< the computer around it
  std::string date;     ///< UTC
  std::string command;
};

/// All of them as the file that is kept (gpu-checks.json).
std::string write_findings(const Conditions& conditions, const std::vector<Finding>& findings);
/// A line of the table.
std::string row_of(const Finding& finding);

}  // namespace plimsoll::gpu
