#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/machine_flags.h"
#include "cli/options/stack_flags.h"
#include "cli/options/training_flags.h"
#include "sim/answers/question.h"
#include "sim/answers/training_bill.h"

namespace plimsoll {

/// The options that say how long a training is and what it is billed by, as typed.
struct LengthFlags {
  LengthRequest request;
  std::string prepare;
  BillTerms terms;
  std::string tbw;
  std::vector<const CLI::Option*> options;  ///< all but the length itself
};

/// What `fit` and the commands that ask it again are asked, as typed.
struct FitFlags {
  std::string model;
  MachineFlags machine;
  TrainingFlags training;
  StackFlags stack;
  LengthFlags length;
  std::string strategy = "auto";
  std::string calibration;
  std::int64_t steps = 0;  ///< of the whole training: where linear and cosine learning rates end; only some commands ask
};

/// A question, and what was assumed to ask it.
struct AskedQuestion {
  Question question;
  std::string machine;  ///< its name
  std::vector<std::string> notes;
};

/// Machine, training, software, strategy and calibration; not the model.
void add_question_flags(CLI::App& command, FitFlags& flags);
/// --tokens and its kind. `length` says what follows from them, for the help.
void add_length_flags(CLI::App& command, LengthFlags& flags);

/// The question that the flags mean. An option that would be ignored is refused.
Result<AskedQuestion> read_question(const FitFlags& flags);

/// The terms, checked: a price without a length would be ignored.
Result<BillTerms> read_bill_terms(const LengthFlags& flags);

/// Adds the bill of the whole training where the flags say how long it is.
Result<void> add_bill(const LengthFlags& flags, const Question& question, FitAnswer& answer);

}  // namespace plimsoll
