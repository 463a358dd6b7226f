#include "sim/stack/operators/operator_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace plimsoll {
namespace {

OperatorPrograms all_programs() {
  OperatorPrograms all;
  for (const auto family :
       {activation_programs, attention_programs, distribution_programs, embedding_programs, expert_programs,
        feed_forward_programs, linear_loss_programs, megatron_programs, norm_programs, rotary_programs, unpaired_loss_programs}) {
    OperatorPrograms some = family();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

/// Bytes of any tensor made of these sizes can then be counted.
constexpr double kLargestProduct = 4e18;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;

/// Whether one size, or all that the operator is made of together, are beyond counting.
bool too_large(const OperatorCase& asked, const OperatorProgram& program) {
  double product = 1;
  for (const auto& [name, size] : asked.sizes) {
    if (size > kLargestSize) return true;
    const bool own = std::any_of(program.sizes.begin(), program.sizes.end(),
                                 [&](std::string_view names) { return names.find(name) != names.npos; });
    if (own) product *= static_cast<double>(std::max<std::int64_t>(size, 1));
  }
  return product > kLargestProduct;
}

/// One of the names, divided by '|', is there.
bool says(const OperatorCase& asked, std::string_view names) {
  for (std::size_t from = 0; from <= names.size();) {
    const std::size_t end = std::min(names.find('|', from), names.size());
    if (asked.has(names.substr(from, end - from))) return true;
    from = end + 1;
  }
  return false;
}

tl::unexpected<Error> refuse(ErrorKind kind, std::string what, const OperatorCase& asked, std::string remedy) {
  return fail({.kind = kind,
               .what = std::move(what),
               .where = fmt::format("{}/{}", asked.kernel, asked.provider),
               .remedy = std::move(remedy)});
}

tl::unexpected<Error> refuse_name(const OperatorCase& asked) {
  std::set<std::string_view> kernels;
  std::set<std::string_view> providers;
  for (const OperatorProgram& program : operator_programs()) {
    kernels.insert(program.kernel);
    if (program.kernel == asked.kernel) providers.insert(program.provider);
  }
  const bool known = !providers.empty();
  std::string names;
  for (const std::string_view name : known ? providers : kernels)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return refuse(
      ErrorKind::kUnknownName,
      known ? fmt::format("unknown provider: {}", asked.provider) : fmt::format("unknown operator: {}", asked.kernel),
      asked, fmt::format("known are {}", names));
}

}  // namespace

const OperatorPrograms& operator_programs() {
  static const OperatorPrograms all = all_programs();
  return all;
}

Result<Bytes> predict_operator(const OperatorCase& asked) {
  const OperatorPrograms& all = operator_programs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const OperatorProgram& program) {
    return program.kernel == asked.kernel && program.provider == asked.provider;
  });
  if (found == all.end()) return refuse_name(asked);
  for (const std::string_view size : found->sizes) {
    if (!says(asked, size))
      return refuse(ErrorKind::kInput, fmt::format("size not stated: {}", size), asked,
                    "the row's configuration names it");
  }
  if (too_large(asked, *found)) {
    return refuse(ErrorKind::kInput, "sizes too large", asked, "each may reach 2^31, their product 4e18");
  }
  Tape tape({.product_workspace = asked.product_workspace,
             .sum_blocks = asked.gpu});
  const OperatorTest test = found->prepare(tape, asked);
  return measure_operator(tape, test, asked.mode);
}

}  // namespace plimsoll
