// SPDX-License-Identifier: MIT
// Files of any format: what is no file, damage, huge files, and writing.
#include <algorithm>
#include <csignal>
#include <fstream>

#include <QTest>
#include <sys/resource.h>

#include "core/base/path.hpp"
#include "core/base/random.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"
#include "tests/support/cpu_time.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/input_files.hpp"

using namespace placewright;
using test::check_refusal, test::content_of, test::kMachine, test::kNetwork, test::kPlacement, test::refusal,
    test::repeated, test::small_problem;

namespace {

const Path kData = PLACEWRIGHT_TEST_DATA;

}  // namespace

class TestWholeFile : public test::FileFixture {
    Q_OBJECT

private Q_SLOTS:
    void hugeGarbage_data();
    void hugeGarbage();
    void notAFile();

    void damagedFiles_data();
    void damagedFiles();

    void writeFile();
    void writeKeepsPermissionsAndLinks();
    void failedWriteKeepsTheOldFile();
    void impossibleTargets();

private:
    std::vector<std::string> filesInFolder() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(m_folder->path().toStdString()))
            names.push_back(entry.path().filename());
        std::ranges::sort(names);
        return names;
    }
};

void TestWholeFile::hugeGarbage_data() {
    QTest::addColumn<std::string>("unit");
    QTest::newRow("zeros") << std::string(1, '\0');
    QTest::newRow("blanks") << std::string(" \n");
    QTest::newRow("digits") << std::string("0");
    QTest::newRow("brackets") << std::string("[");
    QTest::newRow("braces") << std::string("{");
    QTest::newRow("nested objects") << std::string("{\"a\":");
    QTest::newRow("binary") << std::string();
}

