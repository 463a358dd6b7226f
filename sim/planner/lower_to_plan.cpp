#include "sim/planner/lower_to_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/graph/buildable.h"
#include "core/platform/check_precision.h"
#include "core/plan/order_conflicts.h"
#include "sim/planner/check_shares.h"
#include "sim/planner/parameter_tier.h"
#include "sim/planner/step_lowering.h"
#include "sim/planner/unplaced_digest.h"

namespace plimsoll {
namespace {

/// CPU workers that run a compute kernel together; 0 when a GPU runs it.
std::int64_t compute_workers(const Platform& platform, QueueId compute) {
  const Processor& processor = platform.at(platform.at(compute).processor);
  return processor.kind == ProcessorKind::kCpu ? processor.cores : 0;
}

/// What crosses to or from a drive does so in whole blocks; kernels go on using the true sizes.
void align_storage(const Plan& plan, BufferBook& book, BodyWriter& writer) {
  for (const BufferId crosses : writer.crossing()) book.align(crosses, kStorageAlignment);
  FlatBody& body = writer.body();
  for (const Instruction& instruction : body.list.instructions) {
    if (instruction.kind != InstructionKind::kRead && instruction.kind != InstructionKind::kWrite) continue;
    for (std::uint32_t i = 0; i < 2; ++i) {  // what it moves; a guard's flag stays as it is
      Use& use = body.list.uses[instruction.first_use + i];
      book.align(BufferId(use.target), kStorageAlignment);
      use.bytes = plan.buffers[use.target].bytes;
    }
  }
}

void finish_body(Plan& plan, BodyWriter& writer, std::string name) {
  order_conflicts(plan, writer.body(), !plan.strategy.overlap);
  plan.bodies.push_back(fold(plan, std::move(name), writer.body(), writer.segments()));
}

/// Who asks for memory alone, and is told nothing of the step's instructions, needs no more than lives.
BodyDetail detail_of(const LowerOptions& options) {
  const bool told = options.when_written || options.worth_placing || options.is_known;
  if (options.bounds_only || (options.arenas_only && !told)) return BodyDetail::kLives;
  return options.arenas_only || options.flat_step ? BodyDetail::kInstructions : BodyDetail::kAll;
}

/// What who looks at many strategies says before anything has an address.
bool wants_addresses(const Plan& plan, const FlatBody& step, const BufferBook& book, const LowerOptions& options) {
  std::optional<std::uint64_t> digest;
  const auto digest_of = [&] {
    if (!digest) digest = unplaced_digest(plan, step, book);
    return *digest;
  };
  if (options.when_bounded) options.when_bounded(plan);
  if (options.when_written) options.when_written(plan, step, digest_of());
  if (options.worth_placing && !options.worth_placing(plan, step)) return false;
  return !options.is_known || !options.is_known(digest_of());
}

/// An evaluation beside the step. Stays where it is: its parts refer to each other.
struct EvaluationBody {
  EvaluationBody(Plan& plan, BufferBook& book, const Places& places, const std::vector<GroupState>& state, std::int64_t workers,
                 const LowerOptions& options)
      : graph(build_training_graph(plan.spec, plan.recipe, {.workers = workers, .evaluation = true})),
        outline(graph),
        lowering(plan, book, places, graph, outline, state, detail_of(options)) {
    lowering.write_evaluation();
  }

  const Graph graph;
  const StepOutline outline;
  StepLowering lowering;
};

/// Who is told of the step shares its addresses with others, which may have less memory. What does not fit is told as low as it
/// is.
void place(const Plan& plan, BufferBook& book, const LowerOptions& options) {
  const bool any = options.arenas_only && options.only_if_fits && !options.when_written;
  book.place(!options.quick_addresses, any);
  if (any && !all_fit(space_needs(plan))) book.place(!options.quick_addresses);
  if (options.placed_for) *options.placed_for = book.placed_for();
}

}  // namespace

std::shared_ptr<const Graph> graph_on(const ModelSpec& spec, const Recipe& recipe, const Platform& platform) {
  const auto compute = platform.queue("compute");
  if (!compute || !check_buildable(spec, recipe)) return nullptr;
  return std::make_shared<const Graph>(build_training_graph(spec, recipe, {.workers = compute_workers(platform, *compute)}));
}

Result<void> check_lowerable(const ModelSpec& spec, const Recipe& recipe, const Platform& platform,
                             const Strategy& strategy) {
  if (auto buildable = check_buildable(spec, recipe); !buildable) return buildable;
  if (auto shares = check_shares(strategy, spec.blocks()); !shares) return shares;
  if (auto tiers = check_tiers(strategy, recipe); !tiers) return tiers;
  const auto places = Places::find(platform, strategy);
  if (!places) return fail(places.error());
  return check_precision(platform.at(platform.at(places->compute).processor), recipe.precision);
}

Result<Plan> lower_to_plan(const ModelSpec& spec, const Recipe& recipe, const Platform& platform, const Strategy& strategy,
                           const LowerOptions& options) {
  if (const auto lowerable = check_lowerable(spec, recipe, platform, strategy); !lowerable)
    return fail(lowerable.error());
  const auto places = Places::find(platform, strategy);
  Plan plan{.spec = spec, .recipe = recipe, .platform = platform, .strategy = strategy};
  BufferBook book(plan, !options.nameless, options.packings);
  const std::int64_t workers = compute_workers(platform, places->compute);
  std::optional<Graph> built;
  if (options.graph == nullptr) built = build_training_graph(spec, recipe, {.workers = workers});
  const Graph& graph = built ? *built : *options.graph;
  const std::vector<GroupState> state = reserve_state(
      plan, book, *places, graph.parameters, options.sizes ? *options.sizes : state_sizes(recipe, graph.parameters));
  std::optional<StepOutline> found;
  if (options.outline == nullptr) found.emplace(graph);
  StepLowering step(plan, book, *places, graph, found ? *found : *options.outline, state, detail_of(options));
  step.write_step();
  if (options.evaluation) book.next_body();
  std::optional<EvaluationBody> evaluation;
  if (options.evaluation) evaluation.emplace(plan, book, *places, state, workers, options);
  align_storage(plan, book, step.writer());
  if (evaluation) align_storage(plan, book, evaluation->lowering.writer());
  const bool may_fit = book.bound_arenas();
  if (options.bounds_only || (!may_fit && options.only_if_fits)) return plan;
  if (!wants_addresses(plan, step.writer().body(), book, options)) return plan;
  place(plan, book, options);
  if (options.arenas_only || (options.only_if_fits && options.flat_step && !all_fit(space_needs(plan)))) return plan;
  if (options.flat_step) {
    order_conflicts(plan, step.writer().body(), !strategy.overlap);
    *options.flat_step = std::move(step.writer().body());
    return plan;
  }
  finish_body(plan, step.writer(), "step");
  if (evaluation) finish_body(plan, evaluation->lowering.writer(), "evaluation");
  return plan;
}

bool all_fit(const std::vector<SpaceNeed>& needs) {
  return std::all_of(needs.begin(), needs.end(), [](const SpaceNeed& need) { return need.fits(); });
}

std::vector<SpaceNeed> space_needs(const Plan& plan) {
  std::vector<SpaceNeed> needs;
  for (std::uint32_t i = 0; i < plan.platform.spaces.size(); ++i) {
    needs.push_back({SpaceId(i), plan.arena_bytes(SpaceId(i)), plan.platform.spaces[i].usable});
  }
  return needs;
}

}  // namespace plimsoll
