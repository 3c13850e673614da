# Builds that watch themselves run: QKLAB_SANITIZE names sanitizers, QKLAB_COVERAGE counts the lines that run.
set(QKLAB_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=")
option(QKLAB_COVERAGE "Count the lines that run" OFF)

if(QKLAB_SANITIZE)
  add_compile_options(-fsanitize=${QKLAB_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${QKLAB_SANITIZE})
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  # GCC 12 takes parts of <regex> for uninitialised once they are instrumented (GCC bug 105562).
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()
if(QKLAB_COVERAGE)
  # Counters that threads share would otherwise lose what two of them count at once.
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

# A kernel is one source compiled for every instruction set, and instrumented it takes minutes each. Two stand for
# all: AVX2, with lanes as everywhere else, and one lane; the choice between them at run time stays.
if(QKLAB_SANITIZE OR QKLAB_COVERAGE)
  add_compile_definitions("HWY_BROKEN_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL)" HWY_BROKEN_EMU128=1)
endif()
