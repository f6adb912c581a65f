// SPDX-License-Identifier: MIT
// placewright: the desktop program. Options make it open a file, search, take a picture and quit by itself,
// for scripts and documentation.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include <QCommandLineParser>
#include <QDockWidget>
#include <QMenuBar>
#include <QTextStream>
#include <QTimer>

#include "app/window/application.hpp"
#include "app/window/command_palette.hpp"
#include "app/window/computer_finder.hpp"
#include "app/window/gallery.hpp"
#include "app/window/main_window.hpp"
#include "app/window/picture.hpp"
#include "app/window/termination.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/algorithms.hpp"
#include "core/base/exit_status.hpp"
#include "core/io/text/input_error.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/message_bar.hpp"

namespace placewright {
namespace {

int complain(const QString& text) {
    QTextStream(stderr) << QStringLiteral("placewright: ") << text << Qt::endl;
    return kWrongUsage;
}

/// Carries out the steps of the command line one after the other, each as soon as the window is idle.
class Script : public QObject {
public:
    struct Steps {
        QString constraints;   ///< file with rules
        QStringList measured;  ///< traces of the network
        bool optimize = false;
        QStringList select;    ///< names of ops
        QStringList commands;  ///< "Menu ▸ Title" of entries of the menus
        QString part;  ///< what pictures are of: the title of a panel, "graph" or "front"; empty: the window
        double scale = kPrintScale;
        QStringList screenshots;
        bool quit = false;
    };

    Script(MainWindow* window, Steps steps) : QObject(window), m_window(window), m_steps(std::move(steps)) {
        connect(window->document(), &Document::settled, this,
                [this] { QTimer::singleShot(0, this, &Script::advance); });
        connect(window->gallery(), &Gallery::read, this, &Script::advance);
        connect(window->computer(), &ComputerFinder::settled, this, &Script::advance);
        connect(window->document(), &Document::message, this, [this](bool error, const QString& text) {
            if (error && m_steps.quit) fail(text);
        });
        // A window without a file emits no settled().
        QTimer::singleShot(0, this, &Script::advance);
    }

private:
    void fail(const QString& text) {
        QTextStream(stderr) << text << Qt::endl;
        m_done = true;
        QCoreApplication::exit(kBadInput);
    }

    void advance() {
        if (m_done || m_window->document()->isBusy() || !m_window->gallery()->isRead() ||
            m_window->computer()->isBusy())
            return;
        if (!m_steps.constraints.isEmpty() && m_window->document()->isOpen()) {
            m_window->document()->openFile(std::exchange(m_steps.constraints, {}));
            return;
        }
        if (!m_steps.measured.isEmpty() && m_window->document()->isOpen()) {
            m_window->openTraces(std::exchange(m_steps.measured, {}));
            return;
        }
        if (m_steps.optimize && m_window->document()->isOpen()) {
            m_steps.optimize = false;
            m_window->optimizeOrStop();
            return;
        }
        if (!m_steps.select.isEmpty() && m_window->document()->isOpen())
            return select(std::exchange(m_steps.select, {}));
        if (!m_steps.commands.isEmpty()) {
            // Queued first: a command may open a dialog that runs an event loop of its own.
            const QString command = m_steps.commands.takeFirst();
            QTimer::singleShot(kCommandMs, this, &Script::advance);
            return runCommand(command);
        }
        m_done = true;
        // One turn of the event loop, so that the last values are painted.
        QTimer::singleShot(50, this, [this] {
            QWidget* const part = partOf();
            if (part == nullptr)
                return fail(QStringLiteral("--picture-of %1: no such panel").arg(m_steps.part));
            for (const QString& file : std::as_const(m_steps.screenshots)) {
                try {
                    exportWidget(file, part, m_steps.scale);
                } catch (const InputError& error) {
                    fail(QString::fromUtf8(error.what()));
                    return;
                }
            }
            if (m_steps.quit) QCoreApplication::exit(kDone);
        });
    }

    void select(const QStringList& names) {
        const Graph& graph = *m_window->document()->problem()->graph;
        OpList ops;
        for (const QString& name : names) {
            OpId op = 0;
            while (op < graph.size() && graph.op(op).name != name.toStdString()) ++op;
            if (op == graph.size())
                return fail(QStringLiteral("--select %1: the network has no such op").arg(name));
            ops.push_back(op);
        }
        m_window->document()->setSelection(ops);
        QTimer::singleShot(0, this, &Script::advance);
    }

