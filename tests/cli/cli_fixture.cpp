// SPDX-License-Identifier: MIT
#include "tests/cli/cli_fixture.hpp"

namespace placewright::test {

void CliFixture::initTestCase() {
    QVERIFY(m_folder.isValid());
    write("diamond.json", QByteArray(kGraph).replace("TRAINING", "none"));
    write("diamond-training.json", QByteArray(kGraph).replace("TRAINING", "implicit"));
    write("pair.json", QByteArray(kMachine).replace("MEMORY", "1e9"));
    write("layer.json", kLayer);
    write("apart.json",
          R"({"format": "placewright.placement", "version": 1, "graph": "diamond", "machine": "pair",
                            "placement": {"a": "gpu:0", "b": "gpu:0", "c": "gpu:1", "d": "gpu:0"}})");
    write("apart-flat.json", R"({"a": 0, "b": 0, "c": 1, "d": 0})");
    write("stages-flat.json", R"({"a": 0, "b": 1, "c": 1, "d": 1})");
}

}  // namespace placewright::test
