#pragma once

#include <vector>

#include "sim/answers/question.h"

namespace plimsoll {

/// The short form of an answer.
struct NearAnswer {
  bool fits = false;
  bool certain = false;           ///< by more than the answer may err: of a plan of ours, wherever it fits
  double step_seconds = 0;        ///< of what does not fit: 0
  double samples_per_second = 0;
  Bytes short_of;                 ///< what is missing over all memories; 0 when it fits
  Strategy strategy;              ///< of a plan of ours
};

/// How far to look for a plan near the ones that are known.
struct NearEffort {
  std::size_t evaluations = 6;              ///< strategies beside the known ones; 0: those alone
  std::size_t instruction_budget = 60'000;  ///< fewer evaluations where steps are long
  bool memory = false;                      ///< does anything fit at all? Nothing is timed: what fits takes 0 s
  bool everywhere = false;  ///< of `memory`: where no plan near the known ones fits, whatever fit would try is asked
  unsigned threads = 1;                     ///< 0: one a core; the answer does not depend on it
  std::shared_ptr<SharedSteps> shared =
      {};  ///< of a command that asks about machines that differ little; nothing: not used
};

/// The best plan of ours near `known`, plans of a question that differs little; of another program, its own. Fails as
/// answer_question does. With a strategy that was asked for by name, or to the letter, it is that one's.
Result<NearAnswer> near_answer(const Question& question, const std::vector<Strategy>& known, const NearEffort& effort = {});

/// The same of an answer in full, and of a plan that was found.
NearAnswer short_form(const FitAnswer& answer);
NearAnswer short_form(const Question& question, const Candidate& plan);

}  // namespace plimsoll
