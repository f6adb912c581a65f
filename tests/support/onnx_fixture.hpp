// SPDX-License-Identifier: MIT
// What the tests of ONNX models share: a folder for models, and ways to read them.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <QObject>
#include <QString>
#include <QTemporaryDir>

#include "core/base/path.hpp"
#include "core/graph/graph.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/support/onnx_models.hpp"

namespace placewright::test {

inline const Op& op_of(const Graph& graph, std::string_view name) {
    const auto id = graph.find(name);
    if (!id) throw std::runtime_error("no op " + std::string(name));
    return graph.op(*id);
}

class OnnxFixture : public QObject {
protected:
    QTemporaryDir m_folder;

    Path write(const std::string& name, const std::string& bytes) {
        const Path file = Path(m_folder.path().toStdString()) / name;
        std::ofstream(file, std::ios::binary) << bytes;
        return file;
    }
    NetworkFile read(const OnnxModel& model, std::optional<std::int64_t> batch = {},
                     const std::map<std::string, std::int64_t>& dims = {}) {
        ReadOptions options(batch);
        options.dims = dims;
        return read_network(write("net.onnx", model.bytes()), options);
    }
    QString error(const std::function<void()>& call) {
        try {
            call();
        } catch (const InputError& problem) {
            return QString::fromUtf8(problem.what()).replace(m_folder.path() + '/', QString());
        }
        return {};
    }
    QString refusal(const std::string& bytes) {
        const Path file = write("bad.onnx", bytes);
        return error([&] { read_network(file); });
    }
};

}  // namespace placewright::test
