#include "cli/options/adapter_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "core/model/adapter_parts.h"
#include "core/model/parameters.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> bad(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

Result<void> check_alone(const AdapterFlags& flags) {
  if (!flags.lora.empty()) return {};
  if (flags.dora) return bad("--dora goes with --lora", "add --lora 16");
  if (!flags.train_also.empty()) return bad("--train-also is beside a frozen model, and without --lora nothing is frozen", "add --lora 16");
  if (flags.alpha) return bad("--lora-alpha goes with --lora", "add --lora 16");
  if (flags.dropout != 0) return bad("--lora-dropout goes with --lora", "add --lora 16");
  if (flags.base_bits)
    return bad("--base-bits says how a frozen model is kept, and without --lora nothing is frozen", "add --lora 16");
  return {};
}

Result<std::int64_t> parse_rank(std::string_view text) {
  std::int64_t rank = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (problem == std::errc() && end == text.data() + text.size() && rank > 0) return rank;
  return bad(fmt::format("--lora needs a positive rank, not '{}'", text), "--lora 16, or --lora 16:q,v");
}

Result<BaseStorage> storage_of(const AdapterFlags& flags, Precision precision) {
  if (!flags.base_bits) return BaseStorage::kCompute;
  switch (*flags.base_bits) {
    case 4: return BaseStorage::kNf4;
    case 8: return BaseStorage::kInt8;
    case 16: return size_of(compute_dtype(precision)) == 2 ? BaseStorage::kCompute : BaseStorage::kBf16;
    default:
      return bad(fmt::format("--base-bits is 4, 8 or 16, not {} (32 under --stack pytorch)", *flags.base_bits),
                 "leave it out to keep the model as it is computed with");
  }
}

/// Plans of ours have kernels for low-rank adapters beside matrices, and for nothing else that PEFT trains.
Result<void> check_kernels(const AdapterFlags& flags) {
  const std::pair<bool, std::string> missing[] = {{!flags.peft.empty(), fmt::format("--peft {}", flags.peft)},
                                                  {flags.dora, "--dora"},
                                                  {!flags.train_also.empty(), fmt::format("--train-also {}", flags.train_also)}};
  for (const auto& [asked, option] : missing) {
    if (asked) return bad(fmt::format("{} has no kernels in plans of plimsoll's own", option), "add --stack pytorch, or take --lora 16 alone");
  }
  return {};
}

std::string how_it_is_kept(BaseStorage base) {
  switch (base) {
    case BaseStorage::kCompute: return {};
    case BaseStorage::kBf16: return "; the matrices of its blocks are kept in bf16";
    case BaseStorage::kInt8: return "; the matrices of its blocks are kept in 8 bits";
    case BaseStorage::kNf4: return "; the matrices of its blocks are kept in 4 bits (nf4)";
  }
  return {};
}

std::string what_is_trained(const AdapterSpec& adapter, const ModelSpec& spec) {
  const std::int64_t all = parameter_count(spec);
  const std::int64_t trained = lay_out_parameters(spec, adapter).trained_elements();
  return fmt::format(
      "adapters of rank {} and alpha {} beside {}: {:.2f} M parameters are trained, {:.2f} % of the model's {:.2f} M, "
      "which stay as they are{}",
      adapter.rank, adapter.alpha, to_text(adapter.targets), static_cast<double>(trained) * 1e-6,
      100 * static_cast<double>(trained) / static_cast<double>(all), static_cast<double>(all) * 1e-6,
      how_it_is_kept(adapter.base));
}

}  // namespace

void add_adapter_flags(CLI::App& command, AdapterFlags& flags) {
  const std::string group = "Adapters";
  command
      .add_option(
          "--lora", flags.lora,
          "RANK[:TARGETS]: freeze the model and train low-rank adapters beside q,k,v,o,gate,up,down (GPT-2: qkv,o,up,down; "
          "default: all)")
      ->group(group);
  command.add_option("--lora-alpha", flags.alpha, "what adapters add is scaled by alpha / rank (default: twice the rank)")
      ->group(group);
  command
      .add_option(
          "--base-bits", flags.base_bits,
          "keep the matrices of the frozen model's blocks in 4 (nf4), 8 or 16 (bf16) bits, or all of it in 32 under --stack pytorch (default: as it is computed with)")
      ->group(group);
  command.add_option("--lora-dropout", flags.dropout, "share of what adapters read that is dropped (only under another --stack)")
      ->check(CLI::Range(0.0, 0.99))
      ->group(group)
      ->capture_default_str();
  command.add_flag("--dora", flags.dora, "adapters with a magnitude of every output beside them (DoRA; only under another --stack)")->group(group);
  command
      .add_option("--peft", flags.peft,
                  "METHOD[:RANK][:TARGETS], another of PEFT's in --lora's place: dora, adalora, vera, loha and lokr have a rank, ia3 and bias "
                  "have none, norms neither, prompt:TOKENS (only under another --stack)")
      ->group(group);
  command
      .add_option("--train-also", flags.train_also,
                  "embed, head or embed,head: copies of them are trained beside the adapters (PEFT's modules_to_save; only under another --stack)")
      ->group(group);
}

Result<AdapterSpec> make_adapter(const AdapterFlags& flags, const ModelSpec& spec, Precision precision,
                                 std::vector<std::string>& notes) {
  if (const auto alone = check_alone(flags); !alone) return fail(alone.error());
  if (const auto known = check_kernels(flags); !known) return fail(known.error());
  if (flags.lora.empty()) return AdapterSpec{};
  if (flags.dropout != 0) {
    return bad(fmt::format("--lora-dropout {} has no kernel yet", flags.dropout),
               "leave it out: adapters are then trained without; or add --stack pytorch");
  }
  const std::size_t colon = flags.lora.find(':');
  const auto rank = parse_rank(std::string_view(flags.lora).substr(0, colon));
  if (!rank) return fail(rank.error());
  auto targets = parse_adapter_targets(colon == std::string::npos ? "all" : flags.lora.substr(colon + 1), spec);
  if (!targets) return fail(targets.error());
  const auto base = storage_of(flags, precision);
  if (!base) return fail(base.error());
  const AdapterSpec adapter{.rank = *rank,
                            .alpha = flags.alpha.value_or(2 * static_cast<double>(*rank)),
                            .targets = std::move(*targets),
                            .base = *base};
  if (const auto valid = validate(adapter, spec); !valid) return fail(valid.error());
  if (!flags.described) notes.push_back(what_is_trained(adapter, spec));
  if (colon != std::string::npos && means_one_matrix(std::string_view(flags.lora).substr(colon + 1), spec)) {
    notes.push_back(fmt::format("queries, keys and values of {} are one matrix: one adapter stands beside qkv, not three", spec.name));
  }
  return adapter;
}

}  // namespace plimsoll
