#pragma once

#include "formats/machines/machine_options.h"
#include "sim/answers/training_bill.h"
#include "sim/parallel/predict_parallel.h"

namespace plimsoll {

/// Time, energy, money and wear of training by a layout for as long as `length` says, on hosts as `host` describes one.
/// Fails where nothing of such a host is left for a program.
Result<TrainingAnswer> bill_layout(const ParallelQuestion& question, const ParallelAnswer& answer, const MachineOptions& host,
                                   const TrainingLength& length, const BillTerms& terms);

}  // namespace plimsoll
