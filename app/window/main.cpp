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
#include "app/window/arguments.hpp"
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
    parser.setApplicationDescription(QString::fromLatin1(arguments::kDescription));
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument(QString::fromLatin1(arguments::kFile.name),
                                 QString::fromLatin1(arguments::kFile.help), QStringLiteral("[FILE]"));
    for (const arguments::Option& option : arguments::kOptions) {
        parser.addOption({QString::fromLatin1(option.name), QString::fromUtf8(option.help),
                          QString::fromLatin1(option.value)});
    }
    const auto isSet = [&parser](const arguments::Option& option) {
        return parser.isSet(QString::fromLatin1(option.name));
    };
    const auto value = [&parser](const arguments::Option& option) {
        return parser.value(QString::fromLatin1(option.name));
    };
    const auto values = [&parser](const arguments::Option& option) {
        return parser.values(QString::fromLatin1(option.name));
    };
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
    if (isSet(arguments::kMachine) && value(arguments::kMachine).isEmpty())
        return complain(QStringLiteral("--machine: expected a path, not an empty text"));
    if (isSet(arguments::kMeasured) && parser.positionalArguments().isEmpty())
        return complain(QStringLiteral("--measured needs a FILE"));
    if (isSet(arguments::kConstraints) && parser.positionalArguments().isEmpty())
        return complain(QStringLiteral("--constraints needs a FILE"));
    MainWindow window;
    QObject::connect(qobject_cast<Application*>(&app), &Application::failed, window.document(),
                     [&window](const QString& problem) { Q_EMIT window.document()->message(true, problem); });
    if (isSet(arguments::kMachine)) window.document()->setMachine(value(arguments::kMachine));
    if (isSet(arguments::kOptimize)) {
        const QString id = value(arguments::kOptimize);
        const AlgorithmInfo* algorithm = find_algorithm(id.toStdString());
        if (algorithm == nullptr) {
            return complain(
                QStringLiteral("there is no algorithm %1; placewright-cli algorithms lists them").arg(id));
        }
        if (!algorithm->missing.empty()) return complain(QString::fromStdString(algorithm->missing));
        if (parser.positionalArguments().isEmpty())
            return complain(QStringLiteral("--optimize needs a FILE"));
        window.chooseAlgorithm(id);
    }
    if (isSet(arguments::kEvaluations)) {
        const int count = value(arguments::kEvaluations).toInt();
        if (count < 1 || count > 1'000'000'000)
            return complain(QStringLiteral("--evaluations %1: expected 1 to 1000000000")
                                .arg(value(arguments::kEvaluations)));
        window.chooseEvaluations(count);
    }
    if (isSet(arguments::kQuit)) window.limitBudget();
    if (isSet(arguments::kSeed)) {
        bool isNumber = false;
        const int number = value(arguments::kSeed).toInt(&isNumber);
        if (!isNumber || number < 0 || number > 1'000'000'000)
            return complain(
                QStringLiteral("--seed %1: expected 0 to 1000000000").arg(value(arguments::kSeed)));
        window.chooseSeed(number);
    }
    int pixels = kPrintScale;
    if (isSet(arguments::kScale)) {
        pixels = value(arguments::kScale).toInt();
        if (pixels < 1 || pixels > 4)
            return complain(QStringLiteral("--scale %1: expected 1 to 4").arg(value(arguments::kScale)));
    }
    if (isSet(arguments::kSelect) && parser.positionalArguments().isEmpty())
        return complain(QStringLiteral("--select needs a FILE"));
    if (isSet(arguments::kSize)) {
        const QStringList parts = value(arguments::kSize).split(QLatin1Char('x'));
        const QSize wanted = parts.size() == 2 ? QSize(parts[0].toInt(), parts[1].toInt()) : QSize();
        if (wanted.width() < 200 || wanted.height() < 200 || wanted.width() > 10'000 ||
            wanted.height() > 10'000) {
            return complain(QStringLiteral("--size %1: expected WIDTHxHEIGHT, 200 to 10000 each")
                                .arg(value(arguments::kSize)));
        }
        window.resize(wanted);
    }
    window.show();
    const Termination termination;
    if (!isSet(arguments::kQuit))
        window.keeper()->startSession(parser.positionalArguments().isEmpty() && !parser.isSet(another));
    QObject::connect(&termination, &Termination::requested, &window, [&window] { window.endBySignal(); });
    const Script script(&window, {.constraints = value(arguments::kConstraints),
                                  .measured = values(arguments::kMeasured),
                                  .optimize = isSet(arguments::kOptimize),
                                  .select = values(arguments::kSelect),
                                  .commands = values(arguments::kCommand),
                                  .part = value(arguments::kPart),
                                  .scale = static_cast<double>(pixels),
                                  .screenshots = values(arguments::kScreenshot),
                                  .quit = isSet(arguments::kQuit)});
    if (!parser.positionalArguments().isEmpty())
        window.openArgument(parser.positionalArguments().front(), !isSet(arguments::kOptimize));
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
        // The window then has the icon and the name of this entry of the menu.
        QGuiApplication::setDesktopFileName(QStringLiteral("io.github.placewright.Placewright"));
        QApplication::setWindowIcon(QIcon(QStringLiteral(":/placewright.svg")));
    }
    QCoreApplication::setOrganizationName(QStringLiteral("Placewright"));
    QCoreApplication::setApplicationName(QStringLiteral("placewright"));
    QCoreApplication::setApplicationVersion(QStringLiteral(PLACEWRIGHT_VERSION));
    return placewright::run(*app);
}
