// SPDX-License-Identifier: MIT
// Files that the main window opens, takes by drag and drop, and writes.
#include <algorithm>

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>
#include <QPainter>

#include "app/window/compare/compare_window.hpp"
#include "app/window/compare/experiment_window.hpp"
#include "app/window/dialogs/export_dialog.hpp"
#include "app/window/graph_coloring.hpp"
#include "app/window/learn/learning.hpp"
#include "app/window/main_window.hpp"
#include "app/window/picture_export.hpp"
#include "app/window/report_export.hpp"
#include "app/window/settings.hpp"
#include "app/window/tool_bars.hpp"
#include "app/window/trace_window.hpp"
#include "core/io/file_content.hpp"
#include "core/io/networks/node_values.hpp"
#include "core/io/state/score_file.hpp"
#include "core/io/state/workspace_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/job/search_table.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

/// Whether the file has this content; false if it cannot be read.
bool holds(FileContent content, const QString& file) {
    try {
        return file_content(file.toStdString()) == content;
    } catch (const std::exception&) {
        return false;
    }
}

bool holdsNetwork(const QString& file) {
    return holds(FileContent::network, file) || holds(FileContent::workload, file);
}

}  // namespace

void MainWindow::saveSearch() {
    const Run* run = runWith([](const Run& of) { return of.saved().has_value(); });
    if (run == nullptr) return;
    const int id = run->id();  // the run may be removed while the dialog is open
    const QString file = chooseExportFile(tr("Save search"), QStringLiteral(".scores.jsonl"),
                                          tr("Saved searches (*.jsonl)"), QStringLiteral(".jsonl"));
    if (!file.isEmpty()) m_document->saveSearch(id, file);
}

void MainWindow::resumeSearch() {
    const QString file =
        QFileDialog::getOpenFileName(this, tr("Resume a search"), exportFolderFor(m_document->networkFile()),
                                     tr("Saved searches (*.jsonl);;All files (*)"));
    if (!file.isEmpty()) m_document->resumeSearch(file, m_bars->budget());
}

void MainWindow::openExperiment() {
    const QString folder = QFileDialog::getExistingDirectory(this, tr("Choose the folder of an experiment"),
                                                             settings::experimentFolder.get());
    if (folder.isEmpty()) return;
    settings::experimentFolder.set(folder);
    m_background.run(
        m_experimentLane, [folder](std::stop_token) { return read_experiment(folder.toStdString()); },
        [this](ExperimentResults results) { (new ExperimentWindow(std::move(results), this))->show(); },
        [this](const QString& error) { showError(error); });
}

void MainWindow::openDialog() {
    const QStringList paths = QFileDialog::getOpenFileNames(
        this, tr("Open a network, machine, placement, constraints, trace or policy"),
        settings::openFolder.get(),
        tr("Networks, machines, workspaces, placements, constraints, traces, policies, values (*.json "
           "*.json.gz *.onnx *.pt *.pth *.pt2 *.gguf *.placewright *.dot *.gv *.safetensors *.csv);;"
           "All files (*)"));
    if (paths.isEmpty()) return;
    rememberFolderOf(paths.front(), settings::openFolder);
    openPaths(paths);
}

void MainWindow::openModelDialog() {
    const QString folder = QFileDialog::getExistingDirectory(
        this, tr("Open the folder of a language model, which has a config.json"), settings::openFolder.get());
    if (folder.isEmpty()) return;
    settings::openFolder.set(QFileInfo(folder).absolutePath());
    openPath(folder);
}

void MainWindow::openArgument(const QString& text, bool placed) {
    m_opensUnplaced = !placed;
    if (is_trace(text.toStdString())) {
        openTraces({text});
    } else if (is_workspace(text.toStdString())) {
        m_document->openWorkspace(text);
    } else if (is_search_table(text.toStdString())) {
        openPath(text);
    } else if (holds(FileContent::constraints, text)) {
        m_document->openFile(text);
    } else {
        m_document->openNetwork(text);
    }
}

void MainWindow::openPath(const QString& path) {
    m_message->hide();
    if (is_trace(path.toStdString())) return openTraces({path});
    if (path.endsWith(QLatin1String(".safetensors.index.json"), Qt::CaseInsensitive)) {
        if (m_document->isOpen()) return editSimulation({}, path);
        showError(tr("%1 lists files of weights: open their network first, then this file.").arg(path));
        return;
    }
    if (path.endsWith(QLatin1String(".safetensors"), Qt::CaseInsensitive)) {
        if (m_document->isOpen() && holds_weights(path.toStdString())) return editSimulation({}, path);
        return m_learning->trainOn(path);
    }
    if (is_score_file(path.toStdString())) return m_document->resumeSearch(path, m_bars->budget());
    if (is_workspace(path.toStdString())) return m_document->openWorkspace(path);
    if (is_search_table(path.toStdString())) {
        if (m_compare != nullptr && m_compare->isRunning())
            return showError(
                tr("%1 has searches, which are shown in the window that compares algorithms: open it "
                   "when the comparison there has ended.")
                    .arg(path));
        openCompare();
        return m_compare->openTable(path);
    }
    if (is_node_values(path.toStdString())) {
        if (!m_document->isOpen())
            return showError(tr("%1 has values of ops: open their network first, then this file.").arg(path));
        showStart(false);
        return m_coloring->open(path);
    }
    if (m_document->isOpen()) showStart(false);
    m_document->openFile(path);
}

