# Fails when the committed RESULTS.md is not what the program prints now.
execute_process(COMMAND ${PROGRAM} validate --markdown --runs bench/results/accuracy.json --recorded data/measured/h100-sxm5 WORKING_DIRECTORY ${ROOT}
                OUTPUT_VARIABLE now RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "plimsoll validate --markdown ended with ${code}")
endif()
file(READ ${ROOT}/RESULTS.md committed)
if(NOT now STREQUAL committed)
  message(FATAL_ERROR "RESULTS.md is out of date; make it anew in the repository's root with\n"
                      "  build/bin/plimsoll validate --markdown --runs bench/results/accuracy.json --recorded data/measured/h100-sxm5 > RESULTS.md")
endif()
