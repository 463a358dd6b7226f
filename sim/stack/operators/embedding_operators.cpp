#include <algorithm>

#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// Tokens [B·T] and a table [V, D]; the other provider's table is alive as well.
struct Lookup {
  Parameter* table = nullptr;
  std::int64_t tokens = 1;
};

using TableGradient = Tensor (*)(Tape& tape, const Shape& table, std::int64_t tokens, DType dtype);

OperatorTest lookup(Tape& tape, const OperatorCase& asked, TableGradient gradient) {
  const Lookup made{.table = &tape.parameter("table", {asked["V"], asked["D"]}, asked.dtype),
                    .tokens = asked["B"] * asked["T"]};
  return {.held = {tape.empty({made.tokens}, kIndexType), tape.empty(made.table->value.shape, asked.dtype)},
          .forward = [&tape, made, gradient] {
            const Tensor table = made.table->use();
            return Tensors{tape.record(tape.empty({made.tokens, table.shape[1]}, table.dtype), {&table},
                                       [gradient, shape = table.shape, tokens = made.tokens, dtype = table.dtype](
                                           Tape& t, Tensors) { return Tensors{gradient(t, shape, tokens, dtype)}; })};
          }};
}

/// Adds each token's gradient into its row of zeros.
Tensor added_rows(Tape& tape, const Shape& table, std::int64_t, DType dtype) { return tape.empty(table, dtype); }

/// PyTorch's way: tokens are sorted, and runs of the same one are summed in pieces of up to ten before they are added.
/// Pieces are provided for the worst case: a tenth of the tokens, and one a token or row of the table.
Tensor sorted_rows(Tape& tape, const Shape& table, std::int64_t tokens, DType dtype) {
  constexpr std::int64_t kPiece = 10;
  Tensor whole = tape.empty(table, dtype);
  // Sorted tokens, where they stood, both once more while they are sorted, starts of runs and of pieces.
  const Tensor sorting = tape.empty({6, tokens}, kIndexType);
  const Tensor pieces = tape.empty({tokens / kPiece + std::min(tokens, table[0]), table[1]}, DType::kFp32);
  return whole;
}

OperatorTest sorted_test(Tape& tape, const OperatorCase& asked) { return lookup(tape, asked, sorted_rows); }
OperatorTest added_test(Tape& tape, const OperatorCase& asked) { return lookup(tape, asked, added_rows); }

/// A compiled module lives on after its measurement, and its gradient with it. The vocabulary doubles from one measurement
/// to the next, from "kept_from" on: V − kept_from rows of tables and of gradients are there already.
OperatorTest compiled_test(Tape& tape, const OperatorCase& asked) {
  OperatorTest test = lookup(tape, asked, added_rows);
  const std::int64_t before = asked["V"] - asked.size_or("kept_from", asked["V"]);
  test.held.push_back(tape.empty({2, std::max<std::int64_t>(before, 0), asked["D"]}, asked.dtype));
  return test;
}

}  // namespace

OperatorPrograms embedding_programs() {
  const std::vector<std::string_view> sizes{"B", "T", "V", "D"};
  return {{"embedding", "huggingface", sizes, sorted_test},
          {"embedding", "liger", sizes, added_test},
          {"embedding", "torch_compile", sizes, compiled_test}};
}

}  // namespace plimsoll
