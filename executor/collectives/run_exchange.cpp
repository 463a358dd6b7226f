#include "executor/collectives/run_exchange.h"

#include <algorithm>
#include <cstring>

#include "executor/kernels/half_types.h"
#include "formats/models/half_floats.h"

namespace plimsoll {
namespace {

using Span = std::span<std::byte>;

template <typename Real>
void add_numbers(std::byte* sum, const std::byte* term, std::int64_t count) {
  auto* to = reinterpret_cast<Real*>(sum);
  const auto* from = reinterpret_cast<const Real*>(term);
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

void add_bf16(std::byte* sum, const std::byte* term, std::int64_t count) {
  auto* to = reinterpret_cast<Bf16*>(sum);
  const auto* from = reinterpret_cast<const Bf16*>(term);
  for (std::int64_t i = 0; i < count; ++i) {
    to[i].bits = bf16_from_float(float_from_bf16(to[i].bits) + float_from_bf16(from[i].bits));
  }
}

void add_fp16(std::byte* sum, const std::byte* term, std::int64_t count) {
  auto* to = reinterpret_cast<Fp16*>(sum);
  const auto* from = reinterpret_cast<const Fp16*>(term);
  for (std::int64_t i = 0; i < count; ++i) {
    to[i].bits = fp16_from_float(float_from_fp16(to[i].bits) + float_from_fp16(from[i].bits));
  }
}

void add_numbers(DType dtype, Span sum, std::span<const std::byte> term) {
  const auto count = static_cast<std::int64_t>(sum.size()) / size_of(dtype);
  if (dtype == DType::kFp64) return add_numbers<double>(sum.data(), term.data(), count);
  if (dtype == DType::kBf16) return add_bf16(sum.data(), term.data(), count);
  if (dtype == DType::kFp16) return add_fp16(sum.data(), term.data(), count);
  add_numbers<float>(sum.data(), term.data(), count);
}

class HostSteps final : public ExchangeSteps {
 public:
  explicit HostSteps(Transport& transport) : transport_(transport) {}
  [[nodiscard]] std::uint32_t rank() const override { return transport_.rank(); }
  void exchange(std::uint32_t channel, std::span<const OutgoingBytes> out, std::span<const IncomingBytes> in) override {
    transport_.exchange(channel, out, in);
  }
  void add(DType dtype, Span sum, std::span<const std::byte> term) override { add_numbers(dtype, sum, term); }
  void copy(Span to, std::span<const std::byte> from) override { std::memcpy(to.data(), from.data(), to.size()); }

 private:
  Transport& transport_;
};

/// One member's side of a collective.
class Member {
 public:
  Member(const Exchange& exchange, ExchangeSteps& steps, std::size_t whole_bytes)
      : exchange_(exchange),
        steps_(steps),
        size_(static_cast<std::size_t>(size_of(exchange.dtype))),
        elements_(whole_bytes / size_),
        own_(static_cast<std::size_t>(std::find(exchange.ranks.begin(), exchange.ranks.end(), steps.rank()) -
                                      exchange.ranks.begin())) {}

  /// The sum of everyone's own part of `whole`, into `sum`, which may be that part itself.
  void reduce(std::span<const std::byte> whole, Span workspace, Span sum) const {
    std::vector<OutgoingBytes> out;
    std::vector<IncomingBytes> in;
    std::vector<std::span<const std::byte>> terms(count());
    const std::size_t room = workspace.size() / std::max<std::size_t>(1, count() - 1);
    for (std::size_t i = 0, slot = 0; i < count(); ++i) {
      if (i == own_) continue;
      const Span arrived = workspace.subspan(room * slot++, bytes_of(own_));
      if (bytes_of(i) > 0) out.push_back({exchange_.ranks[i], part(whole, i)});
      if (bytes_of(own_) > 0) in.push_back({exchange_.ranks[i], arrived});
      terms[i] = arrived;
    }
    steps_.exchange(exchange_.channel, out, in);
    terms[own_] = part(whole, own_);
    add_in_order(terms, workspace, sum.first(bytes_of(own_)));
  }

  /// Everyone's part to everyone.
  void gather(std::span<const std::byte> own_part, Span whole) const {
    std::vector<OutgoingBytes> out;
    std::vector<IncomingBytes> in;
    for (std::size_t i = 0; i < count(); ++i) {
      if (i == own_) continue;
      if (bytes_of(own_) > 0) out.push_back({exchange_.ranks[i], own_part.first(bytes_of(own_))});
      if (bytes_of(i) > 0) in.push_back({exchange_.ranks[i], part(whole, i)});
    }
    steps_.exchange(exchange_.channel, out, in);
    const Span own = part(whole, own_);
    if (own.data() != own_part.data() && !own.empty()) steps_.copy(own, own_part.first(own.size()));
  }

  [[nodiscard]] Span own_part(Span whole) const { return part(whole, own_); }

 private:
  [[nodiscard]] std::size_t count() const { return exchange_.ranks.size(); }
  [[nodiscard]] ElementPart elements_of(std::size_t member) const {
    return part_of(static_cast<std::int64_t>(elements_), static_cast<std::int64_t>(count()), static_cast<std::int64_t>(member));
  }
  [[nodiscard]] std::size_t bytes_of(std::size_t member) const {
    return static_cast<std::size_t>(elements_of(member).count) * size_;
  }
  template <typename Bytes>
  [[nodiscard]] Bytes part(Bytes whole, std::size_t member) const {
    return whole.subspan(static_cast<std::size_t>(elements_of(member).first) * size_, bytes_of(member));
  }

  /// The first term arrives in the workspace, or is `sum`'s own place already: sums are made where the first term is.
  void add_in_order(const std::vector<std::span<const std::byte>>& terms, Span workspace, Span sum) const {
    if (sum.empty()) return;
    if (own_ == 0) {
      if (sum.data() != terms[0].data()) steps_.copy(sum, terms[0]);
      for (std::size_t i = 1; i < terms.size(); ++i) steps_.add(exchange_.dtype, sum, terms[i]);
      return;
    }
    const Span made = workspace.first(sum.size());  // where the first member's term is
    for (std::size_t i = 1; i < terms.size(); ++i) steps_.add(exchange_.dtype, made, terms[i]);
    steps_.copy(sum, made);
  }

  const Exchange& exchange_;
  ExchangeSteps& steps_;
  std::size_t size_;
  std::size_t elements_;
  std::size_t own_;
};

}  // namespace

void run_exchange(const Exchange& exchange, ExchangeSteps& steps, const std::vector<Span>& uses) {
  switch (exchange.kind) {
    case ExchangeKind::kSend: {
      const OutgoingBytes out{exchange.ranks.front(), uses[0]};
      return steps.exchange(exchange.channel, {&out, 1}, {});
    }
    case ExchangeKind::kReceive: {
      const IncomingBytes in{exchange.ranks.front(), uses[0]};
      return steps.exchange(exchange.channel, {}, {&in, 1});
    }
    case ExchangeKind::kAllReduce: {
      const Member member(exchange, steps, uses[0].size());
      const Span own = member.own_part(uses[0]);
      member.reduce(uses[0], uses[1], own);
      return member.gather(own, uses[0]);
    }
    case ExchangeKind::kReduceScatter: return Member(exchange, steps, uses[0].size()).reduce(uses[0], uses[2], uses[1]);
    case ExchangeKind::kAllGather: return Member(exchange, steps, uses[1].size()).gather(uses[0], uses[1]);
  }
}

void run_exchange(const Exchange& exchange, Transport& transport, const std::vector<Span>& uses) {
  HostSteps steps(transport);
  run_exchange(exchange, steps, uses);
}

}  // namespace plimsoll
