// SPDX-License-Identifier: MIT
#include "app/window/questions.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include <QCoreApplication>
#include <QFileInfo>
#include <QInputDialog>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>

#include "app/window/compare/compare_window.hpp"
#include "app/window/document.hpp"
#include "app/window/option_text.hpp"
#include "app/window/settings.hpp"
#include "core/base/units.hpp"
#include "core/io/pytorch/example_input.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

struct QuestionsText {
    Q_DECLARE_TR_FUNCTIONS(Questions)
};

bool askExtent(QWidget* parent, const QString& title, const OpenQuestion& question, ReadOptions& options) {
    constexpr int kUsual = 128, kLargest = 1'000'000'000;
    bool ok = false;
    const int extent =
        QInputDialog::getInt(parent, title, QuestionsText::tr("%1 Size to use:").arg(question.reason), kUsual,
                             1, kLargest, 1, &ok);
    if (ok) options.dims[question.extent.toStdString()] = extent;
    return ok;
}

bool askToRun(QWidget* parent, const QString& title, const OpenQuestion& question, ReadOptions& options) {
    QMessageBox box(QMessageBox::Question, title,
                    QuestionsText::tr("Run the model once on this computer's CPU?"),
                    QMessageBox::Yes | QMessageBox::No, parent);
    box.setInformativeText(
        QuestionsText::tr("Some tensor sizes are known only after a run. Choose No if you do not "
                          "trust the source of the file.\n\n%1")
            .arg(question.reason));
    box.setDefaultButton(QMessageBox::No);
    options.run = box.exec() == QMessageBox::Yes;
    return options.run;
}

bool askInputs(QWidget* parent, const QString& title, const OpenQuestion& question, ReadOptions& options) {
    const QString help = QuestionsText::tr(
        "Enter the shape of each input tensor, separated by spaces: 1x3x224x224, or 1x128:int64 for "
        "integers. The first number is the batch size.");
    const bool proposed = options.inputs.empty() && !question.proposal.empty();
    QStringList shapes;
    for (const ExampleInput& input : proposed ? question.proposal : options.inputs)
        shapes << toQString(to_text(input));
    QString answer = shapes.isEmpty() ? settings::exampleInputs.get() : shapes.join(QLatin1Char(' '));
    QString prompt = question.reason + QStringLiteral("\n\n") + help;
    if (proposed)
        prompt +=
            QStringLiteral("\n\n") +
            QuestionsText::tr("The proposed shapes fit the first layers; the model may expect other sizes.");
    while (true) {
        QInputDialog dialog(parent);
        dialog.setWindowTitle(title);
        dialog.setLabelText(prompt);
        dialog.setTextValue(answer);
        // Long lines of the prompt are wrapped.
        if (auto* const label = dialog.findChild<QLabel*>()) label->setWordWrap(true);
        dialog.resize(480, dialog.sizeHint().height());
        if (dialog.exec() != QDialog::Accepted) return false;
        answer = dialog.textValue();
        try {
            options.inputs.clear();
            for (const QString& text : answer.simplified().split(QLatin1Char(' ')))
                options.inputs.push_back(example_input_from(text.toStdString()));
            settings::exampleInputs.set(answer.simplified());
            return true;
        } catch (const std::invalid_argument& error) {
            prompt = toQString(error.what()) + QStringLiteral(".\n\n") + help;
        }
    }
}

QString figureOf(const Score& score, const Objective& objective) {
    return score.fits ? QuestionsText::tr("%1 %2").arg(objectiveName(objective), secondsText(score.value_s))
                      : QuestionsText::tr("does not fit the memory");
}

/// Returns the question whether to save the best placement of the comparison.
QString questionOf(const CompareWindow::Found& compared, const Document& document) {
    return QuestionsText::tr(
               "Save your work on %1? The best placement is not saved (%2, by %3 of the comparison).")
        .arg(toQString(document.problem()->graph->name()),
             figureOf(compared.score, *document.job().objective), compared.by);
}

