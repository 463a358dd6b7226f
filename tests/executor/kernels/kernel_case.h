#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "executor/kernels/launch.h"

namespace plimsoll::test {

/// What an operand's elements are, and how a case fills them.
enum class Content : std::uint8_t {
  kReal,      ///< of the case's type, uniform in [−1, 1)
  kWide,      ///< of the type that sums have (fp32 where the case's type has two bytes), uniform in [−1, 1)
  kPositive,  ///< of the sums' type, uniform in [0.5, 1.5): deviations, second moments
  kToken,     ///< int32 below the shape's `outputs`
  kLabel,     ///< int32 below the shape's `outputs`, and about one in four −1
  kExtent,    ///< int32 below the shape's `sequence`
  kDouble,    ///< losses, norms, factors: always fp64, uniform in [0, 1)
  kRouting,   ///< a routing of the case's tokens, as a router of the case's shape makes one
  kScratch,   ///< of the sums' type; what it holds afterwards means nothing
};

struct CaseOperand {
  std::int64_t elements = 0;
  Access access = Access::kRead;
  Content content = Content::kReal;
};

/// A kernel with operands, to be run in either type.
struct KernelCase {
  std::string name;
  OpKind kind = OpKind::kAdd;
  OpShape shape;
  std::vector<CaseOperand> operands;
  RopeScaling rope_scaling = {};
  ExpertSpec experts = {};
};

/// The elements of every operand as doubles.
using Values = std::vector<std::vector<double>>;

/// Runs a kernel on its operands, as plimsoll::launch does.
using CaseLaunch = std::function<void(const Kernel&, std::span<const OperandView>, const LaunchContext&)>;

struct CaseOptions {
  std::int64_t workers = 2;
  std::int64_t shuffle = 0;
  MatmulLibrary library = MatmulLibrary::kOneDnn;
  Precision precision = Precision::kFp32;  ///< of the recipe, for updates
  std::size_t begin = 0;  ///< bytes from a multiple of 16 to every operand
  CaseLaunch launch = plimsoll::launch;
};

/// Recipe and step that all cases run under.
Recipe case_recipe();
inline constexpr std::int64_t kCaseStep = 3;

/// Random contents, every number representable as float. What a kernel must not read is NaN.
Values random_values(const KernelCase& kernel_case, std::uint32_t seed = 1);

/// The operands of the case's type rounded to `dtype`.
Values rounded(const KernelCase& kernel_case, Values values, DType dtype);

/// Runs the case in `dtype` (fp32, fp64, bf16 or fp16) and returns all operands afterwards, scratch emptied.
Values run_case(const KernelCase& kernel_case, const Values& inputs, DType dtype, const CaseOptions& options = {});

/// ‖a − b‖ / ‖b‖.
double relative_distance(const std::vector<double>& a, const std::vector<double>& b);

/// Every kernel of a training step at odd sizes, more than one tile where there are tiles.
std::vector<KernelCase> all_cases();
KernelCase case_named(const std::string& name);

/// Workers for which the cases' scratch is large enough.
inline constexpr std::int64_t kMostCaseWorkers = 3;

}  // namespace plimsoll::test
