// SPDX-License-Identifier: MIT
// The help: its window, the page that F1 opens, and that what its pages name exists.
#include <QAbstractTextDocumentLayout>
#include <QDirIterator>
#include <QDockWidget>
#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QProcess>
#include <QRegularExpression>
#include <QSlider>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextDocument>
#include <QTreeWidget>

#include "app/window/actions.hpp"
#include "app/window/dialogs/shortcuts_dialog.hpp"
#include "app/window/help/help_pages.hpp"
#include "app/window/help/help_window.hpp"
#include "app/window/machine/what_if_panel.hpp"
#include "app/window/pair/pinned_placement.hpp"
#include "tests/support/window.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/timeline_view.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

QString textOf(const QString& file) {
    QFile page(file);
    if (!page.open(QIODevice::ReadOnly)) qFatal("cannot read %s", qPrintable(file));
    return QString::fromUtf8(page.readAll());
}

QString textOf(const HelpPage& page) {
    return textOf(QStringLiteral(":/help/%1.md").arg(page.name));
}

/// What the groups of the expression match in the text.
QList<QStringList> matches(const QString& text, const char* expression) {
    QList<QStringList> found;
    const QRegularExpression wanted(QString::fromUtf8(expression), QRegularExpression::MultilineOption);
    for (auto next = wanted.globalMatch(text); next.hasNext();) found << next.next().capturedTexts();
    return found;
}

QStringList anchorsOf(const QString& page) {
    QStringList anchors;
    for (const QStringList& heading : matches(textOf(QStringLiteral(":/help/%1").arg(page)), "^#+ (.*)$"))
        anchors << headingAnchor(heading[1]);
    return anchors;
}

void collect(const QMenu& menu, const QString& path, QStringList& entries) {
    entries << path;
    for (QAction* action : menu.actions()) {
        const QString entry = path + QStringLiteral(" ▸ ") + action->text().remove(QLatin1Char('&'));
        if (action->menu() != nullptr) {
            collect(*action->menu(), entry, entries);
        } else if (!action->isSeparator()) {
            entries << entry;
        }
    }
}

/// "View ▸ Theme ▸ Dark" of all menus and their entries.
QStringList menuEntries(const MainWindow& window) {
    QStringList entries;
    for (const QAction* action : window.menuBar()->actions()) {
        if (action->menu() != nullptr)
            collect(*action->menu(), action->text().remove(QLatin1Char('&')), entries);
    }
    return entries;
}

HelpWindow* helpOf(const QWidget& owner) {
    for (HelpWindow* help : owner.findChildren<HelpWindow*>(Qt::FindDirectChildrenOnly)) {
        if (help->isVisible()) return help;
    }
    return nullptr;
}

QStringList listed(const HelpWindow& help) {
    QStringList rows;
    const auto* list = help.findChild<QTreeWidget*>(QStringLiteral("helpList"));
    for (int i = 0; i < list->topLevelItemCount(); ++i) {
        for (int j = 0; j < list->topLevelItem(i)->childCount(); ++j)
            rows << list->topLevelItem(i)->text(0) + QStringLiteral(": ") +
                        list->topLevelItem(i)->child(j)->text(0);
    }
    return rows;
}

void addPages() {
    QTest::addColumn<QString>("name");
    for (const HelpPage& page : helpPages()) QTest::newRow(qPrintable(page.name)) << page.name;
}

const HelpPage& pageOf(const QString& name) {
    return *std::ranges::find(helpPages(), name, &HelpPage::name);
}

}  // namespace

