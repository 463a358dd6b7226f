#include <algorithm>

#include "sim/stack/operators/elementwise_operations.h"
#include "sim/stack/operators/fused_linear_loss.h"
#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// Hidden states [rows, H] and a head [V, H] without bias.
struct Head {
  Parameter* x = nullptr;
  Parameter* weight = nullptr;
  std::int64_t rows = 1;
};

Head make_head(Tape& tape, const OperatorCase& asked, std::int64_t rows) {
  return {.x = &tape.parameter("x", {rows, asked["H"]}, asked.dtype),
          .weight = &tape.parameter("head", {asked["V"], asked["H"]}, asked.dtype),
          .rows = rows};
}

/// Heads that live beside: the other provider's, a reference model's.
Tensors other_heads(Tape& tape, const Head& head, int count) {
  Tensors held{tape.empty({head.rows}, kIndexType)};
  for (int i = 0; i < count; ++i) held.push_back(tape.empty(head.weight->value.shape, head.weight->value.dtype));
  return held;
}

/// A function that goes through the rows in chunks and has all gradients when its forward ends: `chunk` makes what
/// lives while one chunk is computed; the sum of the head's gradient is there all the while. Backward hands both out as
/// they are.
Tensor in_chunks(Tape& tape, const Head& head, const std::function<void(Tape&)>& chunk) {
  const Tensor x = leaf(tape, *head.x);
  const Tensor weight = leaf(tape, *head.weight);
  Tensor dx = tape.empty(x.shape, x.dtype);
  Tensor dweight = tape.empty(weight.shape, weight.dtype);
  tape.product(1, head.rows, weight.shape[0], x.shape[1], x.dtype);
  chunk(tape);
  return tape.record(tape.empty({1}, DType::kFp32), {&x, &weight}, [dx, dweight, type = x.dtype](Tape& t, Tensors) {
    t.product(1, 1, 1, 1, type);  // other providers' backward left the thread's workspace
    return Tensors{dx, dweight};
  });
}

std::int64_t chunk_rows(const OperatorCase& asked) { return loss_chunk_rows(asked["BT"], asked["V"], asked["H"]); }

// --- cross-entropy

OperatorTest linear_cross_entropy_test(Tape& tape, const OperatorCase& asked) {
  const Head head = make_head(tape, asked, asked["BT"]);
  return {.held = other_heads(tape, head, 1),
          .forward =
              [&tape, head] {
                return Tensors{cross_entropy(tape, linear(tape, leaf(tape, *head.x), {.weight = head.weight}))};
              },
          .gradient = ResultGradient::kScalar};
}

/// A chunk: logits, the same in fp32, whose place their gradient takes, and that cast back.
OperatorTest chunked_cross_entropy_test(Tape& tape, const OperatorCase& asked) {
  const Head head = make_head(tape, asked, asked["BT"]);
  const Shape shape{std::min(chunk_rows(asked), asked["BT"]), asked["V"]};
  return {.held = other_heads(tape, head, 1),
          .forward =
              [&tape, head, shape, dtype = asked.dtype] {
                return Tensors{in_chunks(tape, head, [&](Tape& t) {
                  const Tensor logits = t.empty(shape, dtype);
                  const Tensor wide = t.empty(shape, DType::kFp32);
                  const Tensor gradient = t.empty(shape, dtype);
                })};
              },
          .gradient = ResultGradient::kScalar};
}

// --- divergence from a teacher

/// The teacher is part of the graph: its head gets a gradient too.
struct Taught {
  Head student;
  Parameter* teacher_head = nullptr;
  Tensor teacher_x;
};

Taught make_taught(Tape& tape, const OperatorCase& asked) {
  return {.student = make_head(tape, asked, asked["BT"]),
          .teacher_head = &tape.parameter("teacher", {asked["V"], asked["H"]}, asked.dtype),
          .teacher_x = tape.empty({asked["BT"], asked["H"]}, asked.dtype)};
}

