#pragma once

#include <string>
#include <vector>

#include "tests/support/wire_writer.h"

namespace plimsoll::test {

constexpr std::uint64_t kOnnxFloat = 1;
constexpr std::uint64_t kOnnxInt64 = 7;

inline WireWriter onnx_whole(const std::string& name, std::uint64_t value) { return WireWriter().text(1, name).number(3, value).number(20, 2); }
inline WireWriter onnx_wholes(const std::string& name, const std::vector<std::uint64_t>& values) {
  WireWriter attribute = WireWriter().text(1, name).number(20, 7);
  for (const std::uint64_t value : values) attribute.number(8, value);
  return attribute;
}

inline WireWriter onnx_node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                            const std::vector<WireWriter>& attributes = {}) {
  WireWriter node;
  for (const std::string& name : inputs) node.text(1, name);
  for (const std::string& name : outputs) node.text(2, name);
  node.text(3, "node " + outputs.front()).text(4, op);
  for (const WireWriter& attribute : attributes) node.message(5, attribute);
  return node;
}

/// A constant whose numbers lie in another file.
inline WireWriter onnx_weight(const std::string& name, const std::vector<std::uint64_t>& dims) {
  WireWriter constant;
  for (const std::uint64_t dim : dims) constant.number(1, dim);
  return constant.number(2, kOnnxFloat).text(8, name).number(14, 1);
}

inline WireWriter onnx_value(const std::string& name, const std::vector<std::uint64_t>& dims, std::uint64_t type = kOnnxFloat) {
  WireWriter shape;
  for (const std::uint64_t dim : dims) shape.message(1, WireWriter().number(1, dim));
  return WireWriter().text(1, name).message(2, WireWriter().message(1, WireWriter().number(1, type).message(2, shape)));
}

inline WireWriter onnx_model(const WireWriter& graph) {
  return WireWriter().number(1, 10).text(2, "hand").text(3, "1").message(8, WireWriter().number(2, 20)).message(7, graph);
}

/// Two linear layers, 8 → 16 → 4, of a batch of 2.
inline WireWriter small_mlp(const std::string& between = "Relu") {
  WireWriter graph;
  graph.message(1, onnx_node("Gemm", {"x", "w1", "b1"}, {"h"}, {onnx_whole("transB", 1)}))
      .message(1, onnx_node(between, {"h"}, {"r"}))
      .message(1, onnx_node("Gemm", {"r", "w2", "b2"}, {"y"}, {onnx_whole("transB", 1)}))
      .message(5, onnx_weight("w1", {16, 8}))
      .message(5, onnx_weight("b1", {16}))
      .message(5, onnx_weight("w2", {4, 16}))
      .message(5, onnx_weight("b2", {4}))
      .message(11, onnx_value("x", {2, 8}))
      .message(12, onnx_value("y", {2, 4}));
  return onnx_model(graph);
}

/// softmax(q kᵀ · scale) v, spelled out: one sample, two heads of 4, a sequence of 4.
inline WireWriter small_attention() {
  WireWriter graph;
  graph.message(1, onnx_node("Transpose", {"k"}, {"kt"}, {onnx_wholes("perm", {0, 1, 3, 2})}))
      .message(1, onnx_node("MatMul", {"q", "kt"}, {"s"}))
      .message(1, onnx_node("Mul", {"s", "scale"}, {"m"}))
      .message(1, onnx_node("Softmax", {"m"}, {"p"}))
      .message(1, onnx_node("MatMul", {"p", "v"}, {"o"}))
      .message(5, onnx_weight("scale", {1}));
  for (const char* name : {"q", "k", "v"}) graph.message(11, onnx_value(name, {1, 2, 4, 4}));
  return onnx_model(graph.message(12, onnx_value("o", {1, 2, 4, 4})));
}

}  // namespace plimsoll::test
