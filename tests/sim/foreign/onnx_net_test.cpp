#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <memory>

#include "formats/models/onnx_file.h"
#include "sim/stack/nets/net_zoo.h"
#include "sim/stack/nets/onnx_net.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

std::shared_ptr<const OnnxGraph> graph_of(const WireWriter& file) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("a.onnx"), std::ios::binary) << file.bytes;
  auto graph = read_onnx(folder.file("a.onnx"));
  REQUIRE(graph);
  return std::make_shared<const OnnxGraph>(std::move(*graph));
}

std::size_t attentions(const StackModelMaker& make) {
  Tape tape;
  const auto model = make(tape, DType::kFp32);
  tape.without_grad([&] { model->loss(std::nullopt); });
  const auto& kernels = tape.kernels();
  return static_cast<std::size_t>(
      std::count_if(kernels.begin(), kernels.end(), [](const StackKernel& k) { return k.sort == StackKernelSort::kAttention; }));
}

}  // namespace

TEST_CASE("an ONNX graph has the weights and the arithmetic of its layers") {
  // 16 · 8 + 16 + 4 · 16 + 4 = 212 weights; 2 · (8 · 16 + 16 · 4) = 384 multiply-adds of a batch of 2.
  const auto make = onnx_maker(graph_of(small_mlp()), {});
  REQUIRE(make);
  CHECK(model_parameters(*make) == 212);
  CHECK(model_multiply_adds(*make) == 384);
  const auto larger = onnx_maker(graph_of(small_mlp()), {.batch = 6});
  REQUIRE(larger);
  CHECK(model_multiply_adds(*larger) == 1152);
}

TEST_CASE("a training step of an ONNX graph makes a gradient of every weight") {
  const auto make = onnx_maker(graph_of(small_mlp()), {});
  REQUIRE(make);
  Tape tape;
  const auto model = (*make)(tape, DType::kFp32);
  const StackModel::Loss loss = model->loss(std::nullopt);
  tape.backward(loss.loss, tape.empty(loss.loss.shape, DType::kFp32));
  for (const Parameter& parameter : tape.parameters()) {
    INFO(parameter.name);
    CHECK(parameter.gradient.elements() == parameter.value.elements());
  }
}

TEST_CASE("attention that an exporter spelled out is found again; its arithmetic is the same either way") {
  // q kᵀ and p v: 2 heads · 4 · 4 · 4 multiply-adds each, 256 together.
  const auto fused = onnx_maker(graph_of(small_attention()), {.flash = true});
  const auto eager = onnx_maker(graph_of(small_attention()), {.flash = false});
  REQUIRE(fused);
  REQUIRE(eager);
  CHECK(attentions(*fused) == 1);
  CHECK(attentions(*eager) == 0);
  CHECK(model_multiply_adds(*fused) == 256);
  CHECK(model_multiply_adds(*eager) == 256);
}

TEST_CASE("an operator that is not known is refused by name, and shapes that do not go together by node") {
  const auto unknown = onnx_maker(graph_of(small_mlp("Loop")), {});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().what.find("Loop (1 x)") != std::string::npos);
  WireWriter graph;
  graph.message(1, onnx_node("Gemm", {"x", "w"}, {"y"}, {onnx_whole("transB", 1)})).message(5, onnx_weight("w", {4, 9}));
  const auto crooked = onnx_maker(graph_of(onnx_model(graph.message(11, onnx_value("x", {2, 8})).message(12, onnx_value("y", {2, 4})))), {});
  REQUIRE_FALSE(crooked);
  CHECK(crooked.error().what.find("'node y' (Gemm)") != std::string::npos);
}

}  // namespace plimsoll::test