/// β·KL(teacher ‖ m) + (1 − β)·KL(student ‖ m) of two sets of log-probabilities that both get gradients.
Tensor mixture_divergence(Tape& tape, const Tensor& student, const Tensor& teacher) {
  Tensor mixture;
  {
    const Tensor of_student = from_result(tape, student);
    const Tensor of_teacher = from_result(tape, teacher);
    mixture = add(tape, of_student, of_teacher);
  }
  const Tensor first = sum_of_rows(tape, divergence(tape, from_input(tape, mixture), teacher));
  const Tensor second = sum_of_rows(tape, divergence(tape, from_input(tape, mixture), student));
  return total(tape, add(tape, scale(tape, first), scale(tape, second)));
}

OperatorTest linear_jsd_test(Tape& tape, const OperatorCase& asked) {
  const Taught made = make_taught(tape, asked);
  return {.held = {made.teacher_x},
          .forward =
              [&tape, made] {
                const Tensor student = cast(
                    tape, linear(tape, leaf(tape, *made.student.x), {.weight = made.student.weight}), DType::kFp32);
                const Tensor teacher =
                    cast(tape, linear(tape, made.teacher_x, {.weight = made.teacher_head}), DType::kFp32);
                const Tensor q = from_result(tape, student);
                const Tensor p = from_result(tape, teacher);
                return Tensors{mixture_divergence(tape, q, p)};
              },
          .gradient = ResultGradient::kScalar};
}

/// Losses of all places in fp32; a chunk: logits of both in fp32, the student's once more in their own type, and the
/// log-probabilities' gradient.
OperatorTest chunked_jsd_test(Tape& tape, const OperatorCase& asked) {
  const Head head = make_head(tape, asked, asked["BT"]);
  Tensors held = other_heads(tape, head, 1);
  held.push_back(tape.empty(head.x->value.shape, asked.dtype));
  const Shape all{asked["BT"], asked["V"]};
  const Shape shape{std::min(chunk_rows(asked), asked["BT"]), asked["V"]};
  return {.held = std::move(held),
          .forward =
              [&tape, head, all, shape, dtype = asked.dtype] {
                return Tensors{in_chunks(tape, head, [&](Tape& t) {
                  const Tensor losses = t.empty(all, DType::kFp32);
                  const Tensor student = t.empty(shape, DType::kFp32);
                  const Tensor teacher = t.empty(shape, DType::kFp32);
                  const Tensor gradient = t.empty(shape, DType::kFp32);
                })};
              },
          .gradient = ResultGradient::kScalar};
}

// --- distillation into a student of half the width

struct Distilled {
  Parameter* x = nullptr;       ///< [BT, H ÷ 2]
  Parameter* weight = nullptr;  ///< [V, H ÷ 2]
  std::int64_t rows = 1;
  std::int64_t vocabulary = 1;
};

Distilled make_distilled(Tape& tape, const OperatorCase& asked) {
  const std::int64_t width = asked["H"] / 2;
  return {.x = &tape.parameter("x", {asked["BT"], width}, asked.dtype),
          .weight = &tape.parameter("head", {asked["V"], width}, asked.dtype),
          .rows = asked["BT"],
          .vocabulary = asked["V"]};
}

/// Targets, the teacher's head and states, and the same of the other provider.
Tensors beside_distilled(Tape& tape, const OperatorCase& asked) {
  Tensors held{tape.empty({asked["BT"]}, kIndexType)};
  for (int i = 0; i < 2; ++i) {
    held.push_back(tape.empty({asked["V"], asked["H"]}, asked.dtype));
    held.push_back(tape.empty({asked["BT"], asked["H"]}, asked.dtype));
  }
  held.push_back(tape.empty({asked["V"], asked["H"] / 2}, asked.dtype));
  return held;
}

