# SPDX-License-Identifier: MIT
# cmake "-DTESTS=FOLDER/tst_a.cpp;FOLDER/tst_b.cpp" -DOUTPUT=FILE.cpp -P test_group.cmake
# Writes one file of several tests, as a program that runs the test by whose name it is called. Each test is in a
# namespace of its own, in which the project's namespace is visible; all headers come before.
set(headers)
set(tests)
set(choices)
foreach(file ${TESTS})
  cmake_path(GET file STEM test)
  file(STRINGS ${file} included REGEX "^#include [<\"]")
  list(APPEND headers ${included})
  string(APPEND tests "
namespace ${test}::placewright {
using namespace ::placewright;
}
#define main ${test}_main
namespace ${test} {
#include \"${file}\"
}
#undef main
")
  string(APPEND choices "    if (name == \"${test}\") return ${test}::${test}_main(argc, argv);\n")
endforeach()
list(FILTER headers EXCLUDE REGEX "[.]moc\"")
list(REMOVE_DUPLICATES headers)
list(JOIN headers "\n" headers)
file(WRITE ${OUTPUT} "// Written by tests/support/test_group.cmake.
${headers}
#include <iostream>
#include <string_view>
// What moc writes since Qt 6.5 includes this file, which must not come into the namespace of a test.
#if __has_include(<QtCore/qtmochelpers.h>)
#include <QtCore/qtmochelpers.h>
#endif

namespace placewright {}
${tests}
int main(int argc, char** argv) {
    const std::string_view called = argv[0];
    const std::string_view name = called.substr(called.rfind('/') + 1);
${choices}    std::cerr << name << \": call this program by the name of one of its tests\" << std::endl;
    return 2;
}
")