    void runCommand(const QString& text) {
        for (const Command& command : commandsOf(*m_window->menuBar())) {
            const QString entry = command.path + QStringLiteral(" ▸ ") + command.title;
            // "Edit ▸ Undo" goes on with what is undone.
            if (entry != text && !entry.startsWith(text + QLatin1Char(' '))) continue;
            if (!command.enabled)
                return fail(QStringLiteral("--command %1: it cannot be used now").arg(text));
            return command.run();
        }
        fail(QStringLiteral("--command %1: no menu has it").arg(text));
    }

    QWidget* partOf() const {
        if (m_steps.part.isEmpty()) return m_window;
        if (m_steps.part == QStringLiteral("graph")) return m_window->graphView();
        if (m_steps.part == QStringLiteral("front")) {
            QWidget* front = m_window;
            for (QWidget* window : QApplication::topLevelWidgets()) {
                if (window->isVisible() && window != m_window && window->windowType() != Qt::ToolTip)
                    front = window;
            }
            return front;
        }
        for (const QDockWidget* dock : m_window->findChildren<QDockWidget*>()) {
            if (dock->windowTitle().compare(m_steps.part, Qt::CaseInsensitive) == 0) return dock->widget();
        }
        return nullptr;
    }

    /// What a command opens is filled and laid out in this time.
    static constexpr int kCommandMs = 400;