/// Cosine of two rows: keeps both; a product of them on the way.
Tensor cosine(Tape& tape, const Tensor& a, const Tensor& b) {
  const Tensor product = tape.empty(a.shape, a.dtype);
  return tape.record(tape.empty({a.shape[0], 1}, a.dtype), {&a}, [saved = a.detached(), other = b](Tape& t, Tensors) {
    return only(t.empty(saved.shape, saved.dtype));
  });
}

/// Hard loss of the student, then the cosine of both, divided by a temperature and by their norms, all in fp32 and with
/// names.
OperatorTest distill_cosine_test(Tape& tape, const OperatorCase& asked) {
  const Distilled made = make_distilled(tape, asked);
  return {.held = beside_distilled(tape, asked),
          .forward =
              [&tape, made] {
                const Shape shape{made.rows, made.vocabulary};
                const Tensor student =
                    cast(tape, linear(tape, leaf(tape, *made.x), {.weight = made.weight}), DType::kFp32);
                const Tensor teacher = tape.empty(shape, DType::kFp32);
                const Tensor hard = cross_entropy(tape, student);
                const Tensor cooled = scale(tape, student);
                const Tensor cooled_teacher = tape.empty(shape, DType::kFp32);
                const Tensor normal = scale(tape, cooled);
                const Tensor normal_teacher = tape.empty(shape, DType::kFp32);
                return Tensors{add(tape, hard, total(tape, cosine(tape, normal, normal_teacher)))};
              },
          .gradient = ResultGradient::kScalar};
}

/// Chunks of 1024 rows with all gradients at the end of forward: logits of both in their type, and the gradient in
/// fp32.
OperatorTest chunked_distill_test(Tape& tape, const OperatorCase& asked) {
  constexpr std::int64_t kChunk = 1024;
  const Distilled made = make_distilled(tape, asked);
  const Head head{.x = made.x, .weight = made.weight, .rows = made.rows};
  const Shape shape{std::min(kChunk, made.rows), made.vocabulary};
  return {.held = beside_distilled(tape, asked),
          .forward =
              [&tape, head, shape, dtype = asked.dtype] {
                return Tensors{in_chunks(tape, head, [&](Tape& t) {
                  const Tensor student = t.empty(shape, dtype);
                  const Tensor teacher = t.empty(shape, dtype);
                  const Tensor gradient = t.empty(shape, DType::kFp32);
                })};
              },
          .gradient = ResultGradient::kScalar};
}

// --- losses of preferences and of groups

/// One chunk's tensors by their number: `logits` as large as its logits in bf16, `states` as its hidden states.
struct ChunkNeed {
  int logits = 0;
  int states = 0;
};

OperatorTest preference(Tape& tape, const OperatorCase& asked, std::int64_t chunk, ChunkNeed need, int others) {
  const Head head = make_head(tape, asked, asked["B"] * asked["T"]);
  return {.held = other_heads(tape, head, others),
          .forward =
              [&tape, head, chunk, need, dtype = asked.dtype] {
                return Tensors{in_chunks(tape, head, [&](Tape& t) {
                  const Shape& weight = head.weight->value.shape;
                  Tensors made;
                  for (int i = 0; i < need.logits; ++i) made.push_back(t.empty({chunk, weight[0]}, dtype));
                  for (int i = 0; i < need.states; ++i) made.push_back(t.empty({chunk, weight[1]}, dtype));
                })};
              },
          .gradient = ResultGradient::kScalar};
}

/// Likelihood of the first half, the chosen ones, and log-probabilities of all, from logits in fp32, or in the head's own type
/// as the benchmark's first version had them.
OperatorTest eager_pairs_test(Tape& tape, const OperatorCase& asked) {
  const DType dtype = asked.size_or("half_logits", 0) != 0 ? asked.dtype : DType::kFp32;
  const Head head = make_head(tape, asked, asked["B"] * asked["T"]);
  return {.held = other_heads(tape, head, 1),
          .forward =
              [&tape, head, dtype] {
                const Tensor logits = cast(tape, linear(tape, leaf(tape, *head.x), {.weight = head.weight}), dtype);
                const Tensor chosen = cross_entropy(tape, narrow(tape, logits, 0, head.rows / 2));
                return Tensors{add(tape, chosen, total(tape, picked_of_rows(tape, from_result(tape, logits))))};
              },
          .gradient = ResultGradient::kScalar};
}

