#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/plan/strategy.h"
#include "core/platform/operating_system.h"
#include "sim/stack/adapter_setup.h"
#include "sim/stack/fp8_setup.h"
#include "sim/stack/optimizer_form.h"
#include "sim/stack/preference_setup.h"
#include "sim/stack/sequence_lengths.h"
#include "sim/stack/tape/map_encoding.h"

namespace plimsoll {

/// The program that trains. All but plimsoll allocate while a step runs; they are simulated, not executed.
enum class Stack : std::uint8_t { kPlimsoll, kPytorch, kDeepspeed, kColossalai, kMegatron, kLlmc };

/// Whose code writes the layers: it decides what autograd saves and how many kernels there are.
enum class ModuleStyle : std::uint8_t {
  kHuggingFace,  ///< transformers' modules, one elementwise kernel after another
  kNanoGpt,      ///< PyTorch's fused LayerNorm, GELU and attention
  kMosaic,       ///< llm-foundry's MPT: no biases, LayerNorm in the compute type, no dropout
  kLitGpt,       ///< RMSNorm in fp32, weights multiplied in fp32
  kTorchTune,    ///< torch's own RMSNorm, SDPA with grouped queries expanded; torchtitan's too
  kMegatron,     ///< fused bias-GELU, masked softmax, linear layers that add gradients into fp32 buffers
  kTorchVision,  ///< convolutions
  kTimm,         ///< vision transformers
  kUnsloth,      ///< transformers' models in Unsloth's kernels: adapters beside a frozen base in functions of its own
};

enum class AttentionKernel : std::uint8_t {
  kEager,
  kEfficient,
  kFlash,
  kCudnn,  ///< PyTorch's fused attention by cuDNN; keeps what FlashAttention keeps
};

/// Activation checkpointing.
enum class Recomputation : std::uint8_t { kNone, kSelective, kFull, kEvery };

/// How an optimizer walks over its tensors: it decides the temporaries of a step.
enum class OptimizerLoop : std::uint8_t { kForeach, kFused, kForLoop };

/// Whose chunks Colossal-AI's stack moves.
enum class ChunkManager : std::uint8_t {
  kGemini,
  kPatrickStar,  ///< its forerunner: one copy of a chunk, moved both ways while kernels wait, and written back in fp32
};

/// Where one kind of data waits.
enum class Home : std::uint8_t { kDevice, kHost, kDrive };

/// How a model is trained by a program that is not ours: everything beside model and recipe that decides memory or time.
struct StackSetup {
  Stack stack = Stack::kPytorch;
  ModuleStyle modules = ModuleStyle::kHuggingFace;
  bool compile = false;
  Fp8Setup fp8;
  std::optional<AttentionKernel> attention;  ///< nothing: the fastest that GPU, type and modules have
  Recomputation recomputation = Recomputation::kNone;
  std::int64_t every = 1;  ///< blocks that one checkpoint stands for (kEvery)
  OptimizerLoop loop = OptimizerLoop::kForeach;
  OptimizerForm optimizer_form;   ///< of states that are projected, narrow or paged
  std::optional<double> dropout;  ///< nothing: the family's default
  double adapter_dropout = 0;     ///< of what adapters read
  AdapterSetup adapter;           ///< what adapters are, beside their rank and targets
  /// PEFT's prepare_model_for_kbit_training: beside a base of 4 or 8 bits everything that is not encoded (embedding, norms, biases,
  /// head) is in fp32, and so is the stream between blocks. Nothing: where PEFT's users have it (see prepares_kbit).
  std::optional<bool> kbit_preparation;
  bool wide_base = false;         ///< beside adapters a model that is not encoded is kept in fp32, under autocast: as it is loaded where nobody says a type
  bool plain_scales = false;      ///< the scales of a 4-bit base are fp32 numbers (bitsandbytes without double quantization)
  bool older_bitsandbytes = false; ///< 4-bit layers keep what they read, which nothing asks for (until July 2024: pull request 1270); 8-bit ones
                                   ///< still do
  bool narrow_adapters = false;   ///< adapters are of the type that the frozen model is kept in, not fp32: PEFT before 0.12, and
                                  ///< autocast_adapter_dtype=False since
  double document_tokens = 0;     ///< of packed documents, with each of which attention ends: as length_around_a_token has it; 0: nothing is packed
  double mean_document = 0;       ///< tokens of such a document on average
  SequenceLengths lengths;        ///< where sequences are not all as long as the recipe says, which then is the longest
  bool rotary_tables = false;     ///< every layer keeps cosines and sines of all the model's positions (transformers' Mistral and
                                  ///< Mixtral of early 2024)
  std::int64_t data_ranks = 1;    ///< GPUs that share the batch
  int zero = 0;                   ///< 1 optimizer states, 2 and gradients, 3 and parameters are shared out over the ranks (FSDP)
  std::int64_t tensor_ranks = 1;
  std::int64_t stages = 1;        ///< of a pipeline
  std::int64_t chunks = 1;        ///< of layers that a stage interleaves
  std::optional<std::int64_t> stage;  ///< the one that is told; nothing: which needs most
  std::int64_t context_ranks = 1; ///< that share a sequence
  std::int64_t expert_ranks = 1;  ///< of a stage, that share the experts of a block (megatron)
  std::optional<std::int64_t> expert_tensor_ranks;  ///< that share each expert; nothing: as many as share the other layers
  bool gathers_tokens = false;  ///< all tokens come to each of these ranks (allgather), and are not sent to their experts (alltoall)
  bool wide_gates = false;      ///< routers compute in fp32 (moe-router-dtype)
  bool adds_in_order = false;   ///< rows of experts are added to their tokens by index_add, which keeps them (deterministic-mode)
  std::int64_t optimizer_instances = 1;  ///< of Megatron's distributed optimizer: each shares states out over its part of the data ranks
  std::optional<std::int64_t> nodes;  ///< that all these GPUs are on; nothing: what nodes usually have
  std::string network;                ///< between nodes, as place_on_nodes reads it; empty: what such nodes are sold with
  std::string peers;                  ///< between GPUs of a node, likewise; empty: NVLink between modules, PCIe between boards
  bool reduces_in_half = false;       ///< Megatron's gradient buffers are summed, and sent, in the weights' two bytes
  bool sequence_parallel = false;
  Home parameters = Home::kDevice;
  Home gradients = Home::kDevice;
  Home optimizer = Home::kDevice;
  Home activations = Home::kDevice;
  MapCompression compression;     ///< of convolutional nets' feature maps
  bool channels_last = false;     ///< such maps are stored pixel by pixel (torch.channels_last), not plane by plane
  double selected_share = 0;      ///< ZenFlow: of the gradients' columns, those that the GPU updates in every step; 0: no ZenFlow
  std::int64_t update_every = 4;  ///< ZenFlow: steps after which host memory updates the others
  bool delayed_update = false;  ///< ZeRO-Offload: host memory updates with the gradients of the step before, beside the
                                ///< kernels of this one
  std::int64_t reduce_bucket = 500'000'000;  ///< elements that DeepSpeed reduces at once
  bool overlaps_communication = true;        ///< DeepSpeed's overlap_comm: a second bucket fills while one is sent; of
                                             ///< Megatron, tensor ranks send beside a backward pass's products
  bool deterministic = false;       ///< CUBLAS_WORKSPACE_CONFIG=:4096:8
  bool fused_rotation = true;       ///< Megatron-LM's rotary positions in one kernel (--no-rope-fusion: product by product)
  bool transformer_engine = true;   ///< Megatron-LM's layers are Transformer Engine's; otherwise its own
  /// Whether the forward pass of what lies in two bytes (what FSDP gathers, or all of it) is an autocast region: norms, powers and softmax
  /// in fp32. Nothing: as the modules' usual loops (see autocasts).
  std::optional<bool> autocasts;
  /// FSDP: whether micro-batches that are not a step's last leave their gradients as they are, whole on every rank (no_sync). Nothing: as
  /// the modules' usual loops (see keeps_whole_gradients).
  std::optional<bool> whole_gradients;
  /// FSDP2: whether gradients are kept between micro-batches and reduced in fp32 (MixedPrecisionPolicy.reduce_dtype), else in the type of what
  /// is gathered. Nothing: where that is not the type of the shards.
  std::optional<bool> reduces_in_single;
  /// Whether experts multiply in one kernel over tokens sorted by expert (torch._grouped_mm: torchtitan; transformers 5; Transformer Engine).
  /// Nothing: of torchtune and Megatron's modules alone.
  std::optional<bool> grouped_experts;
  bool written_gelu = false;    ///< GELU as powers, sums and products one after another: minGPT, nanoGPT until 2023
  bool half_weights = false;    ///< apex O2 with PyTorch alone: modules in two bytes without autocast, flat fp32 copies in the optimizer
  bool legacy_kernels = false;  ///< PyTorch 1.7 or older: one element a thread and access, the first cuBLAS of an architecture
  bool older_cublas = false;    ///< before cuBLAS 11, which first took matrix units for products of any size
  bool older_inductor = false;  ///< torch.compile before PyTorch 2.1, which first copied operands of products into longer rows
  bool older_softmax = false;   ///< PyTorch 1.10 or older: a softmax keeps its input too (so does one of legacy kernels)
  bool older_sdpa = false;      ///< PyTorch before 2.11, whose fused attention on Hopper is FlashAttention 2 (see takes_cudnn)
  bool flash3 = false;          ///< fused attention is FlashAttention 3, written for Hopper
  bool compile_loss = false;    ///< torch.compile makes one kernel of the loss, forward and backward
  bool expandable_segments = false;
  bool separate_ends = false;        ///< FSDP2: the embedding, and the last norm with the head, are units of their own
  bool recomputes_attention = false; ///< selective checkpoints keep no result of attention: cuDNN's was on no list
  /// A checkpoint's second run ends with the last tensor that backward asks for, before the product that makes a block's result: what
  /// PyTorch's checkpoints without reentrant autograd do since 2.1. Nothing: where modules checkpoint so (see stops_early).
  std::optional<bool> recomputation_stops_early;
  std::int64_t predicted_positions = 0;  ///< of a sequence, the masked ones, which alone meet BERT's head; 0: all
  bool liger = false;           ///< Liger's kernels stand in transformers' modules: norms, rotation, gated products, the head with its loss
  bool fused_head = false;      ///< head and loss at once, logits tile by tile, as TRL patches transformers' models (1.16: its trainers' way)
  PreferenceSetup preference;   ///< what the model learns from, where it is not texts
  bool tiled_mlp = false;       ///< feed-forward layers run tile by tile, each checkpointed (ALST)
  std::int64_t loss_chunks = 1;  ///< parts of the batch whose logits meet the loss one after another
  bool half_logits = false;     ///< the loss meets logits as products make them: a loop that computes it itself, not transformers' forward
  std::optional<bool> holds_logits;  ///< whether the training loop has the logits during backward; nothing: as the modules' own examples do
  bool holds_scores = false;    ///< attention that is written out keeps the masked scores beside their softmax until it returns
  bool update_in_backward = false;  ///< every parameter is updated as soon as its gradient is there, which then goes
  bool keeps_gradients = false;  ///< zero_grad writes zeros and lets nothing go (PyTorch's default before 2.0)
  bool eager_modules = false;    ///< the driver loads every kernel at the start (CUDA before 11.7, or CUDA_MODULE_LOADING=EAGER)
  OperatingSystem os = OperatingSystem::kLinux;
  double dram_gbs = 0;         ///< reached by host memory; 0: what is assumed beside such a board
  double drive_read_gbs = 0;   ///< of all drives together; 0: of one assumed drive
  double drive_write_gbs = 0;
  std::int64_t drives = 1;           ///< that share the work
  double drive_uplink_gbs = 0;       ///< that all drives share; 0: nothing but their own rates
  std::int64_t host_cores = 0;       ///< 0: what is assumed beside such a board
  bool automatic_placement = false;  ///< Gemini's `auto`: what the warm-up leaves of the GPU holds parameters, then states
  ChunkManager manager = ChunkManager::kGemini;
  Bytes chunk_room;            ///< bytes of the GPU that Gemini fills so although their home is the host
  Bytes warm_up_room;          ///< bytes of the GPU that hold chunks in PatrickStar's warm-up
  std::string strategy = "auto";       ///< of plimsoll's own plans, which no other stack knows
  std::optional<Strategy> plan;        ///< of them: in all that it decides
  std::optional<Bytes> host_memory;    ///< that there is for one rank; nothing: not judged
  std::optional<Bytes> device_memory;  ///< cap on what may be used of the GPU's memory
  bool desktop = false;                ///< the GPU drives a desktop too