/// Returns the question whether to save the best placement of this run, or the one on screen if there is
/// none.
QString questionOf(int unsaved, const Document& document) {
    const QString network = toQString(document.problem()->graph->name());
    const auto run = std::ranges::find(document.runs(), unsaved, [](const auto& of) { return of->id(); });
    if (run != document.runs().end()) {
        const QString figure = figureOf((*run)->progress().best, *(*run)->job().objective);
        return QuestionsText::tr("Save your work on %1? The best placement is not saved (%2, by %3 on %4).")
            .arg(network, figure, runTitle(**run), toQString((*run)->job().machine->name()));
    }
    const Assessment* assessment = document.assessment();
    // "77.6 ms" is taken for the step time; any other objective is named.
    const Objective& measure = *document.job().objective;
    const QString objective = objectiveName(measure);
    return QuestionsText::tr("Save your work on %1 (%2)?")
        .arg(network, assessment == nullptr ? QuestionsText::tr("not simulated yet")
                      : assessment->is_defined()
                          ? (measure.is_step_time() ? secondsText(assessment->score.value_s)
                                                    : QuestionsText::tr("%1 %2").arg(
                                                          objective, secondsText(assessment->score.value_s)))
                          : QuestionsText::tr("%1 not defined").arg(objective));
}

}  // namespace

bool answerToOpen(QWidget* parent, const OpenQuestion& question, ReadOptions& options) {
    const QString title = QuestionsText::tr("Open %1").arg(QFileInfo(question.file).fileName());
    switch (question.kind) {
        case OpenQuestion::Kind::extent:
            return askExtent(parent, title, question, options);
        case OpenQuestion::Kind::mayRun:
            return askToRun(parent, title, question, options);
        case OpenQuestion::Kind::inputs:
            break;
    }
    return askInputs(parent, title, question, options);
}

bool mayLeave(QWidget* parent, Document& document, const CompareWindow* compare, const QString& title,
              const QString& consequence,
              const std::function<bool(const std::function<void()>& show)>& save) {
    std::vector<int> held;  // else they would find more while the question is open
    for (const auto& run : document.runs()) {
        if (run->state() != Run::State::running || run->isPaused()) continue;
        held.push_back(run->id());
        document.pauseRun(run->id(), true);
    }
    bool may = true, asked = false;
    const std::size_t earlier = document.isOpen() ? document.earlierBenchmarks() : 0;
    while (may) {
        const auto unsaved = document.unsaved();
        const auto compared = compare != nullptr ? compare->bestOfOpen() : std::nullopt;
        const bool byComparison = compared && document.isBestKnown(compared->score.penalised_s);
        if (!unsaved && !byComparison && !document.hasUnsavedMeasured() && (asked || earlier == 0)) break;
        asked = true;
        QMessageBox question(QMessageBox::Question, title, {},
                             QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, parent);
        question.setText(byComparison ? questionOf(*compared, document)
                         : unsaved
                             ? questionOf(*unsaved, document)
                             : QuestionsText::tr("Save your work on %1? What was measured is not saved.")
                                   .arg(toQString(document.problem()->graph->name())));
        QString lost = consequence;
        if (earlier > 0)
            lost += QuestionsText::tr(
                        " %1 of an earlier version of the network cannot be saved with this one: cancel, "
                        "go back with Ctrl+Z and export the trace to keep it.")
                        .arg(earlier == 1 ? QuestionsText::tr("1 benchmark")
                                          : QuestionsText::tr("%L1 benchmarks").arg(earlier));
        question.setInformativeText(lost);
        question.button(QMessageBox::Save)->setText(QuestionsText::tr("&Save…"));
        question.button(QMessageBox::Discard)->setText(QuestionsText::tr("&Discard"));
        question.setDefaultButton(QMessageBox::Save);
        const int answer = question.exec();
        if (answer == QMessageBox::Discard) break;
        may = answer == QMessageBox::Save && save([&] {
                  if (byComparison)
                      document.showPlacement(compared->placement,
                                             QuestionsText::tr("Show %1").arg(compared->by));
                  else if (unsaved)
                      document.showRun(*unsaved);
              });
    }
    for (const int id : held) document.pauseRun(id, false);
    return may;
}

