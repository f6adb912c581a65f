// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

namespace placewright::test {

/// Folder of a part of the reference data, such as "exprimo": published results, and results of other
/// programs on the same cases. The data is not part of the project; tests that need it are skipped if the
/// folder is absent. CMake's PLACEWRIGHT_REFERENCE names the root folder.
inline std::filesystem::path reference(const char* part) {
    return std::filesystem::path(PLACEWRIGHT_REFERENCE) / part;
}

}  // namespace placewright::test
