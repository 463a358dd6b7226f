#include "sim/stack/tape/tape.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "sim/stack/tape/operations.h"

namespace plimsoll {

Tape::Tape(TapeOptions options) : options_(options), log_(std::make_shared<StorageLog>()) { at("start"); }

Tensor Tape::empty(Shape shape, DType dtype) { return empty(std::move(shape), dtype, Holding::kActivations); }

Tensor Tape::empty(Shape shape, DType dtype, Holding holding, std::uint8_t stream) {
  const Bytes bytes(elements_of(shape) * size_of(dtype));
  return {.storage = log_->make(bytes, holding, stream), .shape = std::move(shape), .dtype = dtype};
}

namespace {

/// Matrices of blocks; their routers are left to AdamW (Jordan et al. 2024, as core/graph/optimizer_state.h has it).
bool is_hidden_matrix(const std::string& name, const Shape& shape) {
  const bool of_block = name.starts_with("block ") || name.starts_with("encoder ") || name.starts_with("decoder ");
  return of_block && shape.size() == 2 && name.find(".router") == std::string::npos;
}

}  // namespace

Parameter& Tape::parameter(std::string name, Shape shape, DType dtype, bool trained) {
  Parameter& made = parameters_.emplace_back();
  made.name = std::move(name);
  made.hidden_matrices = is_hidden_matrix(made.name, shape) ? elements_of(shape) : 0;
  if (without_memory_) {
    const Bytes bytes(elements_of(shape) * size_of(dtype));
    made.value = {.storage = log_->make_absent(bytes, Holding::kParameters), .shape = std::move(shape), .dtype = dtype};
  } else {
    made.value = empty(std::move(shape), dtype, Holding::kParameters);
  }
  made.trained = trained;
  return made;
}

Tensors Tape::record_all(Tensors outs, const std::vector<const Tensor*>& inputs, Backward backward) {
  const bool needed = grad_enabled_ && std::any_of(inputs.begin(), inputs.end(),
                                                   [](const Tensor* input) { return input->needs_gradient(); });
  if (!needed) return outs;
  auto node = std::make_shared<Node>();
  node->sequence = ++next_sequence_;
  node->place = static_cast<std::uint32_t>(places_.size() - 1);
  node->outputs = outs.size();
  for (const Tensor* input : inputs) {
    if (!input->needs_gradient()) {
      node->next.emplace_back();
    } else {
      node->next.push_back(
          {.node = input->maker, .output = input->output, .parameter = input->maker ? nullptr : input->parameter});
    }
  }
  node->backward = std::move(backward);
  for (std::size_t i = 0; i < outs.size(); ++i) {
    outs[i].maker = node;
    outs[i].output = i;
    outs[i].parameter = nullptr;
  }
  return outs;
}

Tensor Tape::record(Tensor out, const std::vector<const Tensor*>& inputs, Backward backward) {
  Tensors outs;
  outs.push_back(std::move(out));
  return std::move(record_all(std::move(outs), inputs, std::move(backward)).front());
}

std::uint64_t Tape::begin_walk() {
  walks_.push_back(++last_walk_);
  return last_walk_;
}

bool Tape::walks(std::uint64_t walk) const { return std::find(walks_.begin(), walks_.end(), walk) != walks_.end(); }

void Tape::without_grad(const std::function<void()>& work) {
  const bool before = std::exchange(grad_enabled_, false);
  work();
  grad_enabled_ = before;
}

void Tape::with_grad(const std::function<void()>& work) {
  const bool before = std::exchange(grad_enabled_, true);
  work();
  grad_enabled_ = before;
}

void Tape::with_autocast(std::optional<DType> dtype, const std::function<void()>& work) {
  const auto before = std::exchange(autocast_, dtype);
  ++autocast_depth_;
  work();
  if (--autocast_depth_ == 0) cast_weights_.clear();
  autocast_ = before;
}

Tensor Tape::as_autocast(const Tensor& tensor) {
  if (!autocast_ || tensor.dtype == *autocast_) return tensor;
  // Only casts of trained fp32 leaves are remembered, in a checkpoint's first run as well.
  const bool cached = tensor.parameter != nullptr && tensor.parameter->trained && tensor.dtype == DType::kFp32;
  if (!cached) return cast(*this, tensor, *autocast_);
  const auto known = cast_weights_.find(tensor.parameter);
  if (known != cast_weights_.end()) return known->second;
  Tensor made = cast(*this, tensor, *autocast_);
  cast_weights_.emplace(tensor.parameter, made);
  return made;
}

void Tape::launch(StackKernel kernel) {
  kernel.phase = phase_;
  kernel.turn = turn_;
  kernel.again = again_;
  kernel.place = static_cast<std::uint32_t>(places_.size() - 1);
  kernel.events = log_->events().size();
  kernels_.push_back(kernel);
}

void Tape::stream(double bytes, DType dtype) { launch({.sort = stream_sort_, .dtype = dtype, .bytes = bytes}); }

void Tape::pass(double bytes, DType dtype) { launch({.sort = StackKernelSort::kPass, .dtype = dtype, .bytes = bytes}); }

void Tape::product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, DType dtype, std::optional<DType> result) {
  Tensor& workspace = phase_ == Phase::kBackward ? backward_workspace_ : forward_workspace_;
  if (!workspace) workspace = empty({options_.product_workspace.count}, kMaskType, Holding::kWorkspace);
  const auto volume = static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const double read = static_cast<double>(batch) * static_cast<double>(k) * static_cast<double>(m + n);
  const double written = static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n);
  launch({.sort = StackKernelSort::kProduct, .dtype = dtype, .batch = batch, .m = m, .n = n, .k = k, .flops = 2 * volume,
          .bytes = read * static_cast<double>(size_of(dtype)) + written * static_cast<double>(size_of(result.value_or(dtype)))});
}

