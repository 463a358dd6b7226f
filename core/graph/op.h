#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/strong_id.h"
#include "core/model/dtype.h"

namespace plimsoll {

using TensorId = StrongId<struct TensorTag>;
using OpId = StrongId<struct OpTag>;

/// The kernels of a training step. Operands stand in the order given; r reads, w overwrites, rw updates, [ ] is optional.
enum class OpKind : std::uint8_t {
  kEmbedding,             ///< tokens r, token table r, [position table r], [extents r, token type table r], x w
  kClassToken,            ///< x r, class token r, position table r, y w     puts the token before each sequence, adds positions
  kFirstToken,            ///< x r, y w                                 the first row of each sequence
  kNorm,                  ///< x r, weight r, [bias r], y w, statistics w
  kLinear,                ///< x r, weight r, [bias r], y w|rw          y = x Wᵀ + b, or y += x Wᵀ
  kHeadNorm,              ///< qkv r, query weight r, key weight r, y w, statistics w   normalizes query and key heads, copies values
  kRope,                  ///< qkv rw                                   rotates queries and keys
  kAttention,             ///< qkv r, [extents r], out w, log-sum-exp w, workspace w    softmax(q kᵀ / √d) v; see AttentionKind
  kDequantize,            ///< encoded weight r, weight w               a frozen matrix as compute reads it
  kAdd,                   ///< a r, b r, y w
  kActivation,            ///< x r, y w                                 GELU or tanh, or SwiGLU or GeGLU of [gate | up]
  kCrossEntropy,          ///< logits rw, tokens or labels r, [loss scale r], loss w|rw   leaves d loss / d logits, scaled, in place of the logits
  kLoss,                  ///< logits r, tokens or labels r, loss w|rw, [share of right answers w]    evaluation only
  kEmbeddingBackward,     ///< tokens r, dx r, [extents r], d token table w|rw, [d position table w], [d token type table w]
  kClassTokenBackward,    ///< dy r, dx w, d class token w, d position table w
  kFirstTokenBackward,    ///< dy r, dx w                               zeros behind the first rows
  kNormBackward,          ///< dy r, x r, weight r, statistics r, dx w|rw, [d weight w], [d bias w], workspace w
  kLinearBackwardInput,   ///< dy r, weight r, dx w|rw                  dx = dy W, or dx += dy W
  kLinearBackwardWeight,  ///< dy r, x r, d weight w|rw, [d bias w]     dW = dyᵀ x, or dW += dyᵀ x
  kRopeBackward,          ///< dqkv rw
  kHeadNormBackward,      ///< dqkv rw, qkv r, query weight r, key weight r, statistics r, [d query weight w, d key weight w], workspace w
  kAttentionBackward,     ///< qkv r, [extents r], out r, log-sum-exp r, dout r, dqkv w, workspace w
  kActivationBackward,    ///< x r, dy r, dx w
  // A mixture of experts; what stands in routing and statistics: expert_shape.h.
  kRouter,                      ///< x r, weight r, [noise weight r], scores w, gates w, routing w, statistics w
  kDispatch,                    ///< x r, routing r, y w                           rows of tokens to rows of experts
  kExpertLinear,                ///< x r, weights r, [biases r], routing r, y w    each expert's rows with its own weight
  kExpertDropout,               ///< x rw, routing r
  kCombine,                     ///< y r, gates r, routing r, out w                weighted rows of experts to rows of tokens
  kExpertBalance,               ///< statistics r of `terms` routers, [loss scale r], slopes w, auxiliary loss and refused share w
  kCombineBackward,             ///< d out r, y r, gates r, routing r, dy w, d gates w
  kExpertLinearBackwardInput,   ///< dy r, weights r, routing r, dx w
  kExpertLinearBackwardWeight,  ///< dy r, x r, routing r, d weights w, [d biases w]
  kDispatchBackward,            ///< dy r, routing r, dx w
  kRouterBackward,              ///< x r, weight r, [noise weight r], scores r, gates r, d gates r, routing r, statistics r,
                                ///< slopes r, dx rw, d weight w, [d noise weight w], workspace w
  kAccumulate,            ///< gradient r, accumulator w|rw             w on the first micro-batch
  kSquaredNorm,           ///< gradient r, partial sum w                one double
  kClipFactor,            ///< partial sums r, factor w, [flag w]       two doubles: factor, global norm; one that is 0 when the factor is 1
                          ///< or, where the loss is scaled: partial sums r, factor w, loss scale rw, [flag w] (LossScale, ClipFlag)
  // Updates: weights rw, each state rw, gradient r, [factor r], [compute weights w]; or, from version to version: weights r,
  // each state r, gradient r, [factor r], new weights w, each new state w, [compute weights w]; and workspace w, where a rule
  // needs some. A shape is of a group (rows: elements) or, where a rule looks at whole tensors, of one tensor.
  kSgd,                   ///< no state
  kMomentum,              ///< velocity
  kAdam,                  ///< m, v; decay joins the gradient
  kLion,                  ///< m
  kAdam8bit,              ///< m, v in 8 bits with a scale each 256 elements; of one tensor
  kAdafactor,             ///< means of rows and columns, or of a vector's elements; of one tensor
  kSm3,                   ///< largest sums of rows and columns, or a vector's sums; of one tensor; workspace
  kLamb,                  ///< m, v; of one tensor
  kLars,                  ///< velocity; of one tensor
  kAdamW,                 ///< m, v
  kMuon,                  ///< velocity; of one matrix; workspace: three matrices in bf16 for Newton–Schulz
  // Where ranks share a mixture's experts; the last three are exchanges in a plan, not launches (core/plan/exchange.h).
  kShareRouting,          ///< routings r of all these ranks, the same w of own experts alone, counts w
  kGatherRoutings,        ///< routing r, routings of all these ranks w
  kToExperts,             ///< rows r, counts r, visiting rows w        rows of own tokens to the ranks that have their experts
  kFromExperts,           ///< visiting rows r, counts r, rows w        and back
  // Attention over a sequence of which this rank has some positions (docs/ranks.md). Keys are [key heads | value heads] a row.
  kKeysValues,             ///< qkv r, keys w                            what other ranks' queries meet
  kAttentionStep,          ///< qkv r, other ranks' keys r, out rw, log-sum-exp rw, workspace w    joins what these keys add
  kAttentionStepBackward,  ///< qkv r, other ranks' keys r, out r, log-sum-exp r, dout r, dqkv rw, d keys w|rw, workspace w
  kKeysValuesBackward,     ///< d keys r, dqkv rw                        adds what other ranks' queries found
  // Of an encoder with a decoder (T5): scores have no factor, and a learnt number a head and bucket of distances is added.
  kDistanceBias,             ///< table r, bias w                        what each head adds at each distance; see distance_count
  kBiasedAttention,          ///< qkv r, bias r, out w, log-sum-exp w, workspace w
  kCrossAttention,           ///< queries r, keys r, out w, log-sum-exp w, workspace w   to all of another sequence
  kDistanceBiasBackward,     ///< d bias r, d table w
  kBiasedAttentionBackward,  ///< qkv r, bias r, out r, log-sum-exp r, dout r, dqkv w, d bias w|rw, workspace w
  kCrossAttentionBackward,   ///< queries r, keys r, out r, log-sum-exp r, dout r, d queries w, d keys w, workspace w
};
constexpr OpKind kLastOpKind = OpKind::kCrossAttentionBackward;

/// What a clip factor's flag says where the loss is scaled; its shape's variant.
enum class ClipFlag : std::uint8_t {
  kRedo,    ///< the factor is not the one that updates guessed
  kUpdate,  ///< the gradients are finite
};

/// Which keys a query of attention sees.
enum class AttentionKind : std::uint8_t {
  kCausal,  ///< those before it and its own
  kFull,    ///< all of its sequence
  kPadded,  ///< all of its sequence's extent, which `extents` holds
  kCausalAlibi,  ///< as kCausal; scores fall with the distance, in each head at its own rate (Press et al. 2022)
};

/// What a loss compares a row of logits with.
enum class TargetKind : std::uint8_t {
  kNextToken,  ///< the token after the row's
  kLabel,      ///< the row's label; rows with a negative one do not count, and the mean is over the others of the micro-batch
};

constexpr bool is_causal(AttentionKind kind) { return kind == AttentionKind::kCausal || kind == AttentionKind::kCausalAlibi; }

/// Which part of the step an op belongs to.
enum class Phase : std::uint8_t { kLoad, kForward, kBackward, kOptimizer };

enum class Access : std::uint8_t { kRead, kWrite, kReadWrite };

/// Distances of two tokens of a sequence, from 1 − n to n − 1: a bias of distances has so many numbers a head, in this order
/// (key's place − query's place), of the sums' type.
constexpr std::int64_t distance_count(std::int64_t sequence) { return 2 * sequence - 1; }

constexpr bool reads(Access access) { return access != Access::kWrite; }
constexpr bool writes(Access access) { return access != Access::kRead; }

/// Sizes of one kernel; what is not used by a kind stays 0. Two kernels of one kind and equal shapes cost the same.
struct OpShape {
  std::int64_t rows = 0;      ///< tokens or sequences of the micro-batch, or elements of a group for optimizer kernels; of updates of one
                              ///< tensor its rows (8-bit Adam: elements)
  std::int64_t inputs = 0;    ///< columns of x; hidden size of embedding or norm; rows that a loss has a part of; rotated (0: all);
                              ///< keys of a sequence for attention to another; distance from which on a bias is the same;
                              ///< decaying elements for updates of a group; columns for those of one tensor
  std::int64_t outputs = 0;   ///< columns of y; vocabulary of an embedding or a loss; position rows stay in `positions`
  std::int64_t sequence = 0;  ///< tokens per sequence
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t positions = 0;  ///< rows of the position table; of a rotation the position of the first token (0 in training)
  std::int64_t stride = 0;     ///< linear, loss: from row to row of y, dy or logits where they are columns of wider rows (0: outputs);
                              ///< embedding: position of the first token (0 where a rank has all of its sequences)
  std::int64_t terms = 1;      ///< loss: rows over which the mean is taken; clip factor: number of partial sums
  std::int64_t experts = 0;    ///< of a mixture
  std::int64_t choices = 0;    ///< experts of a token
  std::int64_t capacity = 0;   ///< tokens that an expert takes of a group at most; 0: all that come
  std::int64_t groups = 0;     ///< of tokens, each with capacities of its own
  std::uint8_t variant = 0;    ///< a kind: of norm, activation, attention, target, storage, gating, clip flag; rows of an embedding's
                               ///< type table; of a rotation 1 where it is not stretched; of updates of a group and of Muon's 1 where
                               ///< states have the two bytes of their type, of others of one tensor whether it decays
  double constant = 0;         ///< norm epsilon, rotary base, factor of an embedding or of a linear product (0: none), 1: a router draws

  auto operator<=>(const OpShape&) const = default;
};

struct Operand {
  TensorId tensor;
  Access access = Access::kRead;
};

/// One kernel launch of the step, with what it costs in arithmetic and in memory traffic.
struct Op {
  OpKind kind = OpKind::kAdd;
  Phase phase = Phase::kForward;
  std::int64_t block = -1;  ///< transformer block; -1 for embedding, head and whole-model ops
  DType dtype = DType::kFp32;
  OpShape shape;
  std::vector<Operand> operands;
};

/// Whether it is a product with a weight, or with a weight's gradient as result.
bool is_product(OpKind kind);

/// Whether it is attention of some kind, in the forward or in the backward pass.
bool attends_forward(OpKind kind);
bool attends_backward(OpKind kind);

/// Whether it is an optimizer's kernel that writes weights.
bool is_update(OpKind kind);

std::string_view to_text(OpKind kind);
std::string_view to_text(Phase phase);
Result<OpKind> parse_op_kind(std::string_view text);
Result<Phase> parse_phase(std::string_view text);

}  // namespace plimsoll