void MainWindow::openValues() {
    const QString file =
        QFileDialog::getOpenFileName(this, tr("Colour ops by values"), settings::openFolder.get(),
                                     tr("Values of ops (*.csv *.tsv *.json);;All files (*)"));
    if (file.isEmpty()) return;
    rememberFolderOf(file, settings::openFolder);
    m_message->hide();
    m_coloring->open(file);
}

void MainWindow::openTraces(const QStringList& paths) {
    if (!m_document->isOpen()) {
        for (const QString& path : paths) openTraceWindow(path);
        return;
    }
    showStart(false);
    m_document->openTraces(paths);
}

void MainWindow::openTraceWindow(const QString& path) {
    if (path.isEmpty()) return;
    auto* window = new TraceWindow(path, this);
    window->setNetworkOpen(m_document->isOpen());
    connect(m_document.get(), &Document::problemChanged, window,
            [this, window] { window->setNetworkOpen(m_document->isOpen()); });
    connect(window, &TraceWindow::timesWanted, this, [this](const QString& file) {
        raise();
        activateWindow();
        editSimulation(file);
    });
    window->show();
}

QString MainWindow::chooseExportFile(const QString& title, const QString& ending, const QString& filter,
                                     const QString& suffix) {
    return askSaveFile(this, title, exportFolderFor(m_document->networkFile()),
                       toQString(m_document->problem()->graph->name()) + ending, filter, suffix,
                       settings::exportFolder);
}

void MainWindow::exportPlacement() {
    if (!m_document->isOpen()) return;
    const QString file = chooseExportFile(tr("Export"), QStringLiteral(".placement.json"),
                                          tr("Placement (*.json)"), QStringLiteral(".json"));
    if (file.isEmpty()) return;
    try {
        m_document->exportPlacement(file);
        showInformation(tr("Placement written to %1").arg(file));
    } catch (const InputError& error) {
        showError(toQString(error.what()));
    }
}

void MainWindow::exportForTraining() {
    auto* dialog = new ExportDialog(m_document.get(), this);
    dialog->show();
}

void MainWindow::exportReport() {
    if (!m_document->isOpen()) return;
    const QString file = chooseExportFile(tr("Export report"), QStringLiteral(".report.html"),
                                          tr("Report (*.html)"), QStringLiteral(".html"));
    if (file.isEmpty()) return;
    auto* writing = new ReportExport(file, *m_document,
                                     recordPicture(m_graph->wholeSize(),
                                                   [this](QPainter& painter, const QRectF& target) {
                                                       m_graph->renderWhole(painter, target);
                                                   }),
                                     this);
    connect(writing, &ReportExport::written, this,
            [this](const QString& written) { showInformation(tr("Report written to %1").arg(written)); });
    connect(writing, &ReportExport::failed, this, &MainWindow::showError);
}

void MainWindow::exportTable(const QString& ending, std::string (*table)(const std::vector<std::string>&,
                                                                         const std::vector<ComparedCase>&)) {
    if (!m_document->isOpen()) return;
    const std::vector<ComparedCase> cases = m_document->searchCases();
    if (cases.empty())
        return showError(
            tr("There is no search to write for this network and objective. Press Optimize (F5) "
               "first."));
    const QString file = chooseExportFile(tr("Export"), ending, tr("Table (*.csv)"), QStringLiteral(".csv"));
    if (file.isEmpty()) return;
    try {
        write_file(file.toStdString(), table(RunList::caseLabels(), cases));
        showInformation(tr("Table written to %1").arg(file));
    } catch (const InputError& error) {
        showError(toQString(error.what()));
    }
}

void MainWindow::exportView(const QString& name, QSizeF size,
                            const std::function<void(QPainter&, const QRectF&)>& paint) {
    const QString file = chooseExportFile(tr("Export"), QLatin1Char('-') + name + QStringLiteral(".png"),
                                          tr("Picture (*.png *.svg *.pdf)"), QStringLiteral(".png"));
    if (file.isEmpty()) return;
    Picture picture = recordPicture(size, paint);
    const auto scale = askPictureScale(this, file, picture);
    if (!scale) return;
    auto* writing = new PictureExport(file, std::move(picture), *scale, this);
    connect(writing, &PictureExport::written, this,
            [this](const QString& written) { showInformation(tr("Picture written to %1").arg(written)); });
    connect(writing, &PictureExport::failed, this, &MainWindow::showError);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::openPaths(const QStringList& paths, QStringList others) {
    if (paths.size() > 1 &&
        std::ranges::all_of(paths, [](const QString& path) { return is_trace(path.toStdString()); })) {
        m_message->hide();
        return openTraces(paths);
    }
    // Files are only read to choose one: a large one takes a second.
    const auto network = paths.size() == 1 ? paths.begin() : std::ranges::find_if(paths, holdsNetwork);
    const QString chosen = network != paths.end() ? *network : paths.front();
    for (const QString& path : paths) {
        if (path != chosen) others << QFileInfo(path).fileName();
    }
    openPath(chosen);
    if (!others.isEmpty() && m_message->isHidden())
        showInformation(tr("Only %1 is opened, not %2. Open one file at a time, or several traces.")
                            .arg(QFileInfo(chosen).fileName(), others.join(QStringLiteral(", "))));
}

void MainWindow::dropEvent(QDropEvent* event) {
    event->acceptProposedAction();
    QStringList files, others;
    for (const QUrl& url : event->mimeData()->urls()) {
        if (url.isLocalFile()) {
            files << url.toLocalFile();
        } else {
            others << url.toDisplayString();
        }
    }
    if (files.isEmpty()) return showError(tr("Only files on this computer can be dropped here."));
    openPaths(files, others);
}

}  // namespace placewright
