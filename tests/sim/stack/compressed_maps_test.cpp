#include <catch2/catch.hpp>

#include <map>
#include <string>

#include "formats/models/resolve_model.h"
#include "sim/stack/replay_log.h"
#include "sim/stack/stack_run.h"
#include "sim/stack/tape/map_encoding.h"

namespace plimsoll {
namespace {

constexpr MapCompression kLossless{.encoding = MapEncoding::kLossless};

Bytes waiting(const FeatureMap& map, const MapCompression& compression) {
  const auto encoded = encode_map(map, compression);
  return encoded ? encoded->bytes : Bytes(map.elements * size_of(map.dtype));
}

StackRun run(const std::string& model, std::int64_t batch, const MapCompression& compression, Precision precision = Precision::kFp32) {
  Recipe recipe;
  recipe.micro_batch = batch;
  recipe.precision = precision;
  StackSetup setup{.modules = ModuleStyle::kTorchVision, .dropout = 0.0};
  setup.compression = compression;
  auto made = run_stack(*resolve_model(model), recipe, setup, *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM"));
  REQUIRE(made);
  return std::move(*made);
}

/// Activations that are there when the last step's backward pass begins.
std::int64_t waiting_activations(const StackRun& run) {
  std::int64_t now = 0, before_backward = 0;
  Phase last = Phase::kForward;
  for (const StorageEvent& event : run.log->events()) {
    const Phase phase = run.places[event.place].phase;
    if (phase == Phase::kBackward && last != Phase::kBackward) before_backward = now;
    last = phase;
    if (event.holding != Holding::kActivations) continue;
    if (event.change == StorageChange::kBorn) now += event.bytes.count;
    if (event.change == StorageChange::kDied) now -= event.bytes.count;
  }
  return before_backward;
}

double waiting_of_an_image(const std::string& model, const MapCompression& compression) {
  return static_cast<double>(waiting_activations(run(model, 6, compression)) - waiting_activations(run(model, 2, compression))) / 4;
}

double arithmetic(const StackRun& run) {
  double flops = 0;
  for (const StackKernel& kernel : run.kernels) flops += kernel.flops;
  return flops;
}

}  // namespace

TEST_CASE("a map waits in the bytes that Gist's encodings have") {
  // 1024 numbers of fp32, half of them zero: 4 rows of 4 bytes, and 512 · (4 + 1).
  const FeatureMap map{.elements = 1024, .numbers_read = true, .zeros = 0.5};
  CHECK(waiting(map, kLossless) == Bytes(4 * 4 + 512 * 5));
  // In fp16 the sparse form, 16 + 512 · 3 = 1552, is smaller than the dense one, 2048; in fp8 1040 is not smaller than 1024.
  CHECK(waiting(map, {.encoding = MapEncoding::kFp16}) == Bytes(1552));
  CHECK(waiting(map, {.encoding = MapEncoding::kFp8}) == Bytes(1024));
  // Three numbers of 10 bits in four bytes: 1024 / 3 · 4 = 1365.3; sparse 16 + 512 · 7/3 = 1210.7.
  CHECK(waiting(map, {.encoding = MapEncoding::kFp10}) == Bytes(16 + 1195));
  CHECK(waiting({.elements = 1024, .numbers_read = true}, {.encoding = MapEncoding::kFp10}) == Bytes(1366));
  // Of a quarter of zeros 16 + 768 · 5 = 3856 are less than 4096; of a tenth there is nothing to win.
  CHECK(waiting({.elements = 1024, .numbers_read = true, .zeros = 0.25}, kLossless) == Bytes(3856));
  CHECK_FALSE(encode_map({.elements = 1024, .numbers_read = true, .zeros = 0.1}, kLossless));
  // Two bytes do not get fewer by rounding to two bytes.
  CHECK_FALSE(encode_map({.elements = 1024, .dtype = DType::kFp16, .numbers_read = true}, {.encoding = MapEncoding::kFp16}));
  // Signs are bits; where only the shape is asked for nothing waits.
  CHECK(waiting({.elements = 1025, .signs_read = true}, kLossless) == Bytes(129));
  CHECK(waiting({.elements = 1024}, kLossless) == Bytes(0));
  CHECK_FALSE(encode_map(map, {}));
}

TEST_CASE("the place of a maximum takes two bits of four cells and four of nine") {
  CHECK(bits_of_place(2) == 2);
  CHECK(bits_of_place(3) == 4);
  CHECK(zeros_of_maxima(0.8, 2) == Approx(0.4096));
}

TEST_CASE("VGG-16's maps wait in what their readers leave of them") {
  // In millions: ReLUs' outputs that convolutions read, 64·224² + 128·112² + 2·256·56² + 2·512·28² + 2·512·14² = 7.426048; those that
  // pools alone read, 64·224² + 128·112² + 256·56² + 512·28² + 512·14² = 6.121472; pools' outputs that convolutions read, 1.50528; all of
  // those, 1.530368. The image, 0.150528 of 4 bytes, stays. Linear layers read 25088 numbers of 4 bytes, two of 4096.
  const double zeros = 0.8, sparse = 0.2 * 5 + 4.0 / 256, after_pool = (1 - 0.4096) * 5 + 4.0 / 256;
  const double maps = 7.426048e6 * sparse + 6.121472e6 / 8 + 1.50528e6 * after_pool + 1.530368e6 / 4 + 0.150528e6 * 4 + 25088 * 4;
  const double ends = 2 * 4096 * 2.0;  // between 1 and 2 bytes of a linear layer's input, with a mask of dropout
  const double found = waiting_of_an_image("vgg16", {.encoding = MapEncoding::kLossless, .relu_zeros = zeros});
  CHECK(found > maps);
  CHECK(found < maps + 3 * ends);
  // As they are: 4 bytes of each, and 8 of each pool's places.
  const double plain = waiting_of_an_image("vgg16", {});
  CHECK(plain == Approx((7.426048e6 + 6.121472e6 + 1.50528e6 + 0.025088e6) * 4 + 1.530368e6 * 8 + 0.150528e6 * 4 + 25088 * 4).epsilon(5e-3));
}

TEST_CASE("checkpoints of a convolutional net are refused, not ignored") {
  const StackSetup setup{.modules = ModuleStyle::kTorchVision, .recomputation = Recomputation::kFull};
  const GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "T4");
  CHECK(run_stack(*resolve_model("resnet18"), {}, setup, gpu).error().where == "--recompute");
}

TEST_CASE("fewer bits never need more memory, and no encoding changes arithmetic or leaves anything behind") {
  for (const std::string model : {"vgg11", "resnet18", "resnet50", "densenet121"}) {
    for (const Precision precision : {Precision::kFp32, Precision::kFp16Mixed}) {
      INFO(model);
      const StackRun plain = run(model, 32, {}, precision);
      std::int64_t before = waiting_activations(plain);
      for (const MapEncoding encoding : {MapEncoding::kLossless, MapEncoding::kFp16, MapEncoding::kFp10, MapEncoding::kFp8}) {
        const StackRun encoded = run(model, 32, {.encoding = encoding}, precision);
        CHECK(waiting_activations(encoded) <= before);
        CHECK(replay_log(*encoded.log, {}).allocated < replay_log(*plain.log, {}).allocated);
        CHECK(arithmetic(encoded) == Approx(arithmetic(plain)));
        before = waiting_activations(encoded);
        std::map<std::uint32_t, int> there;
        for (const StorageEvent& event : encoded.log->events()) {
          if (event.change == StorageChange::kBorn) CHECK(++there[event.storage] == 1);
          if (event.change == StorageChange::kDied) CHECK(--there[event.storage] == 0);
        }
      }
      CHECK(before < waiting_activations(plain));
    }
  }
}

}  // namespace plimsoll
