#include "sim/stack/tensor_ranks.h"

#include <catch2/catch.hpp>
#include <string>

#include "formats/models/resolve_model.h"
#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/stack/modules/rank_tokens.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/replay_log.h"
#include "sim/stack/stack_run.h"
#include "sim/stack/trained_parameters.h"

namespace plimsoll {
namespace {

const std::string kModel = "llama:layers=4,hidden=512,heads=8,kv_heads=4,ffn=1536,vocab=16000,tied=false";

GpuEntry board() {
  GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM");
  gpu.multiprocessors = 0;  // a count of tensors has no buffers of sums over rows
  return gpu;
}

Recipe recipe(std::int64_t batch = 2) {
  return with_optimizer({.precision = Precision::kBf16, .micro_batch = batch, .sequence = 512}, OptimizerKind::kSgd);
}

StackSetup tensor(std::int64_t ranks, std::int64_t data_ranks = 1) {
  return {.modules = ModuleStyle::kTorchTune, .attention = AttentionKernel::kEfficient, .dropout = 0, .data_ranks = data_ranks,
          .zero = data_ranks > 1 ? 3 : 0, .tensor_ranks = ranks};
}

StackPrediction predict(const std::string& model, const Recipe& made, const StackSetup& setup) {
  const auto prediction = predict_stack(*resolve_model(model), made, setup, board());
  REQUIRE(prediction);
  return *prediction;
}

struct Exchanges {
  int gathers = 0;  ///< and scatters: one round
  int sums = 0;     ///< all-reduces: two
};

Exchanges exchanges_of(const StackSetup& setup) {
  const auto run = run_stack(*resolve_model(kModel), recipe(), setup, board());
  REQUIRE(run);
  Exchanges counted;
  for (const StackKernel& kernel : run->kernels) {
    if (kernel.sort != StackKernelSort::kCollective || kernel.among != Among::kTensor) continue;
    CHECK(kernel.blocking);
    CHECK(kernel.ranks == setup.tensor_ranks);
    ++(kernel.rounds == 1 ? counted.gathers : counted.sums);
  }
  return counted;
}

std::string refusal(const std::string& model, StackSetup setup, Recipe made = recipe()) {
  const auto prediction = predict_stack(*resolve_model(model), made, setup, board());
  REQUIRE_FALSE(prediction);
  return prediction.error().what;
}

}  // namespace

TEST_CASE("Tokens of all ranks come in one collective, and a copy in order where there are several sequences") {
  Tape tape({.product_workspace = Bytes(0), .bias_workspace = Bytes(0)});
  const Tensor own = tape.empty({2, 128, 16}, DType::kBf16);
  CHECK(all_tokens(tape, own, 4).shape == Shape{2, 512, 16});
  // 2 · 512 · 16 numbers of two bytes, of which three quarters come from others; the copy reads and writes all.
  REQUIRE(tape.kernels().size() == 2);
  CHECK(tape.kernels()[0].bytes == 0.75 * 32768);
  CHECK(tape.kernels()[1].bytes == 2.0 * 32768);
  all_tokens(tape, tape.empty({1, 128, 16}, DType::kBf16), 4);
  CHECK(tape.kernels().size() == 3);
  CHECK(all_tokens(tape, own, 1).storage == own.storage);
}

TEST_CASE("Sums of what ranks have are copied into order before they go, and each keeps its tokens") {
  Tape tape({.product_workspace = Bytes(0), .bias_workspace = Bytes(0)});
  CHECK(own_tokens(tape, tape.empty({2, 512, 16}, DType::kBf16), 4).shape == Shape{2, 128, 16});
  REQUIRE(tape.kernels().size() == 2);
  CHECK(tape.kernels()[0].sort == StackKernelSort::kStream);
  CHECK(tape.kernels()[1].bytes == 0.75 * 32768);
}

TEST_CASE("What multiplies in 8 bits is gathered in 8 bits, and its gradient summed in two bytes") {
  Tape tape({.product_workspace = Bytes(0), .bias_workspace = Bytes(0)});
  Tensor own = tape.empty({2, 128, 16}, DType::kBf16);
  own.maker = std::make_shared<Node>();
  const Tensor all = all_tokens(tape, own, 4, true);
  CHECK(all.dtype == kMaskType);
  const auto bytes_sent = [&] {
    double bytes = 0;
    for (const StackKernel& kernel : tape.kernels()) bytes += kernel.sort == StackKernelSort::kCollective ? kernel.bytes : 0;
    tape.forget_kernels();
    return bytes;
  };
  CHECK(bytes_sent() == 0.75 * 16384);
  tape.backward(all, tape.empty(all.shape, DType::kBf16));
  CHECK(bytes_sent() == 0.75 * 32768);
}

TEST_CASE("A tensor rank has its part of matrices and words, and norms whole") {
  // Of 4 blocks 4 · 512 · 512 · 3/4 (queries, keys and values of 4 heads for 8, projection) and 3 · 512 · 1536, of two tables 16000 · 512.
  const std::int64_t block = 786432 + 2359296, tables = 2 * 8192000, norms = 9 * 512;
  for (const std::int64_t ranks : {1, 2, 4}) {
    CHECK(trained_parameters(*resolve_model(kModel), recipe(), tensor(ranks), board()) == (4 * block + tables) / ranks + norms);
  }
}

TEST_CASE("Every block gathers twice and sums twice, both ways; embedding, head and loss add theirs") {
  const Exchanges plain = exchanges_of(tensor(4));
  CHECK(plain.gathers == 4 * 8 + 4);
  CHECK(plain.sums == 3);  // a maximum, a sum and a target's logit of every row
  // A checkpoint's second run gathers twice and sums once: it ends before the last product, whose sum nobody asks for.
  StackSetup again = tensor(4);
  again.recomputation = Recomputation::kFull;
  CHECK(exchanges_of(again).gathers == 4 * 11 + 4);
  again.compile = true;
  CHECK(exchanges_of(again).gathers == 4 * 11 + 4);
  again.compile = false;
  // Selective checkpoints keep sums (torchtitan's list), and gather again.
  again.recomputation = Recomputation::kSelective;
  CHECK(exchanges_of(again).gathers == 4 * 10 + 4);
}

TEST_CASE("A compiled loss of divided words holds ten bytes a logit forward and six backward") {
  Tape tape({.product_workspace = Bytes(0), .bias_workspace = Bytes(0)});
  Parameter& words = tape.parameter("logits", {1, 128, 1000}, DType::kBf16);
  const auto most = [&] {  // the weight's gradient, another 2 bytes, is what backward makes
    return static_cast<double>(replay_log(tape.log(), {}).requested.count) / 128000;
  };
  const Tensor loss = compiled_divided_cross_entropy(tape, words.use(), 4);
  CHECK(most() == Approx(2 + 4 + 4).epsilon(0.005));
  tape.backward(loss, tape.empty({1}, DType::kFp32));
  CHECK(most() == Approx(10).epsilon(0.005));
  CHECK(static_cast<double>(words.gradient.bytes().count) == 2 * 128000);
}

TEST_CASE("Tensor ranks share a step's arithmetic") {
  const double whole = predict(kModel, recipe(), tensor(1)).time.model_flops;
  CHECK(predict(kModel, recipe(), tensor(4)).time.model_flops == Approx(whole / 4).epsilon(1e-9));
}

TEST_CASE("Data ranks beside tensor ranks share out each one's part") {
  // fp32 shards and both moments: of (4 blocks and two tables) / 2 and norms, over 8 ranks.
  Recipe made = with_optimizer(recipe(), OptimizerKind::kAdamW);
  made.precision = Precision::kBf16Mixed;
  const auto part = static_cast<double>((4 * 3145728 + 16384000) / 2 + 9 * 512);
  CHECK(static_cast<double>(predict(kModel, made, tensor(2, 8)).at_peak.optimizer.count) == Approx(8 * part / 8).epsilon(0.01));
}

TEST_CASE("A tensor rank's bytes are those that PyTorch's own tensor parallelism takes") {
  constexpr Bytes kLargestFile{std::int64_t{1} << 20};
  // cuBLAS's workspaces of two threads, which a count of tensors does not see.
  constexpr std::int64_t kWorkspaces = 2 * 8519680;
  const std::string path = PLIMSOLL_TENSOR_RANK_BYTES;
  const auto table = read_csv(*read_text_file(path, kLargestFile), path);
  REQUIRE(table);
  std::int64_t saved_before = 0, told_before = 0;
  for (const CsvRow& fields : table->rows) {
    CsvFields row(*table, fields);
    const std::string layers = row.text("layers"), words = row.text("words"), way = row.text("way");
    const std::string model = "llama:layers=" + layers + ",hidden=512,heads=8,kv_heads=4,ffn=1536,vocab=" + words + ",tied=false";
    StackSetup setup = tensor(static_cast<std::int64_t>(row.number("tensor_ranks")));
    setup.compile = way == "compiled";
    if (way == "full") setup.recomputation = Recomputation::kFull;
    const Recipe made = recipe(static_cast<std::int64_t>(row.number("batch")));
    const std::int64_t told = predict(model, made, setup).peak.requested.count - kWorkspaces;
    INFO(setup.tensor_ranks << " ranks, " << layers << " blocks, " << words << " words, batch " << row.text("batch") << ", " << way);
    if (!setup.compile) CHECK(static_cast<double>(told) == Approx(row.number("peak")).epsilon(0.001));
    if (way == "full") continue;
    // What two more blocks save beside their weights: to the byte, but for the two states of random numbers that attention has on a GPU.
    const std::int64_t saved = static_cast<std::int64_t>(row.number("saved"));
    const std::int64_t beside = told - 2 * trained_parameters(*resolve_model(model), made, setup, board());
    if (layers == "4") CHECK(beside - told_before == saved - saved_before + 2 * 16);
    saved_before = saved;
    told_before = beside;
  }
}

TEST_CASE("What tensor ranks cannot share is refused by name") {
  using Catch::Contains;
  CHECK_THAT(refusal(kModel, tensor(3)), Contains("8 heads"));
  CHECK_THAT(refusal(kModel, tensor(8)), Contains("4 heads of keys"));
  CHECK_THAT(refusal("gpt2", tensor(2)), Contains("rotary"));
  CHECK_THAT(refusal("mixtral-8x7b", tensor(2)), Contains("experts"));
  CHECK_THAT(refusal("t5-small", tensor(2)), Contains("decoder"));
  const auto changed = [](const std::function<void(StackSetup&)>& change) {
    StackSetup setup = tensor(2, 4);
    change(setup);
    return refusal(kModel, setup);
  };
  CHECK_THAT(changed([](StackSetup& s) { s.zero = 2; }), Contains("ZeRO-3"));
  CHECK_THAT(changed([](StackSetup& s) { s.stages = 2; }), Contains("pipeline"));
  CHECK_THAT(changed([](StackSetup& s) { s.context_ranks = 2; }), Contains("sequence"));
  CHECK_THAT(changed([](StackSetup& s) { s.parameters = s.optimizer = Home::kHost; }), Contains("elsewhere"));
  CHECK_THAT(changed([](StackSetup& s) { s.loss_chunks = 4; }), Contains("one piece"));
  CHECK_THAT(changed([](StackSetup& s) { s.modules = ModuleStyle::kHuggingFace; }), Contains("torchtune modules"));
  Recipe odd = recipe();
  odd.sequence = 511;
  CHECK_THAT(refusal(kModel, tensor(2), odd), Contains("511 tokens"));
  Recipe adapted = recipe();
  adapted.adapter = {.rank = 8, .alpha = 16, .targets = {AdapterTarget::kQuery}};
  CHECK_THAT(refusal(kModel, tensor(2), adapted), Contains("adapters"));
}

}  // namespace plimsoll
