#pragma once

#include <cupti.h>

#include <array>
#include <atomic>

#include "profiler/cupti/cupti_library.h"
#include "profiler/decode/spool_writer.h"

namespace plimsoll {

/// Writes one record of CUPTI as a record of the spool. Kinds that were not asked for are passed over.
class RecordTranslator {
 public:
  /// Both outlive it.
  RecordTranslator(const CuptiLibrary& cupti, SpoolWriter& spool) : cupti_(cupti), spool_(spool) {}

  void translate(const CUpti_Activity& record);

 private:
  void kernel(const CUpti_Activity& record);
  void copy(const CUpti_Activity& record);
  void peer_copy(const CUpti_Activity& record);
  void fill(const CUpti_Activity& record);
  void memory(const CUpti_Activity& record);
  void call(const CUpti_Activity& record, CUpti_CallbackDomain domain);
  void synchronization(const CUpti_Activity& record);
  void event(const CUpti_Activity& record);
  void marker(const CUpti_Activity& record);
  void external(const CUpti_Activity& record);
  void device(const CUpti_Activity& record);

  std::uint32_t name_of_call(CUpti_CallbackDomain domain, CUpti_CallbackId call);

  /// Name numbers of the calls of one domain, less 1; 0: not known yet. Buffers may be read by two threads at once.
  using CallNames = std::array<std::atomic<std::uint32_t>, 1024>;

  const CuptiLibrary& cupti_;
  SpoolWriter& spool_;
  CallNames runtime_names_{};
  CallNames driver_names_{};
};

}  // namespace plimsoll
