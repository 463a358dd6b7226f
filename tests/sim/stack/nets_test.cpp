#include <catch2/catch.hpp>

#include "sim/stack/modules/stack_model.h"
#include "sim/stack/nets/net_zoo.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/tape/tape.h"

using namespace plimsoll;

namespace {

GpuEntry gpu() { return *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4"); }

Recipe recipe() {
  Recipe made;
  made.precision = Precision::kBf16Mixed;
  return made;
}

Bytes peak(const NetSpec& net, std::int64_t batch, bool recompute) {
  return predict_model(net_maker(net, batch, true, recompute), recipe(), {}, gpu())->peak.allocated;
}

}  // namespace

TEST_CASE("a net is found by its name and by what its checkpoint is called, in any case") {
  CHECK(find_net("runwayml/stable-diffusion-v1-5")->name == "sd1.5-unet");
  CHECK(find_net("DiT-XL/2")->name == "dit-xl/2");
  CHECK_FALSE(find_net("stable-diffusion-xl"));  // another net
}

TEST_CASE("the U-net of Stable Diffusion 1.5 has the parameters of its checkpoint and the arithmetic that papers print") {
  const NetSpec net = *find_net("sd1.5-unet");
  CHECK(net_parameters(net) == 859520964);
  // 338.7 G multiply-adds at 64 x 64 (Kim et al. 2023, BK-SDM, table 1, of version 1.4, the same net), which leave out
  // attention's own products: 2 tokens · keys · width in five blocks of 4096, 1024 and 256 tokens and one of 64, with as many
  // keys and with 77.
  const double own =
      5 * 2 * (4096.0 * (4096 + 77) * 320 + 1024.0 * (1024 + 77) * 640 + 256.0 * (256 + 77) * 1280) + 2 * 64.0 * (64 + 77) * 1280;
  CHECK((net_multiply_adds(net) - own) / 1e9 == Approx(338.7).epsilon(0.005));
}

TEST_CASE("diffusion transformers have their published parameters and arithmetic") {
  // Peebles & Xie 2023, table 4 (Gflops are multiply-adds at 256 x 256): S/2 33 M and 6.06, B/2 130 M and 23.01, L/2 458 M and
  // 80.71, XL/2 675 M and 118.64.
  CHECK(net_parameters(*find_net("dit-xl/2")) == 675129632);
  const std::pair<const char*, double> rows[] = {{"dit-s/2", 6.06}, {"dit-b/2", 23.01}, {"dit-l/2", 80.71}, {"dit-xl/2", 118.64}};
  for (const auto& [name, published] : rows) {
    INFO(name);
    CHECK(net_multiply_adds(*find_net(name)) / 1e9 == Approx(published).epsilon(0.005));
  }
}

TEST_CASE("an Evoformer block has the parameters of its algorithm, and 48 of them nearly all of AlphaFold's 93 million") {
  // Row attention 329984 (with its bias' norm), column attention 328704, transition 526080, outer product 148160, triangle
  // products 2 · 99584, triangle attentions 2 · 82944, pair transition 131968: the sums of norms, matrices and biases by hand.
  CHECK(net_parameters({"one", EvoformerShape{.blocks = 1}}) ==
        329984 + 328704 + 526080 + 148160 + 2 * 99584 + 2 * 82944 + 131968);
  CHECK(net_parameters(*find_net("evoformer")) == 48 * 1829952);
}

TEST_CASE("an Evoformer's triangle attention grows with the cube of the residues, and checkpoints keep two streams a block") {
  const auto shape = [](std::int64_t blocks, std::int64_t residues) {
    return NetSpec{"own", EvoformerShape{.blocks = blocks, .sequences = 16, .residues = residues}};
  };
  // Scores and shares of four heads: residues³ each; everything else grows with the square.
  const double small = static_cast<double>(peak(shape(2, 128), 1, false).count),
               large = static_cast<double>(peak(shape(2, 512), 1, false).count);
  CHECK(large / small > 20);
  CHECK(large / small < 64);
  // A block more: 16·128·256 + 128²·128 numbers in fp32 (the streams under autocast), and its weights, gradients and states.
  const Bytes two = peak(shape(2, 128), 1, true), three = peak(shape(3, 128), 1, true);
  const std::int64_t streams = 4 * (16 * 128 * 256 + 128 * 128 * 128);
  CHECK((three - two).count >= streams);
  CHECK((three - two).count <= streams + 1829952 * 18);
}

TEST_CASE("chunks of rows bound what attention holds, and change no parameter and next to no arithmetic") {
  const NetSpec whole{"whole", EvoformerShape{.blocks = 1, .sequences = 32, .residues = 256}};
  const NetSpec chunked{"chunked", EvoformerShape{.blocks = 1, .sequences = 32, .residues = 256, .chunk = 16}};
  CHECK(net_parameters(whole) == net_parameters(chunked));
  CHECK(net_multiply_adds(chunked) == net_multiply_adds(whole));
}

TEST_CASE("devices that share an alignment share its arithmetic evenly, and send what FastFold's axes ask for") {
  const EvoformerShape shape{.blocks = 1, .sequences = 32, .residues = 64};
  EvoformerShape half = shape;
  half.ranks = 2;
  CHECK(net_parameters({"half", half}) == net_parameters({"whole", shape}));
  CHECK(net_multiply_adds({"half", half}) == net_multiply_adds({"whole", shape}));
  CHECK(2 * model_multiply_adds(net_maker({"half", half}, 1, false, false)) == net_multiply_adds({"whole", shape}));
  Tape tape;
  const auto model = net_maker({"half", half}, 1, false, false)(tape, DType::kFp32);
  tape.without_grad([&] { model->loss(std::nullopt); });
  double sent = 0;
  for (const StackKernel& kernel : tape.kernels()) sent += kernel.sort == StackKernelSort::kCollective ? kernel.bytes : 0;
  // Half of what is gathered: biases of 8, 4 and 4 heads, outer factors of 32, right sides of 128 twice; half of what a
  // device has of the alignment, twice, and of the pairs, three times, changes hands.
  const double gathered = (8 + 4 + 4) * 64 * 64 + 32 * 64 * 32 + 2 * 128 * 64 * 64;
  const double exchanged = 2 * 16 * 64 * 256 + 3 * 32 * 64 * 128;
  CHECK(sent == 4 * (gathered + exchanged) / 2);
}

TEST_CASE("training a U-net takes 16 bytes a parameter and what its planes take, which grows with the batch") {
  const NetSpec net = *find_net("sd1.5-unet");
  CHECK(peak(net, 1, false).count > 16LL * 859520964);
  // Where the planes and not the optimizer's step make the peak, as many samples more take as much more.
  const Bytes few = peak(net, 16, false), more = peak(net, 32, false), most = peak(net, 48, false);
  CHECK(more > few);
  CHECK(static_cast<double>((most - more).count) == Approx(static_cast<double>((more - few).count)).epsilon(0.05));
}