/// A pair of one chosen and one rejected sequence a chunk: logits, log-probabilities in fp32, and a gradient.
OperatorTest pairs_test(Tape& tape, const OperatorCase& asked) {
  return preference(tape, asked, 2 * asked["T"], {.logits = 4}, 1);
}

/// Without the likelihood of the chosen: a copy of logits less.
OperatorTest pairs_alone_test(Tape& tape, const OperatorCase& asked) {
  return preference(tape, asked, 2 * asked["T"], {.logits = 3, .states = 1}, 1);
}

/// One sequence a chunk, and heads of a reference model: logits, log-probabilities and their gradient in fp32.
OperatorTest group_test(Tape& tape, const OperatorCase& asked) {
  OperatorTest test = preference(tape, asked, asked["T"], {.logits = 5}, 3);
  test.held.push_back(tape.empty({asked["B"] * asked["T"], asked["H"]}, asked.dtype));
  return test;
}

/// Log-probabilities in fp32 of all rows, first the policy's and then the reference's, from logits that keep a name;
/// two modules of each.
OperatorTest eager_group_test(Tape& tape, const OperatorCase& asked) {
  const Head head = make_head(tape, asked, asked["B"] * asked["T"]);
  Tensors held = other_heads(tape, head, 3);
  held.push_back(tape.empty(head.x->value.shape, asked.dtype));
  return {.held = std::move(held),
          .forward =
              [&tape, head] {
                const Tensor logits = linear(tape, leaf(tape, *head.x), {.weight = head.weight});
                const Tensor probabilities = from_result(tape, cast(tape, logits, DType::kFp32));
                {
                  const Tensor of_reference = tape.empty(logits.shape, logits.dtype);
                  const Tensor wide = tape.empty(logits.shape, DType::kFp32);
                  const Tensor reference = tape.empty(logits.shape, DType::kFp32);
                }
                return Tensors{total(tape, picked_of_rows(tape, probabilities))};
              },
          .gradient = ResultGradient::kScalar,
          .retains_graph = true};
}

}  // namespace

OperatorPrograms linear_loss_programs() {
  const std::vector<std::string_view> rows{"BT", "H", "V"};
  const std::vector<std::string_view> sequences{"B", "T", "H", "V"};
  OperatorPrograms all{{"fused_linear_cross_entropy", "huggingface", rows, linear_cross_entropy_test},
                       {"fused_linear_cross_entropy", "liger", rows, chunked_cross_entropy_test},
                       {"fused_linear_jsd", "torch", rows, linear_jsd_test},
                       {"fused_linear_jsd", "liger", rows, chunked_jsd_test},
                       {"distill_cosine_loss", "torch", rows, distill_cosine_test},
                       {"distill_cosine_loss", "liger", rows, chunked_distill_test},
                       {"fused_linear_cpo_loss", "liger", sequences, pairs_test},
                       {"fused_linear_orpo_loss", "liger", sequences, pairs_test},
                       {"fused_linear_simpo_loss", "liger", sequences, pairs_alone_test}};
  for (const std::string_view kernel : {"fused_linear_cpo_loss", "fused_linear_orpo_loss", "fused_linear_simpo_loss"}) {
    all.push_back({kernel, "huggingface", sequences, eager_pairs_test});
  }
  for (const std::string_view kernel : {"fused_linear_grpo_loss_token", "fused_linear_grpo_loss_sequence"}) {
    all.push_back({kernel, "torch", sequences, eager_group_test});
    all.push_back({kernel, "liger", sequences, group_test});
  }
  return all;
}

}  // namespace plimsoll
