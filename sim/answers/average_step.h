#pragma once

#include "sim/answers/question.h"
#include "sim/answers/training_bill.h"

namespace plimsoll {

/// What one sample of the data has: where lengths vary (--lengths) as many tokens as a sequence on average, else as many as the recipe's
/// sequences, two of which are a pair.
SampleTokens tokens_of_sample(const Question& question);

/// The bill of a training by `answer`, whose step is that of the longest sequences. Where lengths vary, its steps are average ones: padded
/// micro-batches are asked about at four lengths, each the mean of a quarter of those drawn; a packed sequence stands for the documents
/// that fill it.
Result<TrainingAnswer> bill_average(const Question& question, const FitAnswer& answer, const TrainingLength& length, const BillTerms& terms);

}  // namespace plimsoll
