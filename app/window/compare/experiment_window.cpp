// SPDX-License-Identifier: MIT
#include "app/window/compare/experiment_window.hpp"

#include <QComboBox>
#include <QFormLayout>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QTabWidget>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "widgets/learning_plot.hpp"

namespace placewright {
namespace {

/// Makes a page with a plot of one of `items` at a time and a list to choose the item.
template <class Plot, class Item, class Show>
QWidget* chosenPlot(const QString& label, Plot* plot, const std::vector<Item>& items, Show show) {
    auto* page = new QWidget;
    auto* choice = new QComboBox;
    choice->setObjectName(QStringLiteral("choice"));
    choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    for (const Item& item : items) choice->addItem(item.title);
    QObject::connect(choice, &QComboBox::currentIndexChanged, plot,
                     [plot, &items, show](int index) { show(plot, items[static_cast<std::size_t>(index)]); });
    show(plot, items.front());
    auto* form = new QFormLayout;
    form->addRow(label, choice);
    auto* layout = new QVBoxLayout(page);
    layout->addLayout(form);
    layout->addWidget(plot, 1);
    return page;
}

}  // namespace

ExperimentWindow::ExperimentWindow(ExperimentResults results, QWidget* parent)
    : QWidget(parent, Qt::Window), m_results(std::move(results)) {
    setWindowTitle(tr("Experiment %1").arg(m_results.name));
    setAttribute(Qt::WA_DeleteOnClose);
    resize(1280, 760);
    auto* report = new QTextBrowser;
    report->setObjectName(QStringLiteral("report"));
    report->setAccessibleName(tr("Report"));
    report->setMarkdown(m_results.report);
    auto* plots = new QTabWidget;
    plots->setObjectName(QStringLiteral("plots"));
    if (!m_results.cases.empty()) {
        plots->addTab(chosenPlot(tr("&Case"), new CurvePlot, m_results.cases,
                                 [](CurvePlot* plot, const ExperimentResults::Case& of) {
                                     plot->setSeries(of.series);
                                 }),
                      tr("&Searches"));
    }
    if (!m_results.distributions.empty()) {
        plots->addTab(chosenPlot(tr("&Networks"), new CdfPlot, m_results.distributions,
                                 [](CdfPlot* plot, const ExperimentResults::Distribution& of) {
                                     plot->setData(of.data);
                                 }),
                      tr("&Distribution"));
    }
    if (!m_results.trainings.empty()) {
        plots->addTab(chosenPlot(tr("&Training"), new LearningPlot, m_results.trainings,
                                 [](LearningPlot* plot, const ExperimentResults::Training& of) {
                                     plot->setCurve(of.curve);
                                 }),
                      tr("&Learning"));
    }
    auto* splitter = new QSplitter;
    splitter->addWidget(report);
    if (plots->count() > 0) splitter->addWidget(plots);
    splitter->setSizes({640, 640});
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(splitter, 1);
    auto* close = new QPushButton(tr("C&lose"));
    close->setObjectName(QStringLiteral("close"));
    connect(close, &QPushButton::clicked, this, &QWidget::close);
    layout->addWidget(close, 0, Qt::AlignRight);
    for (const QKeySequence& key : {QKeySequence(QKeySequence::Close), QKeySequence(Qt::Key_Escape)})
        connect(new QShortcut(key, this), &QShortcut::activated, this, &QWidget::close);
}

}  // namespace placewright
