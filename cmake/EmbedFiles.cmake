# embed_files(TARGET FUNCTION FILES …): makes std::string_view FUNCTION(std::string_view name), which returns the text of a
# listed file (named relative to the repository's root) or an empty view, so that the program needs no data folder.
function(embed_files target function)
  set(entries "")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
    file(READ "${PROJECT_SOURCE_DIR}/${file}" text)
    string(LENGTH "${text}" length)
    set(pieces "")
    set(at 0)
    while(at LESS length)
      string(SUBSTRING "${text}" ${at} 8000 piece)
      string(APPEND pieces "R\"embed~(${piece})embed~\"\n")
      math(EXPR at "${at} + 8000")
    endwhile()
    string(APPEND entries "  if (name == \"${file}\") return std::string_view(\n${pieces});\n")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT
"#include <string_view>
namespace plimsoll {
std::string_view ${function}(std::string_view name);
std::string_view ${function}(std::string_view name) {
@entries@  return {};
}
}  // namespace plimsoll
" @ONLY)
  target_sources(${target} PRIVATE "${source}")
endfunction()
