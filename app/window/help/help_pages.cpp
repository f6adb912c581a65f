// SPDX-License-Identifier: MIT
#include "app/window/help/help_pages.hpp"

#include <algorithm>
#include <span>

#include <QFile>
#include <QObject>
#include <QRegularExpression>
#include <QTextBlock>
#include <QTextDocument>
#include <QWidget>

/// The pages lie in a static library; the macro must not be used in a namespace.
static void loadHelp() {
    Q_INIT_RESOURCE(help);
}

namespace placewright {
namespace {

struct PageOf {
    const char* widget;  ///< object name, or class without its namespace
    const char* page;    ///< with the anchor of a heading, where it is not the whole page: "runs#curve"
};
constexpr PageOf kPagesOf[]{{"StartPage", "open"},
                            {"GraphView", "graph"},
                            {"FindBar", "select-and-find#find"},
                            {"algorithm", "algorithms"},
                            {"machine", "machine"},
                            {"simulationButton", "simulation"},
                            {"editMachineButton", "machine#edit-the-machine"},
                            {"exportButton", "export"},
                            {"mainToolBar", "open"},
                            {"searchToolBar", "optimize"},
                            {"languageToolBar", "language"},
                            {"devicesDock", "devices"},
                            {"machineDock", "machine"},
                            {"selectionDock", "select-and-find"},
                            {"runsDock", "runs"},
                            {"curveDock", "runs#curve"},
                            {"archiveDock", "archive"},
                            {"timelineDock", "timeline"},
                            {"whyDock", "why"},
                            {"suggestionsDock", "why#suggestions"},
                            {"distributionDock", "archive#distribution"},
                            {"learningDock", "learn"},
                            {"cdfDock", "cdf"},
                            {"opsDock", "select-and-find#all-ops"},
                            {"measuredDock", "measured#the-measured-panel"},
                            {"historyDock", "select-and-find#move-by-hand"},
                            {"BenchmarkDialog", "measured#benchmark"},
                            {"BestDialog", "measured#measure-the-best-placements"},
                            {"ProfileDialog", "measured#profile"},
                            {"CalibrationDialog", "measured#calibrate"},
                            {"TraceWindow", "measured#traces"},
                            {"CommandPalette", "workspace#keys"},
                            {"ShortcutsDialog", "workspace#keys"},
                            {"CompareWindow", "compare"},
                            {"ExperimentWindow", "compare"},
                            {"PairWindow", "side-by-side"},
                            {"ConstraintsDialog", "graph#constrain"},
                            {"ExportDialog", "export"},
                            {"LearnWindow", "learn"},
                            {"MachineEditor", "machine#edit-the-machine"},
                            {"MachinePartsDialog", "machine"},
                            {"SearchOptionsDialog", "algorithms"},
                            {"SimulationDialog", "simulation"}};

QString textOf(const QString& page) {
    QFile file(QStringLiteral(":/help/%1.md").arg(page));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

HelpPage read(const QString& name, const QString& group) {
    QTextDocument document;
    document.setMarkdown(textOf(name));
    HelpPage page{name, {}, group, {}};
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
        const QString line = block.text().remove(QChar::ObjectReplacementCharacter).simplified();
        if (page.title.isEmpty() && block.blockFormat().headingLevel() == 1) page.title = line;
        if (!line.isEmpty()) page.lines << line;
    }
    return page;
}

}  // namespace

const std::vector<HelpPage>& helpPages() {
    static const std::vector<HelpPage> pages = [] {
        loadHelp();
        std::vector<HelpPage> found{read(QStringLiteral("index"), {})};
        static const QRegularExpression link(QStringLiteral("\\]\\(([a-z0-9-]+)\\.md\\)"));
        QString group;
        for (const QString& line : textOf(QStringLiteral("index")).split(QLatin1Char('\n'))) {
            if (line.startsWith(QLatin1String("## "))) group = line.mid(3);
            for (auto links = link.globalMatch(line); links.hasNext();) {
                const QString name = links.next().captured(1);
                if (std::ranges::find(found, name, &HelpPage::name) == found.end())
                    found.push_back(read(name, group));
            }
        }
        return found;
    }();
    return pages;
}

std::vector<HelpHit> findInHelp(const QString& words) {
    std::vector<HelpHit> hits;
    const QStringList wanted = words.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    if (wanted.isEmpty()) return hits;
    for (const HelpPage& page : std::span(helpPages()).subspan(1)) {
        for (const QString& line : page.lines) {
            if (std::ranges::all_of(
                    wanted, [&](const QString& word) { return line.contains(word, Qt::CaseInsensitive); }))
                hits.push_back({&page, line});
        }
    }
    return hits;
}

QString excerpt(const QString& line, const QString& word, qsizetype most) {
    if (line.size() <= most) return line;
    const qsizetype found = line.indexOf(word, 0, Qt::CaseInsensitive);
    qsizetype begin = std::clamp<qsizetype>(found + word.size() / 2 - most / 2, 0, line.size() - most);
    if (begin > 0) begin = std::min(line.indexOf(QLatin1Char(' '), begin) + 1, std::max<qsizetype>(found, 0));
    QString part = line.mid(begin, most);
    if (begin + most < line.size() && part.lastIndexOf(QLatin1Char(' ')) > word.size())
        part = part.left(part.lastIndexOf(QLatin1Char(' '))) + QChar(0x2026);
    return begin > 0 ? QChar(0x2026) + part : part;
}

QString helpPageOf(const QObject* widget) {
    for (; widget != nullptr; widget = widget->parent()) {
        const QString type =
            QString::fromLatin1(widget->metaObject()->className()).section(QLatin1String("::"), -1);
        for (const PageOf& row : kPagesOf) {
            if (widget->objectName() == QLatin1String(row.widget) || type == QLatin1String(row.widget))
                return QString::fromLatin1(row.page);
        }
    }
    return QStringLiteral("index");
}

QString helpAddress(const QString& page) {
    return QStringLiteral("qrc:/help/%1.md").arg(page);
}

QString headingAnchor(const QString& heading) {
    static const QRegularExpression others(QStringLiteral("[^a-z0-9 -]"));
    return heading.toLower().remove(others).replace(QLatin1Char(' '), QLatin1Char('-'));
}

}  // namespace placewright
