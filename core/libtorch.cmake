# SPDX-License-Identifier: MIT
# LibTorch::LibTorch: the LibTorch that the libraries in core/learn/torch, core/measure/torch and core/io/pytorch/torch
# link. The system's, or with PLACEWRIGHT_TORCH_PYTHON that of a PyTorch package of Python.
set(PLACEWRIGHT_TORCH_PYTHON "" CACHE FILEPATH
  "Python interpreter whose PyTorch has the LibTorch to build with; empty for the system's")

add_library(placewright_libtorch INTERFACE)
add_library(LibTorch::LibTorch ALIAS placewright_libtorch)
if(NOT PLACEWRIGHT_TORCH_PYTHON)
  find_package(Torch REQUIRED CONFIG)
  target_link_libraries(placewright_libtorch INTERFACE ${TORCH_LIBRARIES})
  set(placewright_libtorch_origin "the system's LibTorch (package libtorch1.13)")
  return()
endif()

# Not the package's own TorchConfig.cmake: it asks for the compilers and libraries of CUDA, which nothing here needs.
execute_process(
  COMMAND ${PLACEWRIGHT_TORCH_PYTHON} -c
    "import pathlib, torch; print(pathlib.Path(torch.__file__).parent, torch.__version__, int(torch.compiled_with_cxx11_abi()), sep='\\n')"
  OUTPUT_VARIABLE answer ERROR_VARIABLE error RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "PLACEWRIGHT_TORCH_PYTHON: ${PLACEWRIGHT_TORCH_PYTHON} cannot import torch; install it there, for example with \"pip install torch\", or leave the option empty to build with the system's LibTorch.\n${error}")
endif()
string(REPLACE "\n" ";" answer "${answer}")
list(GET answer 0 torch_folder)
list(GET answer 1 torch_version)
list(GET answer 2 torch_has_new_abi)
if(NOT torch_has_new_abi)
  message(FATAL_ERROR "PLACEWRIGHT_TORCH_PYTHON: PyTorch ${torch_version} in ${torch_folder} was built for the C++ library's ABI from before C++11, with which nothing else here can be linked. Install PyTorch 2.7 or later.")
endif()
set(placewright_libtorch_origin "PyTorch ${torch_version} in ${torch_folder}")
message(STATUS "LibTorch of ${placewright_libtorch_origin}")
target_include_directories(placewright_libtorch SYSTEM INTERFACE
  ${torch_folder}/include
  ${torch_folder}/include/torch/csrc/api/include)
foreach(name c10 torch_cpu torch)
  target_link_libraries(placewright_libtorch INTERFACE ${torch_folder}/lib/lib${name}.so)
endforeach()
# Nothing refers to these: they register CUDA's kernels when they are loaded.
foreach(name c10_cuda torch_cuda)
  if(EXISTS ${torch_folder}/lib/lib${name}.so)
    target_link_libraries(placewright_libtorch INTERFACE
      "-Wl,--push-state,--no-as-needed" ${torch_folder}/lib/lib${name}.so "-Wl,--pop-state")
  endif()
endforeach()
# Installed libraries find it where it was when they were built.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
