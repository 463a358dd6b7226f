# add_floor(NAME SOURCES … DEPENDS …): one room of the house as a static library with the house's compile options.
# Headers are included from the repository's root.
function(plimsoll_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/plimsoll>)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
    -Wno-missing-field-initializers -ffp-contract=off)
  if(PLIMSOLL_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(PLIMSOLL_SANITIZED AND ${target} MATCHES "${PLIMSOLL_SANITIZED}")
    target_compile_options(${target} PRIVATE -fsanitize=${PLIMSOLL_SANITIZERS} -fno-sanitize-recover=undefined
      -Wno-error)  # checks that are woven in make this compiler warn of what cannot be
    target_link_options(${target} PUBLIC -fsanitize=${PLIMSOLL_SANITIZERS})
  endif()
endfunction()

function(add_floor name)
  cmake_parse_arguments(FLOOR "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(plimsoll_${name} STATIC ${FLOOR_SOURCES})
  add_library(plimsoll::${name} ALIAS plimsoll_${name})
  set_target_properties(plimsoll_${name} PROPERTIES EXPORT_NAME ${name})
  plimsoll_compile_options(plimsoll_${name})
  target_link_libraries(plimsoll_${name} PUBLIC ${FLOOR_DEPENDS})
endfunction()

# add_law_test(NAME SOURCES … DEPENDS … [LABELS …]): a Catch2 program whose cases state laws.
function(add_law_test name)
  cmake_parse_arguments(LAW "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT LAW_LABELS)
    set(LAW_LABELS unit)
  endif()
  add_executable(${name} ${LAW_SOURCES})
  plimsoll_compile_options(${name})
  target_link_libraries(${name} PRIVATE plimsoll_catch_main ${LAW_DEPENDS})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${LAW_LABELS}" TIMEOUT 600)
endfunction()
