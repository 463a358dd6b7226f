#pragma once

#include <cstdint>
#include <optional>

#include "sim/answers/question.h"
#include "sim/answers/training_length.h"

namespace plimsoll {

/// When texts are tokenized and images decoded.
enum class Preparation : std::uint8_t {
  kAhead,   ///< once, before the first step
  kOnLine,  ///< each time they are read, by the CPU's cores beside the training
  kNone,    ///< already done
};

/// What a whole training is billed by; what is left out is not billed, or taken from data/training.
struct BillTerms {
  std::optional<double> price_per_hour;  ///< of one GPU with its share of the machine
  std::optional<double> price_per_kwh;
  std::optional<double> drive_rated;     ///< bytes that all drives are rated for
  std::optional<double> checkpoint_hours;  ///< where the answer has no --durability, which counts steps
  std::optional<Preparation> preparation;  ///< nothing: texts ahead, images on line
};

/// Bytes of a checkpoint: the weights as they are trained (the master copy, where there is one) and the optimizer's states.
Bytes checkpoint_bytes(const ModelSpec& spec, const Recipe& recipe);

/// Time, energy, money and wear of training as `answer` says, what keeping its state costs with it, for as long as `length` says.
TrainingAnswer bill_training(const Question& question, const FitAnswer& answer, const TrainingLength& length,
                             const BillTerms& terms);

}  // namespace plimsoll
