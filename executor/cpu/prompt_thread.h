#pragma once

namespace plimsoll {

/// Of the calling thread: it sleeps nearly always, and is to run at once when it wakes, beside threads that compute.
/// Linux from 6.12 on lets it ask for short slices, with which it interrupts others; its sleeps end within
/// microseconds. Where that is not to be had, nothing changes.
void become_prompt();

}  // namespace plimsoll