class TestHelp : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // --- pages ---

    void allFilesAreInTheProgramAndReachable() {
        QStringList files, pages;
        QDirIterator source(QStringLiteral(PLACEWRIGHT_HELP), {"*.md", "*.png"}, QDir::Files,
                            QDirIterator::Subdirectories);
        qint64 bytes = 0;
        while (source.hasNext()) {
            const QString file = QDir(QStringLiteral(PLACEWRIGHT_HELP)).relativeFilePath(source.next());
            QVERIFY2(QFile::exists(QStringLiteral(":/help/") + file), qPrintable(file));
            if (file.endsWith(QLatin1String(".md"))) files << file.chopped(3);
            if (file.endsWith(QLatin1String(".png"))) bytes += source.fileInfo().size();
        }
        for (const HelpPage& page : helpPages()) {
            pages << page.name;
            QVERIFY2(!page.title.isEmpty() && page.lines.size() > 3, qPrintable(page.name));
        }
        files.sort();
        pages.sort();
        QCOMPARE(pages, files);
        QVERIFY(bytes > 0 && bytes < 1'500'000);
    }

    void linksAndPicturesExist_data() { addPages(); }
    void linksAndPicturesExist() {
        QFETCH(const QString, name);
        for (const QStringList& link : matches(textOf(pageOf(name)), "\\]\\(([^)]*)\\)")) {
            const QUrl url(link[1]);
            if (!url.isRelative()) continue;
            QVERIFY2(QFile::exists(QStringLiteral(":/help/") + url.path()), qPrintable(link[1]));
            if (url.hasFragment())
                QVERIFY2(anchorsOf(url.path()).contains(url.fragment()), qPrintable(link[1]));
        }
    }

    void everyPictureIsShownAndMade() {
        const QString script = textOf(QStringLiteral(PLACEWRIGHT_PICTURES_SCRIPT));
        QString all;
        for (const HelpPage& page : helpPages()) all += textOf(page);
        const QStringList pictures = QDir(QStringLiteral(":/help/pictures")).entryList();
        QVERIFY(!pictures.isEmpty());
        for (const QString& picture : pictures) {
            QVERIFY2(all.contains(QStringLiteral("(pictures/%1)").arg(picture)), qPrintable(picture));
            QVERIFY2(script.contains(QStringLiteral("picture %1 ").arg(picture.chopped(4))),
                     qPrintable(picture));
        }
    }

    void menuEntriesExist() {
        const Workplace place;
        const Shown shown;
        const QStringList entries = menuEntries(shown.window);
        int named = 0;
        for (const HelpPage& page : helpPages()) {
            QString rest = textOf(page);
            for (const QStringList& entry :
                 matches(rest, "\\*\\*((?:File|Edit|View|Run|Machine|Learn|Help) ▸[^*]+)\\*\\*")) {
                QVERIFY2(entries.contains(entry[1].simplified()), qPrintable(page.name + ": " + entry[1]));
                rest.remove(entry[0]);
                ++named;
            }
            // An entry that is not bold would not be checked.
            QVERIFY2(matches(rest, "(File|Edit|View|Run|Machine|Learn|Help) ▸").isEmpty(),
                     qPrintable(page.name));
        }
        const QString script = textOf(QStringLiteral(PLACEWRIGHT_PICTURES_SCRIPT));
        for (const QStringList& entry : matches(script, "--command \"([^\"]+)\"")) {
            QVERIFY2(entries.contains(entry[1]) || entry[1] == QStringLiteral("Edit ▸ Undo"),
                     qPrintable(entry[1]));
            ++named;
        }
        QVERIFY(named > 30);
    }

    void keysExist() {
        QStringList keys, gestures;
        for (const ActionInfo& info : Actions::table()) {
            for (const QKeySequence& key : info.keys) keys << key.toString(QKeySequence::PortableText);
        }
        for (const GestureInfo& gesture : Actions::gestures()) gestures << QString::fromUtf8(gesture.input);
        int named = 0;
        for (const HelpPage& page : helpPages()) {
            for (const QStringList& key :
                 matches(textOf(page), "`((?:(?:Ctrl|Shift|Alt)\\+)+[^`\\s]+|F[0-9]+|\\?)`")) {
                QVERIFY2(keys.contains(key[1]) || !gestures.filter(key[1]).isEmpty(),
                         qPrintable(page.name + ": " + key[1]));
                ++named;
            }
        }
        QVERIFY(named > 30);
    }

    void commandLinesRun() {
        const QTemporaryDir folder;
        int ran = 0, shown = 0;
        for (const HelpPage& page : helpPages()) {
            // The files that the page shows.
            for (const QStringList& file :
                 matches(textOf(page), "This is `([a-z.]+)`:\n\n    (\\{[\\s\\S]*?\\})\n\n")) {
                QFile written(folder.filePath(file[1]));
                QVERIFY(written.open(QIODevice::WriteOnly));
                written.write(file[2].toUtf8());
                ++shown;
            }
            for (const QStringList& line : matches(textOf(page), "^    placewright-cli (.*)$")) {
                QProcess process;
                process.setWorkingDirectory(folder.path());
                process.start(QStringLiteral(PLACEWRIGHT_CLI), QProcess::splitCommand(line[1]));
                QVERIFY(process.waitForFinished(60'000));
                QVERIFY2(process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0,
                         qPrintable(line[1] + '\n' + process.readAllStandardError()));
                ++ran;
            }
        }
        QVERIFY(ran > 15);
        QCOMPARE(shown, 3);
    }

    void searchFindsLines() {
        const std::vector<HelpHit> hits = findInHelp(QStringLiteral("LOWER bound"));
        QVERIFY(hits.size() > 2);
        for (const HelpHit& hit : hits)
            QVERIFY2(excerpt(hit.line, "bound", 44).size() <= 46 &&
                         excerpt(hit.line, "bound", 44).contains(u"bound", Qt::CaseInsensitive),
                     qPrintable(excerpt(hit.line, "bound", 44)));
        QVERIFY(std::ranges::any_of(hits, [](const HelpHit& hit) { return hit.page->name == "glossary"; }));
        QVERIFY(findInHelp(QStringLiteral("xyzzy")).empty());
        QVERIFY(findInHelp(QStringLiteral("  ")).empty());
    }

    // --- what F1 opens ---

    void everyPanelHasAPage() {
        const Workplace place;
        const Shown shown;
        const auto docks = shown.window.findChildren<QDockWidget*>();
        QVERIFY(docks.size() > 10);
        for (const QDockWidget* dock : docks) {
            const QString page = helpPageOf(dock->widget());
            const QString name = page.section('#', 0, 0);
            QVERIFY2(page != "index" && pageOf(name).name == name, qPrintable(dock->objectName()));
        }
        QCOMPARE(helpPageOf(shown.window.graphView()), QStringLiteral("graph"));
        QCOMPARE(helpPageOf(shown.window.timelineView()), QStringLiteral("timeline"));
        QCOMPARE(helpPageOf(&shown.window), QStringLiteral("index"));
        QCOMPARE(helpPageOf(nullptr), QStringLiteral("index"));
    }

    /// Also of dialogs that are made later.
    void everyDialogHasAPage() {
        const QString table = textOf(QStringLiteral(PLACEWRIGHT_WINDOW "/help/help_pages.cpp"));
        QDirIterator headers(QStringLiteral(PLACEWRIGHT_WINDOW), {"*.hpp"}, QDir::Files,
                             QDirIterator::Subdirectories);
        int found = 0;
        while (headers.hasNext()) {
            for (const QStringList& type :
                 matches(textOf(headers.next()),
                         "^class (\\w+(?:Dialog|Window|Editor)) (?:final )?: public QDialog|"
                         "^class (\\w+Window) (?:final )?: public QWidget")) {
                const QString name = type.last();
                if (name == "HelpWindow") continue;
                QVERIFY2(table.contains(QStringLiteral("{\"%1\", ").arg(name)), qPrintable(name));
                ++found;
            }
        }
        QVERIFY(found > 12);
        for (const QStringList& row : matches(table, "\\{\"\\w+\", \"([a-z-]+)(#?[a-z-]*)\"\\}")) {
            QVERIFY2(QFile::exists(QStringLiteral(":/help/%1.md").arg(row[1])), qPrintable(row[1]));
            QVERIFY2(row[2].isEmpty() || anchorsOf(row[1] + ".md").contains(row[2].mid(1)),
                     qPrintable(row[0]));
        }
    }

    void f1OpensThePageOfThePanelInFocus() {
        const Workplace place;
        Shown shown;
        QVERIFY(shown.open(place.write("wide.json", test::wide_graph())));
        shown.window.timelineView()->setFocus();
        QTest::keyClick(shown.window.timelineView(), Qt::Key_F1);
        HelpWindow* help = helpOf(shown.window);
        QVERIFY(help != nullptr);
        QCOMPARE(help->page(), QStringLiteral("timeline"));
        shown.window.activateWindow();
        shown.window.graphView()->setFocus();
        QTest::keyClick(shown.window.graphView(), Qt::Key_F1);
        QCOMPARE(help->page(), QStringLiteral("graph"));
        // A panel on a part of a page opens it there.
        auto* curve = shown.window.findChild<CurvePlot*>();
        shown.window.activateWindow();
        curve->setFocus();
        QTest::keyClick(curve, Qt::Key_F1);
        QCOMPARE(help->page(), QStringLiteral("runs"));
        const auto* browser = help->findChild<QTextBrowser*>();
        QTRY_COMPARE(browser->textCursor().block().text(), QStringLiteral("Curve"));
        QVERIFY(browser->cursorRect().top() < browser->viewport()->height() / 2);
        shown.window.activateWindow();
        QTest::keyClick(shown.window.graphView(), Qt::Key_F1, Qt::ShiftModifier);
        QCOMPARE(help->page(), QStringLiteral("index"));
        shown.window.action(ActionId::tutorial)->trigger();
        QCOMPARE(help->page(), QStringLiteral("tutorial"));
        QCOMPARE(shown.window.findChildren<HelpWindow*>().size(), 1);
    }

    /// A modal dialog keeps all keys and clicks from other windows but its own.
    void f1InADialogOpensItsPageBesideIt() {
        const Workplace place;
        Shown shown;
        QVERIFY(shown.open(place.write("wide.json", test::wide_graph())));
        QTimer::singleShot(0, this, [] {
            QTRY_VERIFY(QApplication::activeModalWidget() != nullptr);
            QWidget* dialog = QApplication::activeModalWidget();
            QTest::keyClick(dialog, Qt::Key_F1);
            const HelpWindow* help = helpOf(*dialog);
            const bool isOpen = help != nullptr;
            const QString page = isOpen ? help->page() : QString();
            dialog->close();
            QVERIFY(isOpen);
            QCOMPARE(page, QStringLiteral("simulation"));
        });
        shown.window.action(ActionId::simulation)->trigger();
        QTRY_VERIFY(QApplication::activeModalWidget() == nullptr);
    }

    // --- the window ---

    void searchListsHitsAndOpensThem() {
        HelpWindow help;
        help.open(QStringLiteral("index"));
        QVERIFY(QTest::qWaitForWindowExposed(&help));
        const QStringList all = listed(help);
        QCOMPARE(static_cast<std::size_t>(all.size()), helpPages().size());
        QVERIFY2(all.contains("Begin: Tutorial"), qPrintable(all.join('\n')));
        auto* search = help.findChild<QLineEdit*>(QStringLiteral("helpSearch"));
        QTest::keyClick(&help, Qt::Key_F, Qt::ControlModifier);
        QTRY_VERIFY(search->hasFocus());
        QTest::keyClicks(search, "welch");
        const QStringList hits = listed(help);
        QCOMPARE(hits.size(), 1);
        QVERIFY2(hits.front().startsWith(QLatin1String("Compare algorithms: ")), qPrintable(hits.front()));
        QTest::keyClick(search, Qt::Key_Return);
        QCOMPARE(help.page(), QStringLiteral("compare"));
        auto* page = help.findChild<QTextBrowser*>(QStringLiteral("helpPage"));
        QCOMPARE(page->extraSelections().size(), 1);
        QVERIFY(page->viewport()->rect().contains(page->cursorRect()));
        QTest::keyClicks(search, "xyzzy");
        QVERIFY(listed(help).isEmpty());
        QTest::keyClick(search, Qt::Key_Escape);
        QCOMPARE(listed(help), all);
        QVERIFY(help.isVisible());
        QTest::keyClick(search, Qt::Key_Escape);
        QVERIFY(!help.isVisible());
    }

    void linksGoToHeadingsAndBack() {
        HelpWindow help;
        help.open(QStringLiteral("archive"));
        QVERIFY(QTest::qWaitForWindowExposed(&help));
        auto* page = help.findChild<QTextBrowser*>(QStringLiteral("helpPage"));
        page->setSource(QUrl(QStringLiteral("qrc:/help/glossary.md#niche")));
        QCOMPARE(help.page(), QStringLiteral("glossary"));
        QCOMPARE(page->textCursor().block().text(), QStringLiteral("Niche"));
        QCOMPARE(help.windowTitle(), QStringLiteral("Glossary – Placewright help"));
        QTest::keyClick(&help, Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(help.page(), QStringLiteral("archive"));
        QVERIFY(page->document()->begin().blockFormat().bottomMargin() > 0);
        QTest::keyClick(&help, Qt::Key_Right, Qt::AltModifier);
        QCOMPARE(help.page(), QStringLiteral("glossary"));
    }

    /// The figures of the tutorial are those that a reader will see.
    void theTutorialIsTrue() {
        const QString tutorial = textOf(pageOf(QStringLiteral("tutorial")));
        const auto figure = [&](const char* expression) {
            return matches(tutorial, expression).value(0).value(1).remove(QLatin1Char(',')).toDouble();
        };
        const Workplace place;
        Shown shown;
        QVERIFY(shown.open(QStringLiteral("inception_v3"), QStringLiteral("4x-v100-nvlink")));
        const double one = shown.stepTime();
        QCOMPARE(std::round(one * 1e3), figure("\\*step ([0-9]+) ms\\*"));
        shown.window.chooseAlgorithm(QStringLiteral("auto"));
        shown.window.chooseEvaluations(static_cast<int>(figure("Type ([0-9,]+) into the field")));
        QTest::keyClick(&shown.window, Qt::Key_F5);
        QTRY_VERIFY_WITH_TIMEOUT(running(shown), 10'000);
        QTRY_VERIFY_WITH_TIMEOUT(!running(shown), 120'000);
        QVERIFY(shown.waitUntilIdle());
        const double best = shown.stepTime();
        QCOMPARE(std::round(best * 1e3), figure("about ([0-9]+) ms"));
        QCOMPARE(std::round(one / best * 10) / 10, figure("([0-9.]+) times faster"));
        auto* bandwidth = shown.window.whatIfPanel()->findChild<QSlider*>(QStringLiteral("bandwidthFactor"));
        QTest::keyClick(&shown.window, Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(shown.window.pinned()->isPinned());
        QTest::keyClick(bandwidth, Qt::Key_Home);
        QVERIFY(shown.waitUntilIdle());
        QTRY_VERIFY(shown.stepTime() > 1.2 * best);
    }

    void picturesFitThePage() {
        HelpWindow help;
        help.open(QStringLiteral("tutorial"));
        QVERIFY(QTest::qWaitForWindowExposed(&help));
        const auto* page = help.findChild<QTextBrowser*>(QStringLiteral("helpPage"));
        QVERIFY2(page->document()->idealWidth() <= page->viewport()->width(),
                 qPrintable(QString::number(page->document()->idealWidth())));
        QVERIFY(page->document()->size().width() <= page->viewport()->width());
        int pictures = 0;
        for (QTextBlock block = page->document()->begin(); block.isValid(); block = block.next()) {
            if (block.text() != QString(QChar::ObjectReplacementCharacter)) continue;
            const QTextImageFormat picture = block.begin().fragment().charFormat().toImageFormat();
            const QRectF place = page->document()->documentLayout()->blockBoundingRect(block);
            QVERIFY(picture.height() > 100 && place.height() < picture.height() + 40);
            ++pictures;
        }
        QVERIFY(pictures > 0);
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestHelp)
#include "tst_help.moc"
