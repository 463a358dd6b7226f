# Puts links to the package's sources beside the native module, so that a build can be imported as it is.
file(GLOB entries RELATIVE "${FROM}" "${FROM}/*")
foreach(entry IN LISTS entries)
  file(CREATE_LINK "${FROM}/${entry}" "${TO}/${entry}" SYMBOLIC)
endforeach()
