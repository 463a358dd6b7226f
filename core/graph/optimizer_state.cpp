#include "core/graph/optimizer_state.h"

#include <algorithm>

#include "core/model/loss_scaling.h"
#include "core/model/stored_group.h"

namespace plimsoll {
namespace {

using Kind = TensorKind;

/// Where a quantized tensor's bytes begin in its group: nothing straddles a line of the cache without need.
constexpr std::int64_t kRegion = 64;

OpKind kernel_of(OptimizerKind optimizer) {
  switch (optimizer) {
    case OptimizerKind::kSgd: return OpKind::kSgd;
    case OptimizerKind::kMomentum: return OpKind::kMomentum;
    case OptimizerKind::kAdam: return OpKind::kAdam;
    case OptimizerKind::kAdamW: return OpKind::kAdamW;
    case OptimizerKind::kAdam8bit: return OpKind::kAdam8bit;
    case OptimizerKind::kAdafactor: return OpKind::kAdafactor;
    case OptimizerKind::kSm3: return OpKind::kSm3;
    case OptimizerKind::kLamb: return OpKind::kLamb;
    case OptimizerKind::kLars: return OpKind::kLars;
    case OptimizerKind::kLion: return OpKind::kLion;
    case OptimizerKind::kMuon: return OpKind::kMuon;
  }
  return OpKind::kAdamW;
}

/// Which states a rule keeps.
std::vector<Kind> kinds_of(OptimizerKind optimizer) {
  switch (optimizer) {
    case OptimizerKind::kSgd: return {};
    case OptimizerKind::kMomentum:
    case OptimizerKind::kLars:
    case OptimizerKind::kLion: return {Kind::kFirstMoment};
    case OptimizerKind::kAdafactor:
    case OptimizerKind::kSm3: return {Kind::kSecondMoment};
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
    case OptimizerKind::kAdam8bit:
    case OptimizerKind::kMuon:  // the second of what is no matrix of a block
    case OptimizerKind::kLamb: return {Kind::kFirstMoment, Kind::kSecondMoment};
  }
  return {};
}

/// A matrix's second moments are a sum a row and one a column; a vector has one an element.
bool has_factors(OptimizerKind optimizer) { return optimizer == OptimizerKind::kAdafactor || optimizer == OptimizerKind::kSm3; }

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

/// 1 where states have two bytes an element.
std::uint8_t narrow(const Recipe& recipe) { return size_of(state_dtype(recipe.precision)) == 2 ? 1 : 0; }

UpdatePart whole_group(const Recipe& recipe, const ParameterGroup& group) {
  UpdatePart part{.kind = kernel_of(recipe.optimizer), .shape = {.rows = group.elements, .inputs = group.decaying_elements, .variant = narrow(recipe)},
                  .offset = 0, .elements = group.elements, .states = {}};
  for (const Kind kind : kinds_of(recipe.optimizer)) {
    part.states.push_back({kind, state_dtype(recipe.precision), 0, group.elements});
  }
  return part;
}

/// One tensor of those that AdamW updates beside another rule.
UpdatePart adamw_tensor(const Recipe& recipe, const ParameterTensor& tensor, std::int64_t first, std::int64_t second) {
  const DType dtype = state_dtype(recipe.precision);
  const std::int64_t n = tensor.elements();
  return {.kind = OpKind::kAdamW, .shape = {.rows = n, .inputs = tensor.decays ? n : 0, .variant = narrow(recipe)},
          .offset = tensor.offset, .elements = n,
          .states = {{Kind::kFirstMoment, dtype, first, n}, {Kind::kSecondMoment, dtype, second, n}}};
}

/// A tensor whose moments are not worth quantizing.
UpdatePart small_tensor(const Recipe& recipe, const ParameterTensor& tensor, std::int64_t begin) {
  const std::int64_t offset = begin / size_of(state_dtype(recipe.precision));
  return adamw_tensor(recipe, tensor, offset, offset);
}

std::vector<UpdatePart> quantized_parts(const Recipe& recipe, const ParameterGroup& group) {
  std::vector<UpdatePart> parts;
  std::int64_t begin = 0;  // bytes
  for (const ParameterTensor& tensor : group.tensors) {
    const std::int64_t n = tensor.elements();
    const std::int64_t bytes = quantized_bytes(n);
    const bool small = n < kLeastQuantized;
    parts.push_back(small ? small_tensor(recipe, tensor, begin)
                          : UpdatePart{.kind = OpKind::kAdam8bit,
                                       .shape = {.rows = n, .inputs = tensor.decays ? n : 0},
                                       .offset = tensor.offset,
                                       .elements = n,
                                       .states = {{Kind::kFirstMoment, DType::kUint8, begin, bytes},
                                                  {Kind::kSecondMoment, DType::kUint8, begin, bytes}}});
    begin = round_up(begin + (small ? n * size_of(state_dtype(recipe.precision)) : bytes), kRegion);
  }
  return parts;
}

std::vector<UpdatePart> parts_by_tensor(const Recipe& recipe, const ParameterGroup& group) {
  std::vector<UpdatePart> parts;
  std::int64_t begin = 0;  // elements of the states
  for (const ParameterTensor& tensor : group.tensors) {
    const bool factored = has_factors(recipe.optimizer) && tensor.rows > 1;
    const std::int64_t kept = factored ? tensor.rows + tensor.columns : tensor.elements();
    const std::uint8_t decays = tensor.decays ? 1 : 0;
    UpdatePart part{.kind = kernel_of(recipe.optimizer),
                    .shape = {.rows = tensor.rows, .inputs = tensor.columns, .variant = decays},
                    .offset = tensor.offset, .elements = tensor.elements(), .states = {}};
    for (const Kind kind : kinds_of(recipe.optimizer)) {
      part.states.push_back({kind, state_dtype(recipe.precision), begin, kept});
    }
    parts.push_back(std::move(part));
    begin += kept;
  }
  return parts;
}

/// The hidden matrices of blocks, which Muon orthogonalizes; embeddings, heads, routers and vectors are left to AdamW
/// (Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks").
bool is_hidden_matrix(const ParameterGroup& group, const ParameterTensor& tensor) {
  const bool router = tensor.role == ParameterRole::kRouterWeight || tensor.role == ParameterRole::kRouterNoiseWeight;
  return group.block >= 0 && tensor.rows > 1 && !router && tensor.role != ParameterRole::kRelativeBias;
}

/// Every element has a first moment; second moments are those of AdamW's tensors, one after another.
std::vector<UpdatePart> muon_parts(const Recipe& recipe, const ParameterGroup& group) {
  std::vector<UpdatePart> parts;
  std::int64_t second = 0;
  for (const ParameterTensor& tensor : group.tensors) {
    if (!is_hidden_matrix(group, tensor)) {
      parts.push_back(adamw_tensor(recipe, tensor, tensor.offset, second));
      second += tensor.elements();
      continue;
    }
    parts.push_back({.kind = OpKind::kMuon,
                     .shape = {.rows = tensor.rows, .inputs = tensor.columns, .terms = tensor.matrices, .variant = narrow(recipe)},
                     .offset = tensor.offset, .elements = tensor.elements(),
                     .states = {{Kind::kFirstMoment, state_dtype(recipe.precision), tensor.offset, tensor.elements()}}});
  }
  return parts;
}

}  // namespace

std::vector<UpdatePart> update_parts(const Recipe& recipe, const ParameterGroup& group) {
  if (group.frozen) return {};
  if (!rule_of(recipe.optimizer).whole_tensors) return {whole_group(recipe, group)};
  if (recipe.optimizer == OptimizerKind::kMuon) return muon_parts(recipe, group);
  return recipe.optimizer == OptimizerKind::kAdam8bit ? quantized_parts(recipe, group) : parts_by_tensor(recipe, group);
}

std::vector<OptimizerState> optimizer_states(const Recipe& recipe, const ParameterGroup& group) {
  if (group.frozen) return {};
  const bool bytes = recipe.optimizer == OptimizerKind::kAdam8bit;
  std::vector<OptimizerState> states;
  for (const Kind kind : kinds_of(recipe.optimizer)) {
    states.push_back({kind, bytes ? DType::kUint8 : state_dtype(recipe.precision), 0});
  }
  for (const UpdatePart& part : update_parts(recipe, group)) {
    for (std::size_t i = 0; i < part.states.size(); ++i) {
      const StateRange& range = part.states[i];
      const std::int64_t end = (range.offset + range.elements) * size_of(range.dtype) / size_of(states[i].dtype);
      states[i].elements = std::max(states[i].elements, end);
    }
  }
  const bool muon = recipe.optimizer == OptimizerKind::kMuon;  // which leaves a group of matrices alone no second moment
  std::erase_if(states, [&](const OptimizerState& state) { return muon && state.elements == 0; });
  return states;
}

Bytes bytes_of_state(const Recipe& recipe, const ParameterGroup& group, TensorKind kind) {
  if (kind == Kind::kParameter) return stored_bytes(group, compute_dtype(recipe.precision));
  if (kind == Kind::kScalar) return Bytes(kLossScaleDoubles * size_of(DType::kFp64));
  if (kind == Kind::kMaster) return Bytes(group.elements * size_of(state_dtype(recipe.precision)));
  for (const OptimizerState& state : optimizer_states(recipe, group)) {
    if (state.kind == kind) return state.bytes();
  }
  return Bytes(0);
}

}  // namespace plimsoll
