# Law: a program that only knows the installed headers and libraries builds against them and gets an answer.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN} ended with ${code}:\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${FOLDER}")
run(${CMAKE_COMMAND} --install ${BUILD} --component library --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${FOLDER}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${FOLDER}/prefix
    -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${COMPILER_FLAGS}")
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${FOLDER}/build/fit_a_model gpt2-xl "RTX 2060 6GB")
# 1.56 billion parameters need 16 bytes each, 23.2 GiB: more than 6 GB of device, less than 64 GiB beside it.
if(NOT output MATCHES "gpt2-xl: FITS" OR NOT output MATCHES "host +needs")
  message(FATAL_ERROR "an unexpected answer:\n${output}")
endif()
message(STATUS "${output}")
file(REMOVE_RECURSE "${FOLDER}")
