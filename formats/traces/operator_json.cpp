#include "formats/traces/operator_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "formats/traces/chakra_protobuf.h"
#include "formats/traces/json_stream.h"
#include "formats/traces/operator_collector.h"
#include "formats/traces/trace_numbers.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostNodes = 100'000'000;

class OperatorJson {
 public:
  explicit OperatorJson(ByteSource source) : json_(std::move(source)) {}

  OperatorTrace read() {
    if (json_.next() != JsonToken::kObject) json_.refuse("no execution trace: it is no object");
    bool found = false;
    for (std::string_view key; json_.next_key(key);) {
      if (key == "nodes" || key == "workload_graph") {
        chakra_ = key == "workload_graph";
        found = true;
        read_nodes();
      } else if (key == "schema") {
        schema_ = words();
      } else {
        json_.skip();
      }
    }
    if (!found) json_.refuse("no execution trace: it has neither \"nodes\" nor \"workload_graph\"");
    return collector_.finish(chakra_ ? "Chakra trace (JSON)" : schema_.empty() ? "PyTorch execution trace" : "PyTorch execution trace " + schema_);
  }

 private:
  std::string words() {
    const JsonToken token = json_.next();
    if (token == JsonToken::kText || token == JsonToken::kNumber) return std::string(json_.text());
    json_.skip_rest(token);
    return {};
  }

  /// A whole number, or the truth values as 1 and 0; `otherwise` for anything else.
  std::int64_t whole(std::int64_t otherwise = 0) {
    const JsonToken token = json_.next();
    if (token == JsonToken::kTrue) return 1;
    if (token == JsonToken::kFalse) return 0;
    if (token == JsonToken::kNumber || token == JsonToken::kText) return whole_number(json_.text()).value_or(otherwise);
    json_.skip_rest(token);
    return otherwise;
  }

  double real() {
    const JsonToken token = json_.next();
    double value = -1;
    if (token == JsonToken::kNumber) std::from_chars(json_.text().data(), json_.text().data() + json_.text().size(), value);
    else json_.skip_rest(token);
    return std::isfinite(value) ? value : -1;
  }

  void read_nodes() {
    if (json_.next() != JsonToken::kArray) json_.refuse("the nodes are no list");
    for (JsonToken token = json_.next(); token != JsonToken::kArrayEnd; token = json_.next()) {
      if (token == JsonToken::kEnd) json_.refuse("the file ends within the list of nodes");
      if (token != JsonToken::kObject) json_.refuse("a node that is no object");
      if (collector_.size() >= kMostNodes) json_.refuse("more nodes than are read");
      node_ = {};
      for (std::string_view key; json_.next_key(key);) read_field(std::string(key));
      collector_.add(std::move(node_));
    }
  }

  void read_field(const std::string& key) {
    if (key == "id" || key == "Id") node_.id = static_cast<std::uint64_t>(whole());
    else if (key == "name" || key == "Name") node_.name = words();
    else if (key == "NodeType" || key == "type") node_.sort = chakra_sort(whole());
    else if (key == "runtime" || key == "duration_micros") node_.duration_microseconds = real();
    else if (key == "data_deps" || key == "dataDeps") read_ids(node_.after);
    else if (key == "parent") node_.parent = static_cast<std::uint64_t>(whole());
    else if (key == "ctrl_deps" || key == "ctrlDeps") read_parent();
    else if (key == "inputs") read_side(node_.inputs);
    else if (key == "outputs") read_side(node_.outputs);
    else if (key == "attrs") read_attributes();
    else take_attribute(key);
  }

  void take_attribute(const std::string& key) {
    if (key == "is_cpu_op") node_.on_host = whole(1) != 0;
    else if (key == "tid" || key == "stream") node_.lane = whole();
    else if (key == "comm_size" || key == "tensor_size") node_.bytes = std::max<std::int64_t>(node_.bytes, whole());
    else json_.skip();
  }

