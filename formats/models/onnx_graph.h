#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

/// How ONNX numbers the types of elements (those that are told apart here).
enum class OnnxType : std::uint8_t {
  kNone = 0, kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6, kInt64 = 7, kText = 8, kBool = 9, kHalf = 10, kDouble = 11, kBfloat = 16
};

/// Whether weights and activations can be of it.
constexpr bool is_float(OnnxType type) {
  return type == OnnxType::kFloat || type == OnnxType::kHalf || type == OnnxType::kDouble || type == OnnxType::kBfloat;
}

/// A constant of the file: its shape and, of small whole numbers, what they are. Weights are not read.
struct OnnxConstant {
  std::string name;
  OnnxType type = OnnxType::kNone;
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> numbers;
  bool known = false;  ///< `numbers` holds them all

  [[nodiscard]] std::int64_t elements() const;
};

struct OnnxAttribute {
  std::string name;
  double real = 0;
  std::int64_t whole = 0;
  std::string text;
  std::vector<std::int64_t> numbers;
  std::optional<OnnxConstant> constant;
};

struct OnnxNode {
  std::string name;
  std::string op;      ///< "Gemm"
  std::string domain;  ///< empty: ONNX's own
  std::vector<std::string> inputs;  ///< empty names: left out
  std::vector<std::string> outputs;
  std::vector<OnnxAttribute> attributes;

  [[nodiscard]] const OnnxAttribute* attribute(std::string_view name) const;
  [[nodiscard]] std::int64_t whole(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> numbers(std::string_view name) const;
};

/// An input or output of the graph. A dimension that a run decides is −1 and has a name.
struct OnnxValue {
  std::string name;
  OnnxType type = OnnxType::kNone;
  std::vector<std::int64_t> dims;
  std::vector<std::string> dim_names;
};

/// A model's forward pass as an ONNX file tells it, without the weights' numbers.
struct OnnxGraph {
  std::string producer;  ///< "pytorch 2.4.0"
  std::string name;
  std::int64_t opset = 0;
  std::vector<OnnxNode> nodes;  ///< in an order in which they can run
  std::map<std::string, OnnxConstant> constants;
  std::vector<std::string> constant_order;  ///< their names as in the file
  std::vector<OnnxValue> inputs;            ///< without those that are constants
  std::vector<OnnxValue> outputs;
};

}  // namespace plimsoll
