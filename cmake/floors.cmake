# qklab_floor(NAME [floors and libraries below it ...]): one static library for src/NAME and its rooms.
# A floor links only what lies below it; tests/house checks the includes, between rooms as well.
function(qklab_floor name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  add_library(qklab_${name} STATIC ${sources})
  target_include_directories(qklab_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(qklab_${name} PUBLIC ${ARGN})
  qklab_warnings(qklab_${name})
endfunction()

function(qklab_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                           -Werror)
endfunction()
