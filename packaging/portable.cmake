# SPDX-License-Identifier: MIT
# cmake -DFOLDER=... -P portable.cmake: copies the libraries that the programs in FOLDER need into it, with Qt's and
# Graphviz's plugins. What belongs to the system that it will run on stays out: the C library, drivers, the display.
set(system "^lib(c|m|dl|rt|pthread|util|resolv|nsl|stdc\\+\\+|gcc_s)\\.so" "^ld-linux" "^lib(GL|EGL|GLX|OpenGL|GLdispatch|gbm|vulkan)\\.so"
  "^lib(X11|X11-xcb|xcb|Xau|Xdmcp|wayland-.*|fontconfig|freetype|asound|cuda|nvidia-.*)\\.so")
file(GLOB_RECURSE modules ${FOLDER}/lib/placewright/*.so ${FOLDER}/plugins/*.so ${FOLDER}/lib/graphviz/*.so*)
file(GLOB programs ${FOLDER}/bin/placewright*)
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${programs} ${FOLDER}/lib/placewright/placewright-torchscript
  MODULES ${modules}
  RESOLVED_DEPENDENCIES_VAR found
  UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES ${system})
if(missing)
  message(FATAL_ERROR "libraries that were not found: ${missing}")
endif()
file(COPY ${found} DESTINATION ${FOLDER}/lib/placewright FOLLOW_SYMLINK_CHAIN)
