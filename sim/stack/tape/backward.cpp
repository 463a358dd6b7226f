#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

#include "sim/stack/tape/accumulate_gradient.h"
#include "sim/stack/tape/operations.h"
#include "sim/stack/tape/tape.h"

namespace plimsoll {
namespace {

/// Autograd's order: of all nodes whose gradients are complete the one recorded last; a parameter's gradient is accumulated
/// as soon as it is there.
class Propagation {
 public:
  Propagation(Tape& tape, const Tensors& inputs) : tape_(tape), walk_(tape.begin_walk()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].maker) continue;
      wanted_[{inputs[i].maker.get(), inputs[i].output}] = i;
      meet(inputs[i].maker);
      visit_of(*inputs[i].maker).wanted = true;
    }
    caught_.resize(inputs.size());
  }
  ~Propagation() {
    for (const Interrupted& one : interrupted_) one.node->walk = one.walk, one.node->visit = one.visit;
    tape_.end_walk();
  }
  Propagation(const Propagation&) = delete;
  Propagation& operator=(const Propagation&) = delete;

  Tensors run(const Tensors& roots, Tensors gradients) {
    for (const Tensor& root : roots) count(root.maker);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      if (roots[i].maker && gradients[i]) give({.node = roots[i].maker, .output = roots[i].output}, std::move(gradients[i]));
    }
    gradients.clear();
    for (const Tensor& root : roots) {
      if (root.maker && visit_of(*root.maker).waiting == 0) enter(root.maker);
    }
    while (!ready_.empty()) {
      auto node = ready_.top();
      ready_.pop();
      visit(*node);
    }
    return std::move(caught_);
  }

 private:
  struct LaterFirst {
    bool operator()(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) const { return a->sequence < b->sequence; }
  };
  struct OutputHash {
    std::size_t operator()(const std::pair<Node*, std::size_t>& key) const {
      return std::hash<Node*>()(key.first) * 31 + key.second;
    }
  };
  /// What is known of a node; the node says where it stands.
  struct Visit {
    std::int64_t waiting = 0;  ///< gradients that it still waits for
    bool counted = false;
    bool entered = false;
    bool wanted = false;  ///< somebody asked for the gradient of one of its outputs
    Tensors buffer;       ///< gradients of its outputs
  };
  /// A node that a walk around this one has met before.
  struct Interrupted {
    std::shared_ptr<Node> node;
    std::uint64_t walk = 0;
    std::size_t visit = 0;
  };

  void meet(const std::shared_ptr<Node>& node) {
    if (node->walk == walk_) return;
    if (tape_.walks(node->walk)) interrupted_.push_back({node, node->walk, node->visit});
    node->walk = walk_;
    node->visit = visits_.size();
    visits_.emplace_back();
  }

  Visit& visit_of(const Node& node) { return visits_[node.visit]; }

  /// True for the first time.
  bool count_once(const std::shared_ptr<Node>& node) {
    meet(node);
    return !std::exchange(visit_of(*node).counted, true);
  }

  /// How many gradients each node still waits for.
  void count(const std::shared_ptr<Node>& root) {
    if (!root || !count_once(root)) return;
    std::vector<Node*> stack{root.get()};
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (const Edge& edge : node->next) {
        if (edge.parameter != nullptr) ++parts_[edge.parameter].expected;
        if (!edge.node) continue;
        if (count_once(edge.node)) stack.push_back(edge.node.get());
        ++visit_of(*edge.node).waiting;
      }
    }
  }

  void enter(const std::shared_ptr<Node>& node) {
    if (!std::exchange(visit_of(*node).entered, true)) ready_.push(node);
  }

  void give(const Edge& edge, Tensor gradient) {
    if (edge.parameter != nullptr) {
      add_into(parts_[edge.parameter].sum, std::move(gradient));
      return;
    }
    if (visit_of(*edge.node).wanted) {
      const auto wanted = wanted_.find({edge.node.get(), edge.output});
      if (wanted != wanted_.end()) {
        add_into(caught_[wanted->second], std::move(gradient));
        return;
      }
    }
    Tensors& buffer = visit_of(*edge.node).buffer;
    buffer.resize(edge.node->outputs);
    add_into(buffer[edge.output], std::move(gradient));
  }

  /// In place where nobody else holds what is there.
  void add_into(Tensor& sum, Tensor gradient) {
    if (!sum) {
      sum = std::move(gradient);
      return;
    }
    tape_.stream(3 * traffic(sum), sum.dtype);
    if (sum.storage.use_count() > 1 || sum.is_view) sum = tape_.empty(sum.shape, sum.dtype);
  }

  /// A parameter that is used several times waits for all parts of its gradient.
  void arrived(Parameter& parameter) {
    const auto found = parts_.find(&parameter);
    if (--found->second.expected > 0) return;
    Tensor sum = std::move(found->second.sum);
    parts_.erase(found);
    if (sum) accumulate_gradient(tape_, parameter, std::move(sum));
  }

  void visit(Node& node) {
    Tensors gradients = std::exchange(visit_of(node).buffer, {});
    gradients.resize(node.outputs);
    const bool any = std::any_of(gradients.begin(), gradients.end(), [](const Tensor& gradient) { return bool(gradient); });
    Tensors results;
    tape_.return_to(node.place);
    if (any && node.prepare) node.prepare(tape_);
    if (any && node.backward) results = node.backward(tape_, std::move(gradients));
    gradients.clear();
    node.backward = nullptr;
    node.prepare = nullptr;
    results.resize(node.next.size());
    for (std::size_t i = 0; i < node.next.size(); ++i) {
      const Edge edge = std::move(node.next[i]);
      node.next[i] = {};
      Tensor gradient = std::move(results[i]);
      if (gradient && edge.leads()) give(edge, std::move(gradient));
      if (edge.parameter != nullptr) arrived(*edge.parameter);
      if (edge.node && --visit_of(*edge.node).waiting == 0) enter(edge.node);
    }
  }

  Tape& tape_;
  std::uint64_t walk_;
  std::vector<Interrupted> interrupted_;
  std::unordered_map<std::pair<Node*, std::size_t>, std::size_t, OutputHash> wanted_;
  Tensors caught_;
  std::vector<Visit> visits_;
  struct Parts {
    std::int64_t expected = 0;
    Tensor sum;
  };
  std::unordered_map<Parameter*, Parts> parts_;
  std::priority_queue<std::shared_ptr<Node>, std::vector<std::shared_ptr<Node>>, LaterFirst> ready_;
};

}  // namespace

void accumulate_gradient(Tape& tape, Parameter& parameter, Tensor gradient) {
  if (!parameter.gradient) {
    // Autograd takes a gradient over if nobody else holds it; otherwise it copies.
    const bool own = gradient.storage.use_count() == 1 && gradient.dtype == parameter.value.dtype;
    if (!own) tape.stream(2 * traffic(gradient), gradient.dtype);
    parameter.gradient = own ? std::move(gradient) : tape.empty(gradient.shape, parameter.value.dtype);
    parameter.gradient.storage->rename(Holding::kGradients);
  } else {
    tape.stream(3 * traffic(gradient), gradient.dtype);
  }
  gradient = {};
  if (parameter.after_gradient) parameter.after_gradient(parameter);
}

void Tape::backward(const Tensor& root, Tensor gradient) {
  Tensors gradients;
  gradients.push_back(std::move(gradient));
  backward_to({root}, std::move(gradients), {});
}

Tensors Tape::backward_to(const Tensors& roots, Tensors gradients, const Tensors& inputs) {
  Tensors caught;
  without_grad([&] { caught = Propagation(*this, inputs).run(roots, std::move(gradients)); });
  return caught;
}

}  // namespace plimsoll
