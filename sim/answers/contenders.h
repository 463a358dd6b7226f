#pragma once

#include <string>
#include <vector>

#include "sim/answers/largest_fit.h"

namespace plimsoll {

/// A way to train that is compared with others: a strategy of ours, a published system, or another program.
struct Contender {
  std::string name;      ///< as --strategies has it: "pytorch", "zero-offload", "plimsoll"
  std::string words;     ///< for people
  Question question;
};

/// Every name that --strategies may have: other programs with a few settings, then our search and its families' and
/// systems' names.
std::vector<std::string> contender_names();

/// The chart of everything on the GPU, a static split, and ours.
std::vector<std::string> usual_contenders();

/// Of a question under another program: as it was asked, with every block recomputed where that was not asked, and ours.
std::vector<std::string> contenders_as_said(const Question& question);

/// The question under each of the names. An unknown one is refused with the nearest; what cannot be trained so is left out with
/// its reason in `left_out`.
Result<std::vector<Contender>> contenders(const Question& question, const std::vector<std::string>& names,
                                          std::vector<std::string>& left_out);

/// One of them with its largest extent.
struct ContenderEdge {
  std::string name;
  std::string words;
  LargestFit largest;
};

/// The largest of each, on all cores; `tell` hears the share that is done, from any thread.
Result<std::vector<ContenderEdge>> largest_of(const std::vector<Contender>& all, const Growth& growth,
                                              const LargestOptions& options, std::vector<std::string>& left_out,
                                              const std::function<void(double)>& tell = {}, unsigned threads = 0);

}  // namespace plimsoll
