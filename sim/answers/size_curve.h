#pragma once

#include <string>
#include <vector>

#include "sim/answers/training_bill.h"

namespace plimsoll {

/// A model of a curve: its question and how long it is trained.
struct CurveModel {
  std::string name;
  Question question;
  TrainingLength length;
};

/// A model of a curve with its answer, whose `training` is there.
struct CurveModelAnswer {
  std::string name;
  FitAnswer answer;
};

/// The names of the zoo's models of a family ("gpt3", "llama2"): those that begin with it, one of each size, the smallest first. An
/// unknown family is refused with the nearest names.
Result<std::vector<std::string>> published_ladder(const std::string& family);

/// Answers and bills of all models, on all cores, the smallest first. Fails where one cannot be answered.
Result<std::vector<CurveModelAnswer>> size_curve(const std::vector<CurveModel>& models, const BillTerms& terms,
                                                 unsigned threads = 0);

}  // namespace plimsoll
