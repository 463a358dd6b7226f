#pragma once

#include <string>
#include <utility>
#include <vector>

#include "formats/models/hf_tensors.h"

namespace plimsoll {

/// Lists the tensors of one group after each other.
class GroupLister {
 public:
  GroupLister(std::vector<HfTensor>& out, const ParameterLayout& layout, GroupId id)
      : out_(out), group_(layout.at(id)), id_(id) {}

  /// The whole tensor of `role`; nothing when the model has none.
  void whole(ParameterRole role, std::string name) {
    const auto* tensor = group_.find(role);
    if (tensor == nullptr) return;
    part(role, std::move(name), 0, tensor->rows > 1 || is_matrix(role) ? tensor->rows : tensor->columns);
  }

  /// GPT-2's Conv1D: the file holds [inputs, outputs].
  void transposed(ParameterRole role, std::string name) {
    if (group_.find(role) == nullptr) return;
    whole(role, std::move(name));
    HfTensor& tensor = out_.back();
    tensor.transposed = true;
    std::swap(tensor.shape[0], tensor.shape[1]);
  }

  /// The whole tensor of `role`, which the file holds in a shape of its own.
  void shaped(ParameterRole role, std::string name, std::vector<std::int64_t> shape) {
    whole(role, std::move(name));
    out_.back().shape = std::move(shape);
  }

  /// `count` outputs of `role` from output `first` on: rows of a matrix, elements of a bias.
  void part(ParameterRole role, std::string name, std::int64_t first, std::int64_t count) {
    const auto* tensor = group_.find(role);
    if (tensor == nullptr) return;
    HfTensor part{.name = std::move(name), .shape = {count}, .group = id_, .offset = tensor->offset + first, .columns = count};
    if (tensor->rows > 1 || is_matrix(role)) {
      part.shape = {count, tensor->columns};
      part.offset = tensor->offset + first * tensor->columns;
      part.rows = count;
      part.columns = tensor->columns;
    }
    out_.push_back(std::move(part));
  }

 private:
  /// A matrix may have a single row (a vocabulary of one), so its row count does not tell it from a vector.
  static bool is_matrix(ParameterRole role) {
    using Role = ParameterRole;
    return role == Role::kTokenEmbedding || role == Role::kPositionEmbedding || role == Role::kTokenTypeEmbedding ||
           role == Role::kQkvWeight || role == Role::kProjectionWeight || role == Role::kFfnInWeight || role == Role::kFfnOutWeight ||
           role == Role::kTransformWeight || role == Role::kPoolerWeight || role == Role::kHeadWeight ||
           role == Role::kRouterWeight || role == Role::kRouterNoiseWeight || role == Role::kRelativeBias ||
           role == Role::kCrossQueryWeight || role == Role::kCrossKeyValueWeight || role == Role::kCrossProjectionWeight;
  }

  std::vector<HfTensor>& out_;
  const ParameterGroup& group_;
  GroupId id_;
};

}  // namespace plimsoll
