#pragma once

namespace plimsoll {

/// OpenBLAS starts a thread for each further core when the program is loaded, of which each takes 128 MiB of address
/// space, and waits for it for ever, also beyond the program's end, where there is less (`ulimit -v`). The program uses
/// none of them. Under such a limit it starts itself once more, told not to have them. Call it first.
void restart_without_blas_threads(char** arguments);

}  // namespace plimsoll
