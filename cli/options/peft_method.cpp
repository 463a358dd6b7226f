#include "cli/options/peft_method.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "core/model/adapter_parts.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> bad(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--peft", .remedy = std::move(remedy)});
}

/// "vera:256:q,v" in its parts.
struct Typed {
  std::string_view method;
  std::int64_t number = 0;  ///< rank, or tokens of a prompt; 0: not typed
  std::string_view targets;
};

Typed parts_of(std::string_view text) {
  Typed typed;
  const auto next = [&] {
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    text.remove_prefix(colon == std::string_view::npos ? text.size() : colon + 1);
    return part;
  };
  typed.method = next();
  const std::string_view rest = text;
  const std::string_view number = next();
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), typed.number);
  const bool whole = problem == std::errc() && end == number.data() + number.size() && typed.number > 0;
  if (!whole) typed.number = 0;
  typed.targets = whole ? text : rest;
  return typed;
}

/// As PEFT takes them where nobody names any.
std::string usual_targets(AdapterMethod method, const ModelSpec& spec) {
  if (method == AdapterMethod::kIa3) return fuses_qkv(spec.family) ? "qkv,down" : "k,v,down";
  return method == AdapterMethod::kBias ? "v" : "all";
}

Result<void> check_parts(const Typed& typed, AdapterMethod method, std::string_view text) {
  const bool prompt = method == AdapterMethod::kPrompt;
  const bool numbered = has_rank(method) || prompt;
  if (numbered && typed.number == 0) {
    return bad(fmt::format("'{}' says no {}", text, prompt ? "number of tokens" : "rank"), fmt::format("--peft {}:{}", typed.method, prompt ? 20 : 16));
  }
  if (!numbered && typed.number > 0) return bad(fmt::format("{} has no rank", typed.method), fmt::format("--peft {}", typed.method));
  if (!has_targets(method) && !typed.targets.empty())
    return bad(fmt::format("{} stands beside no matrix, and '{}' names some", typed.method, text), fmt::format("--peft {}", text.substr(0, text.rfind(':'))));
  return {};
}

Result<void> take_method(AdapterFlags& flags, const ModelSpec& spec, AdapterSetup& setup) {
  const std::string text = std::exchange(flags.peft, {});
  if (!flags.lora.empty()) return bad("--lora and --peft both say what is trained", "leave --lora out: --peft dora:16:q,v says rank and targets");
  const Typed typed = parts_of(text);
  const auto method = parse_adapter_method(typed.method);
  if (!method) return fail(method.error());
  if (const auto goes = check_parts(typed, *method, text); !goes) return goes;
  setup.method = *method;
  if (*method == AdapterMethod::kPrompt) setup.virtual_tokens = typed.number;
  const std::string targets = typed.targets.empty() ? usual_targets(*method, spec) : std::string(typed.targets);
  flags.lora = fmt::format("{}:{}", has_rank(*method) ? typed.number : 1, targets);
  return {};
}

}  // namespace

Result<AdapterSetup> take_peft_method(AdapterFlags& flags, const ModelSpec& spec) {
  AdapterSetup setup;
  if (!flags.peft.empty()) {
    if (const auto taken = take_method(flags, spec, setup); !taken) return fail(taken.error());
  }
  if (flags.lora.empty()) return setup;
  if (std::exchange(flags.dora, false)) {
    const bool plain = setup.method == AdapterMethod::kLora || setup.method == AdapterMethod::kDora;
    if (!plain) return bad(fmt::format("--dora is of low-rank adapters, not of {}", to_text(setup.method)), "leave one out");
    setup.method = AdapterMethod::kDora;
  }
  if (const auto copies = parse_copies(std::exchange(flags.train_also, {}), setup); !copies) return fail(copies.error());
  flags.described = setup.beyond_lora();
  return setup;
}

}  // namespace plimsoll