  bool operator==(const StackSetup&) const = default;
};

/// All GPUs of the training.
std::int64_t gpus_of(const StackSetup& setup);

/// Whether layers are cut over tensor ranks and stages: by Megatron-LM, or by its modules under DeepSpeed.
bool cuts_layers(const StackSetup& setup);

/// Whether PyTorch's FSDP shares gradients (ZeRO-2), or weights as well (3), out over the ranks.
bool is_fsdp(const StackSetup& setup);

/// Whether what lies in two bytes runs in an autocast region: as the setup says; else what FSDP gathers for loops that accelerate, Fabric
/// or nanoGPT wrap, where a precision is mixed, and nothing else.
bool autocasts(const StackSetup& setup, Precision precision);

/// Whether only the last of a step's micro-batches reduces what FSDP shares out: as the setup says; else in the loops of accelerate
/// (transformers' and TRL's trainers) and Fabric (LitGPT). Those of torchtune, torchtitan and Composer reduce in every one.
bool keeps_whole_gradients(const StackSetup& setup);

/// Whether a checkpoint's second run leaves out what backward does not ask for: as the setup says, else where the modules' own
/// trainers take FSDP's checkpoint wrapper, which is not reentrant. A compiled block runs whole, unless it is compiled with its checkpoint
/// (torchtitan's, where tensor ranks share layers); transformers' checkpoints are reentrant.
bool stops_early(const StackSetup& setup);

/// Whether a base of 4 or 8 bits is prepared: as the setup says, else wherever PyTorch trains transformers' modules and every GPU
/// holds them whole. FSDP wants one type in a unit (TRL leaves the preparation out there), DeepSpeed makes everything 16 bits again.
bool prepares_kbit(const StackSetup& setup);

std::string_view to_text(Stack stack);
std::string_view to_text(ModuleStyle style);
std::string_view to_text(AttentionKernel attention);
std::string_view to_text(Recomputation recomputation);
std::string_view to_text(OptimizerLoop loop);
std::string_view to_text(Home home);
std::string_view to_text(MapEncoding encoding);
Result<Stack> parse_stack(std::string_view text);
Result<ModuleStyle> parse_module_style(std::string_view text);
Result<AttentionKernel> parse_attention_kernel(std::string_view text);
Result<OptimizerLoop> parse_optimizer_loop(std::string_view text);
Result<MapEncoding> parse_map_encoding(std::string_view text);

/// "pytorch, huggingface modules, flash attention, full recomputation": for people.
std::string describe(const StackSetup& setup);

}  // namespace plimsoll
