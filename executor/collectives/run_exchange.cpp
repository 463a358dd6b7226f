#include "executor/collectives/run_exchange.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
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

/// One member's side of an all-to-all.
class RowMember {
 public:
  RowMember(const Exchange& exchange, ExchangeSteps& steps, std::span<const std::byte> counts)
      : exchange_(exchange), steps_(steps), counts_(reinterpret_cast<const std::int32_t*>(counts.data())) {}

  void send_out(Span rows, Span visitors) {
    measure(rows, visitors);
    move([&](std::size_t i) { return own_rows(rows, i); }, [&](std::size_t i) { return visiting(visitors, i); });
  }
  void send_back(Span visitors, Span rows) {
    measure(rows, visitors);
    move([&](std::size_t i) { return visiting(visitors, i); }, [&](std::size_t i) { return own_rows(rows, i); });
  }

 private:
  /// A row's length, of which there must be as many in both as the counts say.
  void measure(Span rows, Span visitors) {
    const std::size_t members = exchange_.ranks.size();
    own_ = counts_[2 * members + 1];
    room_ = counts_[2 * members + 2];
    if (own_ < 1 || room_ < 1) stray();
    row_ = length_of_row(rows.size(), own_);
    if (visitors.size() % members != 0 || length_of_row(visitors.size() / members, room_) != row_) stray();
  }

  [[nodiscard]] static std::size_t length_of_row(std::size_t bytes, std::int32_t rows) {
    if (bytes % static_cast<std::size_t>(rows) != 0) stray();
    return bytes / static_cast<std::size_t>(rows);
  }

  template <typename From, typename To>
  void move(const From& from, const To& to) const {
    std::vector<OutgoingBytes> out;
    std::vector<IncomingBytes> in;
    for (std::size_t i = 0; i < exchange_.ranks.size(); ++i) {
      const std::uint32_t rank = exchange_.ranks[i];
      const Span sent = from(i), wanted = to(i);
      if (rank == steps_.rank()) {
        if (sent.size() != wanted.size()) stray();
        if (!sent.empty()) steps_.copy(wanted, sent);
        continue;
      }
      if (!sent.empty()) out.push_back({rank, sent});
      if (!wanted.empty()) in.push_back({rank, wanted});
    }
    steps_.exchange(exchange_.channel, out, in);
  }

  /// Those that are meant for a member.
  [[nodiscard]] Span own_rows(Span rows, std::size_t member) const {
    const std::int32_t first = counts_[member], end = counts_[member + 1];
    if (first < 0 || end < first || end > own_) stray();
    return rows.subspan(static_cast<std::size_t>(first) * row_, static_cast<std::size_t>(end - first) * row_);
  }
  [[nodiscard]] Span visiting(Span visitors, std::size_t member) const {
    const std::int32_t count = counts_[exchange_.ranks.size() + 1 + member];
    if (count < 0 || count > room_) stray();
    return visitors.subspan(member * static_cast<std::size_t>(room_) * row_, static_cast<std::size_t>(count) * row_);
  }

  [[noreturn]] static void stray() {
    throw EnvironmentError({.kind = ErrorKind::kDefect,
                            .what = "the counts of an all-to-all pass the rows that there is room for",
                            .where = {},
                            .remedy = "make the plan again with plimsoll plan"});
  }

  const Exchange& exchange_;
  ExchangeSteps& steps_;
  const std::int32_t* counts_;
  std::size_t row_ = 0;    ///< bytes of one
  std::int32_t own_ = 0;   ///< rows that there is room for
  std::int32_t room_ = 0;  ///< the same, of each member's visitors
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
    case ExchangeKind::kAllToAll: return RowMember(exchange, steps, uses[1]).send_out(uses[0], uses[2]);
    case ExchangeKind::kAllToAllBack: return RowMember(exchange, steps, uses[1]).send_back(uses[0], uses[2]);
  }
}

void run_exchange(const Exchange& exchange, Transport& transport, const std::vector<Span>& uses) {
  HostSteps steps(transport);
  run_exchange(exchange, steps, uses);
}

}  // namespace plimsoll
