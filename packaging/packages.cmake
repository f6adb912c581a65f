# SPDX-License-Identifier: MIT
# Debian packages: `cpack` in the folder of the build.
set(CPACK_GENERATOR DEB)
# Each package has a summary of its own; the project's would come before it.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_VENDOR "The Placewright authors")
set(CPACK_PACKAGE_CONTACT "The Placewright authors <placewright@users.noreply.github.com>")
set(CPACK_PACKAGE_HOMEPAGE_URL ${PLACEWRIGHT_HOME})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL cli python)
if(PLACEWRIGHT_WINDOW)
  list(APPEND CPACK_COMPONENTS_ALL window)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# placewright_package(COMPONENT NAME SECTION summary description)
macro(placewright_package component name section summary description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${description}")
  foreach(document copyright changelog.gz)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${document})
    if(document STREQUAL copyright)
      set(file ${CMAKE_CURRENT_SOURCE_DIR}/debian/copyright)
    endif()
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
  endforeach()
endmacro()

add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz
  COMMAND gzip -9nc ${CMAKE_CURRENT_SOURCE_DIR}/debian/changelog > ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz
  DEPENDS debian/changelog)
add_custom_target(placewright_changelog ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz)

placewright_package(cli placewright-cli science
  "device placement of neural networks: command line"
  "Placewright decides on which GPU or CPU each operation of a neural network
runs. It simulates training and inference steps from the data sheets of
devices, searches for placements with classical, evolutionary and learned
algorithms, and proves how far from optimal they are.
.
This package contains the command line, and the networks, machines and
devices that both programs know.")
set(CPACK_DEBIAN_CLI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CLI_PACKAGE_SUGGESTS "openmpi-bin")
set(CPACK_DEBIAN_CLI_PACKAGE_RECOMMENDS "libopenblas0-openmp")

if(PLACEWRIGHT_WINDOW)
  placewright_package(window placewright science
    "device placement explorer for neural networks"
    "Placewright decides on which GPU or CPU each operation of a neural network
runs. Its window shows the computation graph, coloured by device, while better
placements are found, a timeline that tells why a step takes as long as it
does, and comparisons of algorithms. Operations can be dragged to other
devices, and placements exported for training runs.")
  set(CPACK_DEBIAN_WINDOW_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_WINDOW_PACKAGE_DEPENDS "placewright-cli (= ${PROJECT_VERSION})")
  set(CPACK_DEBIAN_WINDOW_PACKAGE_RECOMMENDS "qt6-wayland, fonts-dejavu-core")
endif()

placewright_package(python python3-placewright python
  "device placement of PyTorch models"
  "Placewright decides on which GPU or CPU each operation of a neural network
runs. This package exports PyTorch models to it, and runs the models under the
placements that it finds.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "placewright-cli (>= ${PROJECT_VERSION}), python3:any, python3-torch")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_SOURCE_DIR}/debian/postinst ${CMAKE_CURRENT_SOURCE_DIR}/debian/prerm)

include(CPack)