void Tape::turned_product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, DType dtype) {
  product(batch, m, n, k, dtype);
  kernels_.back().turned = true;
}

bool Tape::holds_any_since(std::uint64_t event) const {
  const auto& events = log_->events();
  std::set<std::uint32_t> alive;
  for (auto at = event; at < events.size(); ++at) {
    if (events[at].holding == Holding::kWorkspace) continue;
    if (events[at].change == StorageChange::kBorn) alive.insert(events[at].storage);
    if (events[at].change == StorageChange::kDied) alive.erase(events[at].storage);
  }
  return !alive.empty();
}

void Tape::forget_last_product(std::size_t first) {
  const auto begin = kernels_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto last = std::find_if(kernels_.rbegin(), std::make_reverse_iterator(begin),
                                 [](const StackKernel& kernel) { return kernel.sort == StackKernelSort::kProduct; });
  if (last == std::make_reverse_iterator(begin)) return;
  // Its result was born right before it, or before the library's workspace.
  std::uint64_t born = last->events;
  while (born > 0 && log_->events()[born - 1].holding == Holding::kWorkspace) --born;
  if (born == 0 || log_->events()[born - 1].change != StorageChange::kBorn || holds_any_since(born - 1)) return;
  const auto is_of_gpu = [](const StackKernel& kernel) {
    return kernel.sort <= StackKernelSort::kStream || (kernel.sort == StackKernelSort::kCollective && kernel.among == Among::kTensor);
  };
  const auto product = last.base() - 1;
  const auto index = product - kernels_.begin();
  kernels_.erase(std::remove_if(product, kernels_.end(), is_of_gpu), kernels_.end());
  log_->forget_lived_since(born - 1);
  for (auto at = kernels_.begin() + index; at != kernels_.end(); ++at) at->events = std::min<std::uint64_t>(at->events, log_->events().size());
}

Tensors Tape::results_of(StackKernelSort sort, const std::function<Tensors()>& make) {
  if (kept_ == nullptr) return make();
  const bool is_collective = sort == StackKernelSort::kCollective;
  const bool keeps = is_collective || (sort == StackKernelSort::kAttention ? !options_.recomputes_attention : ++kept_->products % 2 == 1);
  if (!keeps) return make();
  if (kept_->again && kept_->kept.empty()) return make();
  if (kept_->again) {
    Tensors known = std::move(kept_->kept.front());
    kept_->kept.pop_front();
    return known;
  }
  kept_->ends_with_collective = is_collective;
  kept_->kept.push_back(make());
  return kept_->kept.back();
}

void Tape::with_kept(KeptResults& kept, const std::function<void()>& work) {
  KeptResults* before = std::exchange(kept_, &kept);
  work();
  kept_ = before;
}

void Tape::bias_workspace() {
  if (options_.bias_workspace > Bytes(0)) empty({options_.bias_workspace.count}, kMaskType, Holding::kWorkspace);
}

void Tape::sum_rows(const Tensor& x, const Tensor& sum) {
  stream(traffic(x) + traffic(sum), sum.dtype);
  if (sum.elements() == 0) return;
  const Bytes buffer = column_sum_buffer(x.elements() / sum.elements(), sum.elements(), options_.sum_blocks);
  if (buffer > Bytes(0)) empty({buffer.count}, kMaskType, Holding::kWorkspace);
}

void Tape::at(std::string what) {
  places_.push_back({.step = step_, .phase = phase_, .what = std::move(what)});
  log_->at(static_cast<std::uint32_t>(places_.size() - 1));
  if (moved_) moved_(places_.back().what);
}

void Tape::return_to(std::uint32_t place) {
  if (places_.back().what != places_[place].what) at(places_[place].what);
}

}  // namespace plimsoll
