#pragma once

#include <stdexcept>
#include <string>

namespace plimsoll {

/// What sort of trouble an Error reports; the command line turns it into an exit code.
enum class ErrorKind {
  kInput,         ///< a file, key or option that cannot be used
  kUnknownName,   ///< no model, GPU or option of that name
  kInfeasible,    ///< nothing fits
  kUncalibrated,  ///< a cost nobody measured and nothing can estimate
  kDefect,        ///< a plan that breaks the law of plans
  kEnvironment,   ///< the machine, the disk or a library failed
  kInterrupted,   ///< stopped by a signal
};

/// Why something could not be done, in words for the user: what, where, and the remedy.
struct Error {
  ErrorKind kind = ErrorKind::kInput;
  std::string what;    ///< one sentence, no final stop
  std::string where;   ///< file, line, byte offset or key; may be empty
  std::string remedy;  ///< what the user can do; may be empty

  /// "where: what (remedy)" on one line.
  [[nodiscard]] std::string text() const;
};

/// Thrown when the environment fails (file, SQLite, memory); carries the same words as a returned Error.
class EnvironmentError : public std::runtime_error {
 public:
  explicit EnvironmentError(Error error) : std::runtime_error(error.text()), error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
};

}  // namespace plimsoll