void TestWholeFile::hugeGarbage() {
    QFETCH(const std::string, unit);
    constexpr std::size_t kBytes = 100'000'000;
    const Path path = file("huge.json");
    {
        std::string block = repeated(unit, unit.empty() ? 0 : (std::size_t{1} << 20) / unit.size());
        if (unit.empty()) {
            Random random(1);
            for (std::size_t i = 0; i < std::size_t{1} << 20; ++i) block += static_cast<char>(random.bits());
            block[0] = '{';
        }
        std::ofstream stream(path, std::ios::binary);
        for (std::size_t written = 0; written < kBytes; written += block.size()) stream << block;
    }
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    const test::CpuTimer timer;
    const QString network = refusal([&] { read_network(path); });
    const QString machine = refusal([&] { read_machine(path); });
    const double elapsed_s = timer.elapsed_s();
    getrusage(RUSAGE_SELF, &after);
    check_refusal(network, path, "");
    QCOMPARE(machine, network);
    QVERIFY2(elapsed_s < 4, qPrintable(QString::number(elapsed_s) + " s"));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers keep freed memory
    // At most the text itself.
    const auto grown_kb = after.ru_maxrss - before.ru_maxrss;
    QVERIFY2(grown_kb < 150'000, qPrintable(QString::number(grown_kb) + " kB"));
#endif
}

void TestWholeFile::notAFile() {
    check_refusal(refusal([&] { read_network(file("none.json")); }), file("none.json"),
                  "there is no such file");
    check_refusal(refusal([&] { read_machine(file("")); }), file(""), "is a folder, expected a file");
    check_refusal(refusal([] { read_machine("/dev/null"); }), "/dev/null", "is not a regular file");
    const Path path = fileWith("n.json", kNetwork);
    check_refusal(refusal([&] { read_network(path / "below.json"); }), path / "below.json", "");
    std::filesystem::resize_file(path, std::uintmax_t{513} << 20);
    check_refusal(refusal([&] { read_network(path); }), path, "has 538 MB, expected at most 537 MB");
}

// ---- Damage ----

void TestWholeFile::damagedFiles_data() {
    QTest::addColumn<std::string>("content");
    QTest::newRow("network") << kNetwork;
    QTest::newRow("machine") << kMachine;
    QTest::newRow("placement") << kPlacement;
    QTest::newRow("Exprimo's network") << content_of(kData / "exprimo_network.json");
    QTest::newRow("Exprimo's device graph") << content_of(kData / "exprimo_machine.json");
}

/// For any damaged file a reader returns or throws InputError with one line.
void TestWholeFile::damagedFiles() {
    QFETCH(const std::string, content);
    const auto problem = small_problem(fileWith("n.json", kNetwork), fileWith("m.json", kMachine));
    static const std::vector<std::string> pieces{"",
                                                 "0",
                                                 "-1",
                                                 "1e300",
                                                 "9223372036854775807",
                                                 "18446744073709551615",
                                                 "null",
                                                 "true",
                                                 "[]",
                                                 "{}",
                                                 "[",
                                                 "\"\"",
                                                 "\"a\"",
                                                 "\xff",
                                                 "\\u0000",
                                                 "2.5",
                                                 "1e-320",
                                                 "\"x\":1,",
                                                 ",",
                                                 "\"cpu:0\""};
    Random random(7);
    std::size_t refused = 0;
    for (int round = 0; round < 1500; ++round) {
        std::string damaged = content;
        for (std::size_t i = random.index(3) + 1; i > 0; --i) {
            // Mostly from a value to the next delimiter, so that much of the file stays well-formed.
            std::size_t begin = random.index(damaged.size());
            std::size_t end = std::min(damaged.size(), begin + random.index(12));
            if (random.chance(0.8)) {
                begin = std::min(damaged.find_first_of(":[", begin), damaged.size() - 1) + 1;
                end = std::min(damaged.find_first_of(",]}", begin), damaged.size());
            }
            damaged.replace(begin, end - begin, pieces[random.index(pieces.size())]);
        }
        const Path path = fileWith("damaged.json", damaged);
        for (const QString& message :
             {refusal([&] {
                  read_network(path, round % 5 == 0 ? std::optional<std::int64_t>(16) : std::nullopt);
              }),
              refusal([&] { read_machine(path); }), refusal([&] { read_placement(path, *problem); })}) {
            if (message.isEmpty()) continue;
            ++refused;
            check_refusal(message, path, "");
            if (QTest::currentTestFailed()) return;
        }
    }
    QVERIFY(refused > 3000);
}

// ---- Writing ----

void TestWholeFile::writeFile() {
    write_file(file("a"), "one");
    QCOMPARE(content_of(file("a")), std::string("one"));
    write_file(file("a"), std::string("t\0wo", 4));
    QCOMPARE(content_of(file("a")), std::string("t\0wo", 4));
    QVERIFY(filesInFolder() == std::vector<std::string>{"a"});
}

void TestWholeFile::writeKeepsPermissionsAndLinks() {
    using std::filesystem::perms;
    write_file(file("a"), "one");
    const auto usual = std::filesystem::status(file("a")).permissions();
    QVERIFY((usual & perms::owner_read) != perms::none);
    std::filesystem::permissions(file("a"), perms::owner_read | perms::owner_write);
    std::filesystem::create_symlink("a", file("link"));
    write_file(file("link"), "two");
    QVERIFY(std::filesystem::is_symlink(file("link")));
    QCOMPARE(content_of(file("a")), std::string("two"));
    QVERIFY(std::filesystem::status(file("a")).permissions() == (perms::owner_read | perms::owner_write));
    // A device file is written to, not replaced.
    write_file("/dev/null", "three");
    QVERIFY(std::filesystem::is_character_file("/dev/null"));
}

void TestWholeFile::failedWriteKeepsTheOldFile() {
    write_file(file("a"), "old");
    rlimit before{};
    QCOMPARE(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit tight = before;
    tight.rlim_cur = 1000;
    QCOMPARE(setrlimit(RLIMIT_FSIZE, &tight), 0);
    const QString message = refusal([&] { write_file(file("a"), std::string(100'000, 'x')); });
    const QString through_reader = refusal([&] { write_network(test::chain(1000), file("a")); });
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    check_refusal(message, file("a"), "cannot be written: File too large");
    check_refusal(through_reader, file("a"), "cannot be written: File too large");
    QCOMPARE(content_of(file("a")), std::string("old"));
    QVERIFY(filesInFolder() == std::vector<std::string>{"a"});
}

void TestWholeFile::impossibleTargets() {
    const Path nowhere = file("no") / "such" / "folder" / "p.json";
    check_refusal(refusal([&] { write_file(nowhere, "x"); }), nowhere,
                  "cannot be written: there is no folder");
    std::filesystem::create_directory(file("folder"));
    check_refusal(refusal([&] { write_file(file("folder"), "x"); }), file("folder"),
                  "cannot be written: it is a folder");
    write_file(file("plain"), "x");
    check_refusal(refusal([&] { write_file(file("plain") / "below", "x"); }), file("plain") / "below",
                  "cannot be written: there is no folder");
    const Path long_name = file(std::string(300, 'n'));
    check_refusal(refusal([&] { write_file(long_name, "x"); }), long_name, "cannot be written: ");
    QVERIFY((filesInFolder() == std::vector<std::string>{"folder", "plain"}));
}

QTEST_GUILESS_MAIN(TestWholeFile)
#include "tst_whole_file.moc"
