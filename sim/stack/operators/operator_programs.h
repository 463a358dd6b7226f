#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sim/stack/operators/operator_test.h"

namespace plimsoll {

/// One operator as one provider has it.
struct OperatorProgram {
  std::string_view kernel;
  std::string_view provider;
  std::vector<std::string_view> sizes;  ///< what a case must say; "BT|B": one of them
  OperatorTest (*prepare)(Tape& tape, const OperatorCase& asked) = nullptr;
};

using OperatorPrograms = std::vector<OperatorProgram>;

// By family, each in its file.
OperatorPrograms activation_programs();
OperatorPrograms attention_programs();
OperatorPrograms distribution_programs();
OperatorPrograms embedding_programs();
OperatorPrograms expert_programs();
OperatorPrograms feed_forward_programs();
OperatorPrograms linear_loss_programs();
OperatorPrograms megatron_programs();
OperatorPrograms norm_programs();
OperatorPrograms rotary_programs();
OperatorPrograms unpaired_loss_programs();

/// Everything that is known.
const OperatorPrograms& operator_programs();

/// Peak of allocated bytes in a repetition; an unknown operator or provider, or a size that is not there, is an error
/// with its name.
Result<Bytes> predict_operator(const OperatorCase& asked);

}  // namespace plimsoll