  void read_ids(std::vector<std::uint64_t>& out) {
    const JsonToken open = json_.next();
    if (open != JsonToken::kArray) return json_.skip_rest(open);
    for (JsonToken token = json_.next(); token != JsonToken::kArrayEnd; token = json_.next()) {
      if (token == JsonToken::kEnd) json_.refuse("the file ends within a list");
      if (token != JsonToken::kNumber) json_.skip_rest(token);
      else if (const auto id = bits_of(json_.text())) out.push_back(*id);
    }
  }

  /// A number, or a list of which the first counts.
  void read_parent() {
    const JsonToken token = json_.next();
    if (token == JsonToken::kNumber) {
      node_.parent = bits_of(json_.text()).value_or(0);
    } else if (token == JsonToken::kArray) {
      for (JsonToken item = json_.next(); item != JsonToken::kArrayEnd; item = json_.next()) {
        if (item == JsonToken::kEnd) json_.refuse("the file ends within a list");
        if (item == JsonToken::kNumber) node_.parent = bits_of(json_.text()).value_or(0);
        else json_.skip_rest(item);
      }
    } else {
      json_.skip_rest(token);
    }
  }

  /// Values as a list (schema 1.0) or in "values" of an object.
  void read_side(std::vector<NamedTensor>& out) {
    const JsonToken open = json_.next();
    if (open == JsonToken::kArray) return read_values(out, 0);
    if (open != JsonToken::kObject) return json_.skip_rest(open);
    for (std::string_view key; json_.next_key(key);) {
      const bool values = key == "values";
      const JsonToken token = json_.next();
      if (!values) json_.skip_rest(token);
      else if (token == JsonToken::kArray) read_values(out, 0);
      else if (token == JsonToken::kText) out = tensors_in(json_.text());
      else json_.skip_rest(token);
    }
  }

  /// The rest of a list in which a tensor is a list of five numbers and a device.
  void read_values(std::vector<NamedTensor>& out, int depth) {
    constexpr int kDeepest = 8;
    std::array<std::int64_t, 5> numbers{};
    std::size_t count = 0;
    for (JsonToken token = json_.next(); token != JsonToken::kArrayEnd; token = json_.next()) {
      if (token == JsonToken::kEnd) json_.refuse("the file ends within a list");
      if (token == JsonToken::kNumber) {
        if (count < numbers.size()) numbers[count] = whole_number(json_.text()).value_or(0);
        ++count;
      } else if (token == JsonToken::kText && count == numbers.size()) {
        out.push_back({static_cast<std::uint64_t>(numbers[1]), numbers[2], numbers[3], numbers[4], std::string(json_.text())});
        ++count;
      } else if (token == JsonToken::kArray && depth < kDeepest) {
        read_values(out, depth + 1);
        count = numbers.size() + 1;
      } else {
        json_.skip_rest(token);
        count = numbers.size() + 1;
      }
    }
  }

  void read_attributes() {
    const JsonToken open = json_.next();
    if (open != JsonToken::kArray) return json_.skip_rest(open);
    for (JsonToken token = json_.next(); token != JsonToken::kArrayEnd; token = json_.next()) {
      if (token == JsonToken::kEnd) json_.refuse("the file ends within a list");
      if (token != JsonToken::kObject) {
        json_.skip_rest(token);
        continue;
      }
      std::string name;
      for (std::string_view key; json_.next_key(key);) {
        if (key == "name") name = words();
        else if (key == "type" || key == "doc_string") json_.skip();
        else take_attribute(name);
      }
    }
  }

  JsonStream json_;
  OperatorCollector collector_;
  CollectedNode node_;
  std::string schema_;
  bool chakra_ = false;
};

}  // namespace

Result<OperatorTrace> read_operator_json(const std::string& path) {
  auto source = ByteSource::open(path);
  if (!source) return fail(source.error());
  try {
    return OperatorJson(std::move(*source)).read();
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