ChangedFile askAboutChanged(QWidget* parent, const QString& file) {
    QMessageBox question(QMessageBox::Warning, QuestionsText::tr("Save workspace"), {}, QMessageBox::Cancel,
                         parent);
    question.setText(QuestionsText::tr("%1 has changed on disk since this window opened or saved it.")
                         .arg(QFileInfo(file).fileName()));
    question.setInformativeText(
        QuestionsText::tr("Another window or program has written it. To keep both, save this work in another "
                          "file; if you overwrite %1, what is in it now is lost.")
            .arg(file));
    QPushButton* const saveAs = question.addButton(QuestionsText::tr("Save &as…"), QMessageBox::AcceptRole);
    QPushButton* const overwrite =
        question.addButton(QuestionsText::tr("&Overwrite"), QMessageBox::DestructiveRole);
    question.setDefaultButton(saveAs);
    question.exec();
    return question.clickedButton() == saveAs      ? ChangedFile::saveAs
           : question.clickedButton() == overwrite ? ChangedFile::overwrite
                                                   : ChangedFile::cancel;
}

bool mayReplaceMeasured(QWidget* parent, const Document& document) {
    const std::size_t count = document.unsavedPlacements();
    if (count == 0) return true;
    QMessageBox question(QMessageBox::Question, QuestionsText::tr("Measure the best placements"), {},
                         QMessageBox::Cancel, parent);
    question.setText(
        count == 1 ? QuestionsText::tr("Replace the placement that was measured before?")
                   : QuestionsText::tr("Replace the %L1 placements that were measured before?").arg(count));
    question.setInformativeText(QuestionsText::tr(
        "Their times are in no file. To keep them, cancel and save the workspace (Ctrl+S)."));
    const QPushButton* const replace =
        question.addButton(QuestionsText::tr("&Replace"), QMessageBox::DestructiveRole);
    question.setDefaultButton(QMessageBox::Cancel);
    question.exec();
    return question.clickedButton() == replace;
}

bool mayStopMeasuring(QWidget* parent, const Document& document, double least_s) {
    const Measuring& measuring = document.measuring();
    if (measuring.running() == Measuring::Kind::none || measuring.elapsed_s() < least_s) return true;
    const QString since = QString::fromStdString(format_clock(measuring.elapsed_s()));
    const bool isProfile = measuring.running() == Measuring::Kind::profile;
    const bool isBest = measuring.running() == Measuring::Kind::best;
    QMessageBox question(QMessageBox::Question, QuestionsText::tr("Stop measuring"), {},
                         QMessageBox::Yes | QMessageBox::No, parent);
    question.setText((isProfile ? QuestionsText::tr("A profile has been running for %1. Stop it?")
                      : isBest
                          ? QuestionsText::tr("Placements have been measured for %1. Stop measuring them?")
                          : QuestionsText::tr("A benchmark has been running for %1. Stop it?"))
                         .arg(since));
    question.setInformativeText(
        isProfile ? QuestionsText::tr("Nothing that it has measured will be kept.")
        : isBest  ? QuestionsText::tr(
                        "Those that are finished are kept; the steps of the present one will be lost.")
                 : QuestionsText::tr("Its steps will be lost."));
    question.button(QMessageBox::Yes)->setText(QuestionsText::tr("&Stop"));
    question.button(QMessageBox::No)->setText(QuestionsText::tr("&Go on"));
    question.setDefaultButton(QMessageBox::No);
    return question.exec() == QMessageBox::Yes;
}

}  // namespace placewright
