# Fails when the committed docs/headlines.md is not what the program prints now.
execute_process(COMMAND ${PROGRAM} headlines --markdown WORKING_DIRECTORY ${ROOT} OUTPUT_VARIABLE now RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "plimsoll headlines --markdown ended with ${code}")
endif()
file(READ ${ROOT}/docs/headlines.md committed)
if(NOT now STREQUAL committed)
  message(FATAL_ERROR "docs/headlines.md is out of date; make it anew in the repository's root with\n"
                      "  build/bin/plimsoll headlines --markdown > docs/headlines.md")
endif()
