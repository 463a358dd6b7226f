#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <limits>

#include "core/model/next_loss_scale.h"
#include "executor/cuda/host_twins.h"
#include "executor/cuda/launch/supports.h"
#include "tests/executor/cuda/device_cases.h"
#include "tests/executor/cuda/emulated_launch.h"

namespace plimsoll::test {
namespace {

/// Of which NaN it is, processors differ.
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (std::isnan(x) && std::isnan(y));
  });
}

void emulated(const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
  std::vector<std::byte> scratch(static_cast<std::size_t>(cuda::scratch_of(kernel).count) + 1);
  emulate({kernel, operands, context, scratch.data()}, Fibers::Order::kForward);
}

/// How often the host's loops, each instruction set that this processor has, gave other bits than the device's program.
int differences(const KernelCase& c, const Values& inputs, DType dtype, Precision precision = Precision::kFp32) {
  const Values expected = run_case(c, inputs, dtype, {.precision = precision, .launch = emulated});
  int different = 0;
  for (const InstructionSet set : instruction_sets()) {
    const auto on_host = [set](const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
      if (!launch_as_on_device(kernel, operands, context, twin_loops(set))) throw std::logic_error("no twin");
    };
    const Values found = run_case(c, inputs, dtype, {.precision = precision, .launch = on_host});
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      if (same_bits(found[i], expected[i])) continue;
      ++different;
      UNSCOPED_INFO("operand " << i << " by " << to_text(set));
    }
  }
  return different;
}

enum class Factor { kNone, kClip, kScaled, kNotFinite };

struct Update {
  OpKind kind;
  std::int64_t states;
  bool in_place, wide_weights, summed, published;
  Factor factor = Factor::kNone;
  std::int64_t elements = 0, decaying = 0;

  [[nodiscard]] bool is_scaled() const { return factor == Factor::kScaled || factor == Factor::kNotFinite; }
  [[nodiscard]] std::size_t gradient() const { return static_cast<std::size_t>(states) + 1; }

  [[nodiscard]] KernelCase as_case() const {
    KernelCase c{"update", kind, {.rows = elements, .inputs = decaying}, {}};
    const Content kept = wide_weights ? Content::kWide : Content::kReal;
    const auto add_states = [&](Access access) {
      for (std::int64_t i = 0; i <= states; ++i) c.operands.push_back({elements, access, kept});
    };
    add_states(in_place ? Access::kReadWrite : Access::kRead);
    c.operands.push_back({elements, Access::kRead, summed ? Content::kWide : Content::kReal});
    if (factor != Factor::kNone) {
      c.operands.push_back({is_scaled() ? kScaledFactorDoubles : 1, Access::kRead, Content::kDouble});
    }
    if (!in_place) add_states(Access::kWrite);
    if (published) c.operands.push_back({elements, Access::kWrite});
    return c;
  }

  /// Random, second moments not below 0, and in every 40 gradients some that are far from the others.
  [[nodiscard]] Values inputs(const KernelCase& c) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const std::vector<double> strange{0.0, -0.0, 1e-42, -3e-39, 1e-7, 65520, 3e38, -kInfinity, std::nan("")};
    Values values = random_values(c, 17);
    if (states == 2) {
      for (double& v : values[2]) v = v < -0.9 ? 0 : std::abs(v);
    }
    std::vector<double>& gradients = values[gradient()];
    for (std::size_t i = 31; i < gradients.size(); ++i) {
      if (i % 40 < strange.size()) gradients[i] = strange[i % 40];
    }
    if (is_scaled()) values[gradient() + 1] = {factor == Factor::kScaled ? 0.37 : std::nan(""), 1, 2, 4096};
    return values;
  }
};

int differences(const Update& update, DType dtype) {
  const KernelCase c = update.as_case();
  return differences(c, update.inputs(c), dtype, update.is_scaled() ? Precision::kFp16Mixed : Precision::kFp32);
}

constexpr bool kBoth[] = {false, true};

/// Every rule, however its operands are stored.
std::vector<Update> all_updates() {
  std::vector<Update> updates;
  const std::vector<std::pair<OpKind, std::int64_t>> rules{
      {OpKind::kSgd, 0}, {OpKind::kMomentum, 1}, {OpKind::kLion, 1}, {OpKind::kAdam, 2}, {OpKind::kAdamW, 2}};
  for (const auto& [kind, states] : rules) {
    for (const bool in_place : kBoth) {
      for (const bool wide_weights : kBoth) {
        for (const bool summed : kBoth) {
          for (const bool published : kBoth) updates.push_back({kind, states, in_place, wide_weights, summed, published});
        }
      }
    }
  }
  return updates;
}

}  // namespace

TEST_CASE("the host's updates have the device's bits for every rule, storage, factor and instruction set") {
  int compared = 0;
  for (Update update : all_updates()) {
    for (const Factor factor : {Factor::kNone, Factor::kClip, Factor::kScaled, Factor::kNotFinite}) {
      for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kFp16}) {
        if (dtype == DType::kFp32 && !(update.wide_weights && update.summed)) continue;  // it has one width
        for (const auto& [elements, decaying] : {std::pair(1, 1), {67, 41}, {1203, 1063}}) {  // ends within a vector, a second piece
          update.factor = factor;
          update.elements = elements;
          update.decaying = decaying;
          CAPTURE(to_text(update.kind), update.in_place, update.wide_weights, update.summed, update.published, factor, elements);
          CAPTURE(to_text(dtype), ++compared);
          CHECK(differences(update, dtype) == 0);
        }
      }
    }
  }
  CHECK(compared == 5 * 4 * 4 * 3 * (1 + 4 + 4));
}

TEST_CASE("of a host's update of several tasks all, some or none decay, with the device's bits") {
  for (const std::int64_t decaying : {0, 5, 40'000, 70'001}) {
    for (const DType dtype : {DType::kFp32, DType::kBf16}) {
      CAPTURE(decaying, to_text(dtype));
      CHECK(differences({OpKind::kAdamW, 2, true, true, false, true, Factor::kClip, 70'001, decaying}, dtype) == 0);
    }
  }
}

TEST_CASE("the host's sums of squares have the device's bits, however long, stored and by whichever instruction set") {
  for (const std::int64_t elements : {1, 255, 257, 1203, 32'768, 70'001}) {
    for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kFp16}) {
      for (const Content content : {Content::kReal, Content::kWide}) {
        const KernelCase c{"squares", OpKind::kSquaredNorm, {.rows = elements},
                           {{elements, Access::kRead, content}, {1, Access::kWrite, Content::kDouble}}};
        CAPTURE(elements, to_text(dtype), content == Content::kWide);
        CHECK(differences(c, random_values(c, 9), dtype) == 0);
      }
    }
  }
}

TEST_CASE("the CPU's kernel that sums gradients of micro-batches has no twin: it has the device's bits as it is") {
  for (const Access access : {Access::kWrite, Access::kReadWrite}) {
    for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kFp16}) {
      const KernelCase c{"sum", OpKind::kAccumulate, {.rows = 1203}, {{1203, Access::kRead}, {1203, access, Content::kWide}}};
      const Values inputs = random_values(c, 4);
      CAPTURE(to_text(dtype), access == Access::kWrite);
      CHECK(same_bits(run_case(c, inputs, dtype)[1], run_case(c, inputs, dtype, {.launch = emulated})[1]));
    }
  }
}

}  // namespace plimsoll::test
