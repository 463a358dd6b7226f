#pragma once

#include <cupti.h>

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

  const CuptiLibrary& cupti_;
  SpoolWriter& spool_;
};

}  // namespace plimsoll