    MainWindow* m_window;
    Steps m_steps;
    bool m_done = false;
};

/// Whether the arguments only ask for help or the version, which needs no display.
bool asksForHelp(int argc, char** argv) {
    constexpr std::array<std::string_view, 5> kQuestions{"-h", "--help", "--help-all", "-v", "--version"};
    return std::any_of(argv + 1, argv + argc, [&](const char* argument) {
        return std::ranges::find(kQuestions, argument) != kQuestions.end();
    });
}

/// Message handler that exits with an error where Qt would abort because there is no display.
void withoutDisplay(QtMsgType type, const QMessageLogContext&, const QString& text) {
    QTextStream(stderr) << text.trimmed() << Qt::endl;
    if (type != QtFatalMsg) return;
    complain(QStringLiteral("no display is available; placewright-cli does the same work without one"));
    std::_Exit(kInternalError);
}

int run(QCoreApplication& app) {
    QCommandLineParser parser;
    parser.setApplicationDescription(
        QStringLiteral("Decides on which device each operation of a neural network runs."));
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument(QStringLiteral("FILE"),
                                 QStringLiteral("Network or trace file, or name of a shipped network."),
                                 QStringLiteral("[FILE]"));
    const auto add = [&parser](const char* name, const char* help, const char* value = "") {
        QCommandLineOption option(QString::fromLatin1(name), QString::fromLatin1(help),
                                  QString::fromLatin1(value));
        parser.addOption(option);
        return option;
    };
    const auto machine = add(
        "machine",
        "Machine file, name of a shipped machine or parts such as \"2x RTX 4090\" (default: 4x-v100-nvlink).",
        "MACHINE");
    const auto measured =
        add("measured", "Show this trace of FILE beside its simulation; repeatable.", "TRACE");
    const auto constraints = add("constraints", "Apply this file of rules for placements to FILE.", "RULES");
    const auto optimize = add("optimize", "Start a search with this algorithm; needs FILE.", "ALGORITHM");
    const auto evaluations = add(
        "evaluations",
        "Number of placements after which the search ends (default: the budget of the last session).", "N");
    const auto seed = add("seed", "Seed of the search (default: 1).", "K");
    const auto size = add("size", "Size of the window in pixels.", "WIDTHxHEIGHT");
    const auto screenshot =
        add("screenshot", "Write a picture of the window (PNG or SVG) at the end; repeatable.", "OUT");
    const auto select = add("select", "Select this op before the picture; repeatable.", "OP");
    const auto command =
        add("command", "Choose this entry of the menus before the picture (\"Menu ▸ Entry\"); repeatable.",
            "ENTRY");
    const auto part = add(
        "picture-of", "Picture only this panel, \"graph\", or \"front\" for the window in front.", "PANEL");
    const auto scale =
        add("scale", "Pixels of the picture per pixel of the window, 1 to 4 (default: 2).", "N");
    const auto quit = add("quit", "Close the window at the end.");
    QCommandLineOption another(QStringLiteral("new-window"));  // File > New window
    another.setFlags(QCommandLineOption::HiddenFromHelp);
    parser.addOption(another);
    if (!parser.parse(QCoreApplication::arguments())) return complain(parser.errorText());
    parser.process(app);
    // What looked like a help option was the value of another option.
    if (qobject_cast<QApplication*>(&app) == nullptr) parser.showHelp(kWrongUsage);

    if (parser.positionalArguments().size() > 1) return complain(QStringLiteral("expected one FILE"));
    if (parser.positionalArguments().contains(QString()))
        return complain(QStringLiteral("FILE: expected a path, not an empty text"));
    if (parser.isSet(machine) && parser.value(machine).isEmpty())
        return complain(QStringLiteral("--machine: expected a path, not an empty text"));
    if (parser.isSet(measured) && parser.positionalArguments().isEmpty())
        return complain(QStringLiteral("--measured needs a FILE"));
    if (parser.isSet(constraints) && parser.positionalArguments().isEmpty())
        return complain(QStringLiteral("--constraints needs a FILE"));
    MainWindow window;
    QObject::connect(qobject_cast<Application*>(&app), &Application::failed, window.document(),
                     [&window](const QString& problem) { Q_EMIT window.document()->message(true, problem); });
    if (parser.isSet(machine)) window.document()->setMachine(parser.value(machine));
    if (parser.isSet(optimize)) {
        const QString id = parser.value(optimize);
        if (find_algorithm(id.toStdString()) == nullptr) {
            return complain(
                QStringLiteral("there is no algorithm %1; placewright-cli algorithms lists them").arg(id));
        }
        if (parser.positionalArguments().isEmpty())
            return complain(QStringLiteral("--optimize needs a FILE"));
        window.chooseAlgorithm(id);
    }
    if (parser.isSet(evaluations)) {
        const int count = parser.value(evaluations).toInt();
        if (count < 1 || count > 1'000'000'000)
            return complain(
                QStringLiteral("--evaluations %1: expected 1 to 1000000000").arg(parser.value(evaluations)));
        window.chooseEvaluations(count);
    }
    if (parser.isSet(quit)) window.limitBudget();
    if (parser.isSet(seed)) {
        bool isNumber = false;
        const int value = parser.value(seed).toInt(&isNumber);
        if (!isNumber || value < 0 || value > 1'000'000'000)
            return complain(QStringLiteral("--seed %1: expected 0 to 1000000000").arg(parser.value(seed)));
        window.chooseSeed(value);
    }
    int pixels = kPrintScale;
    if (parser.isSet(scale)) {
        pixels = parser.value(scale).toInt();
        if (pixels < 1 || pixels > 4)
            return complain(QStringLiteral("--scale %1: expected 1 to 4").arg(parser.value(scale)));
    }
    if (parser.isSet(select) && parser.positionalArguments().isEmpty())
        return complain(QStringLiteral("--select needs a FILE"));
    if (parser.isSet(size)) {
        const QStringList parts = parser.value(size).split(QLatin1Char('x'));
        const QSize wanted = parts.size() == 2 ? QSize(parts[0].toInt(), parts[1].toInt()) : QSize();
        if (wanted.width() < 200 || wanted.height() < 200 || wanted.width() > 10'000 ||
            wanted.height() > 10'000) {
            return complain(QStringLiteral("--size %1: expected WIDTHxHEIGHT, 200 to 10000 each")
                                .arg(parser.value(size)));
        }
        window.resize(wanted);
    }
    window.show();
    const Termination termination;
    if (!parser.isSet(quit))
        window.keeper()->startSession(parser.positionalArguments().isEmpty() && !parser.isSet(another));
    QObject::connect(&termination, &Termination::requested, &window, [&window] { window.endBySignal(); });
    const Script script(&window, {.constraints = parser.value(constraints),
                                  .measured = parser.values(measured),
                                  .optimize = parser.isSet(optimize),
                                  .select = parser.values(select),
                                  .commands = parser.values(command),
                                  .part = parser.value(part),
                                  .scale = static_cast<double>(pixels),
                                  .screenshots = parser.values(screenshot),
                                  .quit = parser.isSet(quit)});
    if (!parser.positionalArguments().isEmpty())
        window.openArgument(parser.positionalArguments().front(), !parser.isSet(optimize));
    return QApplication::exec();
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
    std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large (ulimit -f) is an error of writing
    std::unique_ptr<QCoreApplication> app;
    if (placewright::asksForHelp(argc, argv)) {
        app = std::make_unique<QCoreApplication>(argc, argv);
    } else {
        const QtMessageHandler usual = qInstallMessageHandler(placewright::withoutDisplay);
        app = std::make_unique<placewright::Application>(argc, argv);
        qInstallMessageHandler(usual);
        QApplication::setWindowIcon(QIcon(QStringLiteral(":/placewright.svg")));
    }
    QCoreApplication::setOrganizationName(QStringLiteral("Placewright"));
    QCoreApplication::setApplicationName(QStringLiteral("placewright"));
    QCoreApplication::setApplicationVersion(QStringLiteral(PLACEWRIGHT_VERSION));
    return placewright::run(*app);
}
