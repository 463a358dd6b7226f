#include <algorithm>
#include <stdexcept>

#include "core/graph/expert_shape.h"
#include "core/model/model_spec.h"
#include "tests/executor/kernels/attention_cases.h"

namespace plimsoll::test {
namespace {

constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;

// Three sequences of 47 tokens: 141 rows, which are three reduction tiles.
constexpr std::int64_t kSequence = 47, kRows = 3 * kSequence, kTokens = 3 * (kSequence + 1);

std::vector<KernelCase> embeddings() {
  const OpShape plain{.rows = kRows, .inputs = 70, .outputs = 11, .sequence = kSequence};
  OpShape learned = plain, scaled = plain, later = plain;
  learned.positions = later.positions = 50;
  later.stride = 3;  // the first three positions are other ranks'
  scaled.constant = 5.5;
  const CaseOperand tokens{kTokens, kR, Content::kToken}, x{kRows * 70, kR}, y{kRows * 70, kW};
  return {{"embedding", OpKind::kEmbedding, plain, {tokens, {11 * 70, kR}, y}},
          {"embedding with positions", OpKind::kEmbedding, learned, {tokens, {11 * 70, kR}, {50 * 70, kR}, y}},
          {"embedding backward", OpKind::kEmbeddingBackward, plain, {tokens, x, {11 * 70, kW}}},
          {"embedding, scaled", OpKind::kEmbedding, scaled, {tokens, {11 * 70, kR}, y}},
          {"embedding backward, scaled", OpKind::kEmbeddingBackward, scaled, {tokens, x, {11 * 70, kW}}},
          {"embedding backward, tied, with positions",
           OpKind::kEmbeddingBackward,
           learned,
           {tokens, x, {11 * 70, kRw}, {50 * 70, kW}}},
          {"embedding of later positions", OpKind::kEmbedding, later, {tokens, {11 * 70, kR}, {50 * 70, kR}, y}},
          {"embedding backward, of later positions",
           OpKind::kEmbeddingBackward,
           later,
           {tokens, x, {11 * 70, kW}, {50 * 70, kW}}}};
}

/// Three sequences of 47 places.
std::vector<KernelCase> sequence_ends() {
  const OpShape typed{.rows = kRows, .inputs = 70, .outputs = 11, .sequence = kSequence, .positions = 50, .variant = 2};
  const OpShape classes{.rows = kRows, .inputs = 70, .sequence = kSequence, .positions = kSequence};
  const OpShape firsts{.rows = 3, .inputs = 70, .sequence = kSequence};
  const CaseOperand tokens{kTokens, kR, Content::kToken}, extents{6, kR, Content::kExtent};
  const std::int64_t all = kRows * 70, patches = (kRows - 3) * 70, positions = kSequence * 70;
  return {{"embedding with types",
           OpKind::kEmbedding,
           typed,
           {tokens, {11 * 70, kR}, {50 * 70, kR}, extents, {2 * 70, kR}, {all, kW}}},
          {"embedding backward, with types",
           OpKind::kEmbeddingBackward,
           typed,
           {tokens, {all, kR}, extents, {11 * 70, kW}, {50 * 70, kW}, {2 * 70, kW}}},
          {"class token", OpKind::kClassToken, classes, {{patches, kR}, {70, kR}, {positions, kR}, {all, kW}}},
          {"class token backward", OpKind::kClassTokenBackward, classes, {{all, kR}, {patches, kW}, {70, kW}, {positions, kW}}},
          {"first token", OpKind::kFirstToken, firsts, {{all, kR}, {3 * 70, kW}}},
          {"first token backward", OpKind::kFirstTokenBackward, firsts, {{3 * 70, kR}, {all, kW}}}};
}

std::vector<KernelCase> norms() {
  constexpr std::int64_t kWidth = 301;
  const auto variant = [](NormKind kind) {
    return OpShape{.rows = kRows, .inputs = kWidth, .variant = static_cast<std::uint8_t>(kind), .constant = 1e-5};
  };
  const OpShape layer = variant(NormKind::kLayerNorm), rms = variant(NormKind::kRmsNorm),
                plus_one = variant(NormKind::kRmsNormPlusOne);
  const CaseOperand x{kRows * kWidth, kR}, y{kRows * kWidth, kW}, w{kWidth, kR}, dw{kWidth, kW},
      statistics{2 * kRows, kW, Content::kWide};
  const CaseOperand read_statistics{2 * kRows, kR, Content::kPositive};
  const auto space = [](const OpShape& s) {
    return CaseOperand{scratch(OpKind::kNormBackward, s), kW, Content::kScratch};
  };
  return {{"layer norm", OpKind::kNorm, layer, {x, w, w, y, statistics}},
          {"rms norm", OpKind::kNorm, rms, {x, w, y, statistics}},
          {"rms norm plus one", OpKind::kNorm, plus_one, {x, w, y, statistics}},
          {"rms norm plus one backward",
           OpKind::kNormBackward,
           plus_one,
           {x, x, w, read_statistics, y, dw, space(plus_one)}},
          {"layer norm backward", OpKind::kNormBackward, layer, {x, x, w, read_statistics, y, dw, dw, space(layer)}},
          {"rms norm backward, added",
           OpKind::kNormBackward,
           rms,
           {x, x, w, read_statistics, {kRows * kWidth, kRw}, dw, space(rms)}}};
}

std::vector<KernelCase> linears() {
  constexpr std::int64_t kIn = 97, kOut = 401;  // two column tiles
  const OpShape s{.rows = kRows, .inputs = kIn, .outputs = kOut};
  const CaseOperand x{kRows * kIn, kR}, w{kOut * kIn, kR}, dy{kRows * kOut, kR};
  return {{"linear", OpKind::kLinear, s, {x, w, {kRows * kOut, kW}}},
          {"linear with bias", OpKind::kLinear, s, {x, w, {kOut, kR}, {kRows * kOut, kW}}},
          {"linear backward input", OpKind::kLinearBackwardInput, s, {dy, w, {kRows * kIn, kW}}},
          {"linear backward weight", OpKind::kLinearBackwardWeight, s, {dy, x, {kOut * kIn, kW}}},
          {"linear backward weight onto another's", OpKind::kLinearBackwardWeight, s, {dy, x, {kOut * kIn, kRw}}},
          {"linear backward weight and bias", OpKind::kLinearBackwardWeight, s, {dy, x, {kOut * kIn, kW}, {kOut, kW}}}};
}

/// Four query and two key heads of 10: 141 rows, which are three reduction tiles.
std::vector<KernelCase> head_norms() {
  std::vector<KernelCase> cases;
  for (const auto& [name, kind] : {std::pair{"head norm", NormKind::kRmsNorm}, std::pair{"head norm plus one", NormKind::kRmsNormPlusOne}}) {
    const OpShape s{.rows = kRows, .heads = 4, .kv_heads = 2, .head_dim = 10, .variant = static_cast<std::uint8_t>(kind),
                    .constant = 1e-5};
    const CaseOperand qkv{kRows * 80, kR}, w{10, kR}, dw{10, kW};
    cases.push_back({name, OpKind::kHeadNorm, s, {qkv, w, w, {kRows * 80, kW}, {kRows * 6, kW, Content::kWide}}});
    cases.push_back({std::string(name) + " backward",
                     OpKind::kHeadNormBackward,
                     s,
                     {{kRows * 80, kRw},
                      qkv,
                      w,
                      w,
                      {kRows * 6, kR, Content::kPositive},
                      dw,
                      dw,
                      {scratch(OpKind::kHeadNormBackward, s), kW, Content::kScratch}}});
  }
  return cases;
}

/// Attention to the keys of another rank.
std::vector<KernelCase> attention_steps() {
  std::vector<KernelCase> cases;
  for (const std::int64_t kv_heads : {4, 2}) {
    OpShape s = attention_shape(4, kv_heads), apart = s;
    s.variant = static_cast<std::uint8_t>(AttentionKind::kFull);
    const std::int64_t qkv = 266 * (4 + 2 * kv_heads) * 10, keys = 266 * 2 * kv_heads * 10, out = 266 * 40, sums = 266 * 4;
    const std::string of = ", " + std::to_string(kv_heads) + " kv heads";
    const OpKind step = OpKind::kAttentionStep, back = OpKind::kAttentionStepBackward;
    cases.push_back({"keys and values" + of, OpKind::kKeysValues, apart, {{qkv, kR}, {keys, kW}}});
    cases.push_back({"keys and values backward" + of, OpKind::kKeysValuesBackward, apart, {{keys, kR}, {qkv, kRw}}});
    cases.push_back({"attention step" + of,
                     step,
                     s,
                     {{qkv, kR}, {keys, kR}, {out, kRw}, {sums, kRw, Content::kWide}, {scratch(step, s), kW, Content::kScratch}}});
    for (const Access access : {kW, kRw}) {
      cases.push_back({"attention step backward" + of + (access == kW ? "" : ", adding"),
                       back,
                       s,
                       {{qkv, kR},
                        {keys, kR},
                        {out, kR},
                        {sums, kR, Content::kPositive},
                        {out, kR},
                        {qkv, kRw},
                        {keys, access},
                        {scratch(back, s), kW, Content::kScratch}}});
    }
  }
  return cases;
}

/// Of some elements, stretched, and beside stretched ones.
void add_ropes(std::vector<KernelCase>& cases) {
  OpShape partly = attention_shape(4, 2);
  partly.inputs = 6;
  const RopeScaling stretched{.kind = RopeScalingKind::kLlama3, .factor = 8, .original_positions = 100};
  const std::int64_t qkv = 266 * 80;
  cases.push_back({"rope, of six elements", OpKind::kRope, partly, {{qkv, kRw}}});
  cases.push_back({"rope backward, of six elements", OpKind::kRopeBackward, partly, {{qkv, kRw}}});
  cases.push_back({"rope, stretched", OpKind::kRope, attention_shape(4, 2), {{qkv, kRw}}, stretched});
  cases.push_back({"rope backward, stretched", OpKind::kRopeBackward, attention_shape(4, 2), {{qkv, kRw}}, stretched});
  const RopeScaling linear{.kind = RopeScalingKind::kLinear, .factor = 4};
  cases.push_back({"rope, linear", OpKind::kRope, attention_shape(4, 2), {{qkv, kRw}}, linear});
  OpShape beside = attention_shape(4, 2);
  beside.variant = 1;
  cases.push_back({"rope, beside stretched ones", OpKind::kRope, beside, {{qkv, kRw}}, linear});
  cases.push_back({"rope backward, beside stretched ones", OpKind::kRopeBackward, beside, {{qkv, kRw}}, linear});
}

std::vector<KernelCase> attentions() {
  std::vector<KernelCase> cases, others;
  for (const std::int64_t kv_heads : {4, 2, 1}) {
    const OpShape s = attention_shape(4, kv_heads);
    const std::int64_t qkv = 266 * (4 + 2 * kv_heads) * 10, out = 266 * 40, sums = 266 * 4;
    const std::string of = ", " + std::to_string(kv_heads) + " kv heads";
    cases.push_back({"attention" + of,
                     OpKind::kAttention,
                     s,
                     {{qkv, kR}, {out, kW}, {sums, kW, Content::kWide}, {scratch(OpKind::kAttention, s), kW, Content::kScratch}}});
    cases.push_back({"attention backward" + of,
                     OpKind::kAttentionBackward,
                     s,
                     {{qkv, kR},
                      {out, kR},
                      {sums, kR, Content::kPositive},
                      {out, kR},
                      {qkv, kW},
                      {scratch(OpKind::kAttentionBackward, s), kW, Content::kScratch}}});
    for (const AttentionKind kind : {AttentionKind::kFull, AttentionKind::kPadded}) {
      OpShape both = s;
      both.variant = static_cast<std::uint8_t>(kind);
      KernelCase forward = cases[cases.size() - 2], backward = cases.back();
      const bool padded = kind == AttentionKind::kPadded;
      for (KernelCase* made : {&forward, &backward}) {
        made->shape = both;
        made->name = (padded ? "padded " : "full ") + std::string(made == &forward ? "attention" : "attention backward") + of;
        if (padded) made->operands.insert(made->operands.begin() + 1, {4, kR, Content::kExtent});
      }
      others.push_back(forward);
      others.push_back(backward);
    }
    cases.push_back({"rope" + of, OpKind::kRope, s, {{qkv, kRw}}});
    cases.push_back({"rope backward" + of, OpKind::kRopeBackward, s, {{qkv, kRw}}});
  }
  add_ropes(cases);
  cases.insert(cases.end(), others.begin(), others.end());
  return cases;
}

std::vector<KernelCase> elementwise() {
  constexpr std::int64_t kWidth = 777, kElements = kRows * kWidth;  // 109557 elements: four tasks
  std::vector<KernelCase> cases{
      {"add", OpKind::kAdd, {.rows = kRows, .inputs = kWidth}, {{kElements, kR}, {kElements, kR}, {kElements, kW}}},
      {"accumulate, first", OpKind::kAccumulate, {.rows = kElements}, {{kElements, kR}, {kElements, kW, Content::kWide}}},
      {"accumulate", OpKind::kAccumulate, {.rows = kElements}, {{kElements, kR}, {kElements, kRw, Content::kWide}}}};
  for (const auto& [name, kind] :
       {std::pair{"gelu", ActivationKind::kGelu}, std::pair{"gelu tanh", ActivationKind::kGeluTanh},
        std::pair{"swiglu", ActivationKind::kSwiGlu}, std::pair{"geglu tanh", ActivationKind::kGeGluTanh},
        std::pair{"tanh", ActivationKind::kTanh}, std::pair{"relu", ActivationKind::kRelu},
        std::pair{"squared relu", ActivationKind::kSquaredRelu}}) {
    const std::int64_t in = is_gated(kind) ? 2 * kElements : kElements;
    const OpShape s{.rows = kRows, .inputs = in / kRows, .outputs = kWidth, .variant = static_cast<std::uint8_t>(kind)};
    cases.push_back({name, OpKind::kActivation, s, {{in, kR}, {kElements, kW}}});
    cases.push_back(
        {std::string(name) + " backward", OpKind::kActivationBackward, s, {{in, kR}, {kElements, kR}, {in, kW}}});
  }
  return cases;
}

/// 141 tokens in three groups, five experts of which a token takes two, as long as they have room.
OpShape mixture_shape(std::int64_t inputs, std::int64_t outputs, GatingKind gating, std::int64_t choices) {
  return {.rows = kRows, .inputs = inputs, .outputs = outputs, .experts = 5, .choices = choices, .capacity = 20, .groups = 3,
          .variant = static_cast<std::uint8_t>(gating), .constant = 1};
}

std::vector<KernelCase> routers() {
  std::vector<KernelCase> cases;
  for (const GatingKind gating : {GatingKind::kTopK, GatingKind::kSwitch, GatingKind::kGShard, GatingKind::kNoisy}) {
    const std::string name(to_text(gating));
    const std::int64_t choices = gating == GatingKind::kSwitch ? 1 : 2;
    ExpertSpec experts = gating_defaults(gating);
    experts.count = 5;
    const OpShape s = mixture_shape(37, 0, gating, choices);
    const CaseOperand x{kRows * 37, kR}, w{5 * 37, kR}, dw{5 * 37, kW}, gates{kRows * choices, kR, Content::kPositive};
    const CaseOperand scores{kRows * scores_of_token(s), kR, Content::kPositive};
    const CaseOperand routing{routing_elements(s), kR, Content::kRouting};
    const CaseOperand statistics{statistics_elements(s), kR, Content::kDouble}, slopes{slopes_elements(s), kR, Content::kDouble};
    KernelCase forward{"router, " + name, OpKind::kRouter, s, {x, w}, {}, experts};
    KernelCase backward{"router backward, " + name, OpKind::kRouterBackward, s, {x, w}, {}, experts};
    if (gating == GatingKind::kNoisy) forward.operands.push_back(w);
    if (gating == GatingKind::kNoisy) backward.operands.push_back(w);
    for (CaseOperand made : {scores, gates, routing, statistics}) {
      made.access = kW;
      forward.operands.push_back(made);
    }
    for (const CaseOperand& read : {scores, gates, gates, routing, statistics, slopes}) backward.operands.push_back(read);
    backward.operands.push_back({kRows * 37, kRw});
    backward.operands.push_back(dw);
    if (gating == GatingKind::kNoisy) backward.operands.push_back(dw);
    backward.operands.push_back({scratch(OpKind::kRouterBackward, s), kW, Content::kScratch});
    cases.push_back(forward);
    cases.push_back(backward);
    OpShape balance = s;
    balance.terms = 2;
    cases.push_back({"expert balance, " + name, OpKind::kExpertBalance, balance,
                     {statistics, statistics, {slopes_elements(s), kW, Content::kDouble},
                      {2, kW, Content::kDouble}}, {}, experts});
  }
  return cases;
}

std::vector<KernelCase> experts() {
  constexpr std::int64_t kIn = 37, kOut = 401;
  const OpShape s = mixture_shape(kIn, kOut, GatingKind::kTopK, 2);
  const std::int64_t rows = expert_rows(s);
  const ExpertSpec dropping{.dropout = 0.3};
  const CaseOperand x{rows * kIn, kR}, w{5 * kOut * kIn, kR}, dy{rows * kOut, kR};
  const CaseOperand routing{routing_elements(s), kR, Content::kRouting};
  const CaseOperand tokens{kRows * kIn, kR}, gates{kRows * 2, kR, Content::kWide}, b{5 * kOut, kR};
  return {{"expert linear", OpKind::kExpertLinear, s, {x, w, routing, {rows * kOut, kW}}},
          {"expert linear with bias", OpKind::kExpertLinear, s, {x, w, b, routing, {rows * kOut, kW}}},
          {"expert linear backward input", OpKind::kExpertLinearBackwardInput, s, {dy, w, routing, {rows * kIn, kW}}},
          {"expert linear backward weight", OpKind::kExpertLinearBackwardWeight, s, {dy, x, routing, {5 * kOut * kIn, kW}}},
          {"expert linear backward weight and bias",
           OpKind::kExpertLinearBackwardWeight,
           s,
           {dy, x, routing, {5 * kOut * kIn, kW}, {5 * kOut, kW}}},
          {"expert dropout", OpKind::kExpertDropout, s, {{rows * kIn, kRw}, routing}, {}, dropping},
          {"dispatch", OpKind::kDispatch, s, {tokens, routing, {rows * kIn, kW}}},
          {"dispatch backward", OpKind::kDispatchBackward, s, {x, routing, {kRows * kIn, kW}}},
          {"combine", OpKind::kCombine, s, {x, gates, routing, {kRows * kIn, kW}}},
          {"combine backward",
           OpKind::kCombineBackward,
           s,
           {tokens, x, gates, routing, {rows * kIn, kW}, {kRows * 2, kW, Content::kWide}}}};
}

std::vector<KernelCase> losses() {
  const OpShape s{.rows = kRows, .outputs = 1003, .sequence = kSequence, .terms = 2 * kRows};
  OpShape labelled = s;
  labelled.variant = static_cast<std::uint8_t>(TargetKind::kLabel);
  const CaseOperand tokens{kTokens, kR, Content::kToken}, mean{1, kW, Content::kDouble}, labels{kRows, kR, Content::kLabel};
  OpShape part = s;
  part.inputs = 3 * kRows;
  OpShape wide = s, wide_labelled = labelled;
  wide.stride = wide_labelled.stride = 1008;
  const CaseOperand further{1, kRw, Content::kDouble};
  return {{"cross entropy", OpKind::kCrossEntropy, s, {{kRows * 1003, kRw}, tokens, mean}},
          {"cross entropy of a further part", OpKind::kCrossEntropy, part, {{kRows * 1003, kRw}, tokens, further}},
          {"loss of a further part", OpKind::kLoss, part, {{kRows * 1003, kR}, tokens, further}},
          {"loss", OpKind::kLoss, s, {{kRows * 1003, kR}, tokens, mean}},
          {"cross entropy of labels", OpKind::kCrossEntropy, labelled, {{kRows * 1003, kRw}, labels, mean}},
          {"loss of labels", OpKind::kLoss, labelled, {{kRows * 1003, kR}, labels, mean, mean}},
          {"cross entropy of wider rows", OpKind::kCrossEntropy, wide, {{kRows * 1008, kRw}, tokens, mean}},
          {"cross entropy of labels, of wider rows", OpKind::kCrossEntropy, wide_labelled, {{kRows * 1008, kRw}, labels, mean}},
          {"loss of labels, of wider rows", OpKind::kLoss, wide_labelled, {{kRows * 1008, kR}, labels, mean, mean}}};
}

std::vector<KernelCase> optimizers() {
  constexpr std::int64_t kElements = 150001;
  const OpShape s{.rows = kElements, .inputs = 70000};
  const CaseOperand state{kElements, kRw, Content::kWide}, second{kElements, kRw, Content::kPositive}, gradient{kElements, kR};
  return {{"squared norm", OpKind::kSquaredNorm, s, {gradient, {1, kW, Content::kDouble}}},
          {"clip factor", OpKind::kClipFactor, {.terms = 5}, {{5, kR, Content::kDouble}, {2, kW, Content::kDouble}}},
          {"adamw", OpKind::kAdamW, s, {state, state, second, gradient}},
          {"adamw, clipped", OpKind::kAdamW, s, {state, state, second, gradient, {2, kR, Content::kDouble}}}};
}

}  // namespace

std::vector<KernelCase> all_cases() {
  std::vector<KernelCase> all;
  for (const auto& cases :
       {embeddings(), sequence_ends(), norms(), head_norms(), linears(), attentions(), attention_steps(),
        paired_attentions(), elementwise(), routers(), experts(), losses(), optimizers()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

KernelCase case_named(const std::string& name) {
  for (const KernelCase& kernel_case : all_cases()) {
    if (kernel_case.name == name) return kernel_case;
  }
  throw std::invalid_argument("no kernel case '" + name + "'");
}

}  // namespace plimsoll::test
