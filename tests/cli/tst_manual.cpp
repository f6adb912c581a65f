// SPDX-License-Identifier: MIT
// Manual pages and completions, which are written from the table of options.
#include <algorithm>

#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include "app/manual/completions.hpp"
#include "app/manual/manual_page.hpp"
#include "tests/support/cli.hpp"

namespace placewright {

class TestManual : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyOptionOfTheHelpIsInThePage();
    void rendersPagesWithoutWarnings();
    void completesInBash_data();
    void completesInBash();
    void otherShellsReadTheScripts_data();
    void otherShellsReadTheScripts();

private:
    static QString write(const QTemporaryDir& folder, const QString& name, const std::string& text) {
        QFile file(folder.filePath(name));
        if (!file.open(QIODevice::WriteOnly)) return {};
        file.write(QByteArray::fromStdString(text));
        return file.fileName();
    }
};

/// Words of a manual page without its markup.
QByteArray plain(const std::string& page) {
    QByteArray text = QByteArray::fromStdString(page);
    text.replace("\\-", "-").replace("\\e", "\\");
    for (const char* const font : {"\\fB", "\\fI", "\\fR"}) text.replace(font, "");
    return text;
}

void TestManual::everyOptionOfTheHelpIsInThePage() {
    const ProgramUsage program = command_line_program();
    QVERIFY(program.commands.size() > 15);
    for (const ProgramCommand& command : program.commands) {
        QProcess help;
        help.start(PLACEWRIGHT_CLI, {QString::fromStdString(command.name), "--help"});
        QVERIFY(help.waitForFinished());
        QCOMPARE(help.exitCode(), 0);
        const QByteArray page = plain(manual_page(program, command, "1.2", true));
        QVERIFY(page.contains("Placewright 1.2"));
        int options = 0;
        for (const QByteArray& line : help.readAllStandardOutput().split('\n')) {
            if (!line.startsWith("  --")) continue;
            const QByteArray name = line.trimmed().split(' ').front();
            QVERIFY2(page.contains('\n' + name + '\n') || page.contains('\n' + name + ' '),
                     qPrintable(QString::fromStdString(command.name) + ' ' + name));
            ++options;
        }
        QVERIFY(options > 0);
    }
}

void TestManual::rendersPagesWithoutWarnings() {
    const QString groff = QStandardPaths::findExecutable("groff");
    if (groff.isEmpty()) QSKIP("groff is not installed");
    const auto render = [&](const std::string& page) {
        QProcess process;
        process.start(groff, {"-man", "-Tutf8", "-Kutf8", "-ww", "-P-cbou"});
        process.write(QByteArray::fromStdString(page));
        process.closeWriteChannel();
        QVERIFY(process.waitForFinished());
        QCOMPARE(process.readAllStandardError(), QByteArray());
        QVERIFY(process.readAllStandardOutput().contains("SYNOPSIS"));
    };
    for (const ProgramUsage& program : {command_line_program(), window_program()}) {
        render(manual_page(program, "1.2", true));
        for (const ProgramCommand& command : program.commands) {
            if (!command.name.empty()) render(manual_page(program, command, "1.2", true));
        }
    }
}

void TestManual::completesInBash_data() {
    QTest::addColumn<QStringList>("words");
    QTest::addColumn<QStringList>("offered");
    QTest::newRow("command") << QStringList{"placewright-cli", "opt"} << QStringList{"optimize"};
    QTest::newRow("network") << QStringList{"placewright-cli", "simulate", "alex"} << QStringList{"alexnet"};
    QTest::newRow("option") << QStringList{"placewright-cli", "optimize", "alexnet", "--mach"}
                            << QStringList{"--machine"};
    QTest::newRow("machine") << QStringList{"placewright-cli", "optimize", "alexnet", "--machine", "8x"}
                             << QStringList{"8x-a100-nvlink", "8x-h100-nvlink"};
    QTest::newRow("choice") << QStringList{"placewright-cli", "optimize", "alexnet", "--order", ""}
                            << QStringList{"fifo", "critical-path", "gpipe", "1f1b"};
    QTest::newRow("algorithm") << QStringList{"placewright-cli", "compare", "alexnet", "--algorithms", "gen"}
                               << QStringList{"genetic"};
    QTest::newRow("number") << QStringList{"placewright-cli", "optimize", "alexnet", "--seed", ""}
                            << QStringList{};
    QTest::newRow("file") << QStringList{"placewright-cli", "optimize", "alexnet", "--out", "a fi"}
                          << QStringList{"a file.json"};
    QTest::newRow("second argument") << QStringList{"placewright-cli", "predict", "a.safetensors", "alex"}
                                     << QStringList{"alexnet"};
    QTest::newRow("policy") << QStringList{"placewright-cli", "train", "alexnet", "--policy", "gd"}
                            << QStringList{"gdp"};
    QTest::newRow("format") << QStringList{"placewright-cli", "export", "alexnet", "--to", "device"}
                            << QStringList{"device-map", "device-map-full"};
    QTest::newRow("experiment") << QStringList{"placewright-cli", "experiment", "po"}
                                << QStringList{"post", "policy"};
    QTest::newRow("family") << QStringList{"placewright-cli", "family", "n"} << QStringList{"nmt"};
    QTest::newRow("window: option") << QStringList{"placewright", "--optim"} << QStringList{"--optimize"};
    QTest::newRow("window: algorithm")
        << QStringList{"placewright", "--optimize", "tab"} << QStringList{"tabu"};
    QTest::newRow("window: network") << QStringList{"placewright", "inception"}
                                     << QStringList{"inception_v3"};
}

void TestManual::completesInBash() {
    QFETCH(QStringList, words);
    QFETCH(QStringList, offered);
    QTemporaryDir folder;
    const QString script = write(folder, "completion",
                                 bash_completion(command_line_program()) + bash_completion(window_program()));
    QVERIFY(!write(folder, "a file.json", "{}").isEmpty());
    QProcess bash;
    bash.setWorkingDirectory(folder.path());
    bash.start("bash", QStringList{"--norc", "-c",
                                   "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); "
                                   "_${1//-/_}; printf '%s\\n' \"${COMPREPLY[@]}\"",
                                   script} +
                           words);
    QVERIFY(bash.waitForFinished());
    QCOMPARE(bash.readAllStandardError(), QByteArray());
    QCOMPARE(QString::fromUtf8(bash.readAllStandardOutput()).split('\n', Qt::SkipEmptyParts), offered);
}

void TestManual::otherShellsReadTheScripts_data() {
    QTest::addColumn<QString>("shell");
    QTest::newRow("zsh") << "zsh";
    QTest::newRow("fish") << "fish";
}

void TestManual::otherShellsReadTheScripts() {
    QFETCH(QString, shell);
    if (QStandardPaths::findExecutable(shell).isEmpty()) QSKIP(qPrintable(shell + " is not installed"));
    QTemporaryDir folder;
    for (const ProgramUsage& program : {command_line_program(), window_program()}) {
        const QString script =
            write(folder, "completion", shell == "zsh" ? zsh_completion(program) : fish_completion(program));
        QProcess process;
        process.start(shell, {"-n", script});
        QVERIFY(process.waitForFinished());
        QCOMPARE(process.readAllStandardError(), QByteArray());
        QCOMPARE(process.exitCode(), 0);
    }
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestManual)
#include "tst_manual.moc"
