// SPDX-License-Identifier: MIT
// The form of the comparison window: algorithms, networks, machines and effort.
#include <algorithm>
#include <array>

#include <QFormLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include "app/window/compare/compare_window.hpp"
#include "app/window/document.hpp"
#include "app/window/gallery.hpp"
#include "app/window/option_text.hpp"
#include "app/window/settings.hpp"
#include "core/algorithms.hpp"
#include "core/graph/networks.hpp"
#include "core/io/shipped.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

/// Algorithms that are checked at first.
constexpr std::array kFirstAlgorithms{"auto",    "expert",    "hill-climbing", "simulated-annealing",
                                      "genetic", "map-elites"};

/// Role in the lists: id of an algorithm, file or name of a network or machine.
constexpr int kValueRole = Qt::UserRole;

QListWidget* makeList(const char* name, const QString& title, const QString& toolTip) {
    auto* list = new QListWidget;
    list->setObjectName(QLatin1String(name));
    list->setAccessibleName(title);
    list->setToolTip(toolTip);
    list->setUniformItemSizes(true);
    list->setSpacing(1);
    return list;
}

QListWidgetItem* addEntry(QListWidget* list, const QString& title, const QString& value, bool checked) {
    auto* item = new QListWidgetItem(title, list);
    item->setData(kValueRole, value);
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
    item->setCheckState(checked ? Qt::Checked : Qt::Unchecked);
    return item;
}

std::vector<std::string> checkedIn(const QListWidget* list) {
    std::vector<std::string> values;
    for (int row = 0; row < list->count(); ++row) {
        if (list->item(row)->checkState() == Qt::Checked)
            values.push_back(list->item(row)->data(kValueRole).toString().toStdString());
    }
    return values;
}

QListWidgetItem* findEntry(const QListWidget* list, const QString& value) {
    for (int row = 0; row < list->count(); ++row) {
        if (list->item(row)->data(kValueRole).toString() == value) return list->item(row);
    }
    return nullptr;
}

/// Returns the name of a bundled file; any other file stands for itself.
QString nameOf(const QString& file, const std::vector<ShippedFile>& shipped) {
    const auto found = std::ranges::find(shipped, file.toStdString(),
                                         [](const ShippedFile& each) { return each.file.string(); });
    return found == shipped.end() ? file : toQString(found->name);
}

/// Checks the entry with this value, which is added at the top if the list lacks it.
void check(QListWidget* list, const QString& title, const QString& value) {
    QListWidgetItem* item = findEntry(list, value);
    if (item == nullptr) {
        item = addEntry(list, title, value, true);
        list->insertItem(0, list->takeItem(list->row(item)));
    }
    item->setCheckState(Qt::Checked);
    list->scrollToItem(item);
}

}  // namespace

QWidget* CompareWindow::makeForm() {
    m_algorithms = makeList("algorithms", tr("Algorithms"),
                            tr("Algorithms to compare, with the options chosen in the main window"));
    QString group;
    for (const AlgorithmInfo& info : algorithms()) {
        if (toQString(info.group) != group) {
            group = toQString(info.group);
            auto* heading = new QListWidgetItem(group, m_algorithms);
            heading->setFlags(Qt::ItemIsEnabled);
            QFont bold = m_algorithms->font();
            bold.setBold(true);
            heading->setFont(bold);
        }
        const bool first = std::ranges::find(kFirstAlgorithms, info.id) != kFirstAlgorithms.end();
        addEntry(m_algorithms, toQString(info.title), toQString(info.id), first)
            ->setToolTip(toQString(info.help));
    }
    m_networks = makeList("networks", tr("Networks"), tr("Networks that every algorithm places"));
    for (const ShippedFile& shipped : shipped_networks()) {
        const NetworkInfo* info = find_network(shipped.name);
        addEntry(m_networks, info != nullptr ? toQString(info->title) : toQString(shipped.name),
                 toQString(shipped.name), false);
    }
    m_machines = makeList("machines", tr("Machines"), tr("Machines that every network is placed on"));
    for (const ShippedFile& shipped : shipped_machines()) {
        addEntry(m_machines, toQString(shipped.name), toQString(shipped.name), false)
            ->setToolTip(plainToolTip(toQString(shipped.file.string())));
    }
    showMachineTitles();
    connect(&m_gallery, &Gallery::read, this, &CompareWindow::showMachineTitles);

    m_seeds = new QSpinBox;
    m_seeds->setObjectName(QStringLiteral("seeds"));
    m_seeds->setAccessibleName(tr("Seeds"));
    m_seeds->setRange(1, 1000);
    m_seeds->setValue(5);
    m_seeds->setToolTip(
        tr("Number of searches of each algorithm, with seeds 1, 2, …; intervals need two or more"));
    m_evaluations = new QSpinBox;
    m_evaluations->setObjectName(QStringLiteral("evaluations"));
    m_evaluations->setAccessibleName(tr("Evaluations"));
    m_evaluations->setRange(1, 1'000'000'000);
    m_evaluations->setGroupSeparatorShown(true);
    m_evaluations->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    m_evaluations->setToolTip(tr("Maximum number of placements that each search simulates"));
    m_size = new QLabel;
    m_size->setObjectName(QStringLiteral("size"));
    m_size->setWordWrap(true);
    m_size->setForegroundRole(QPalette::PlaceholderText);
    m_start = new QPushButton;
    m_start->setObjectName(QStringLiteral("start"));

    auto* form = new QWidget;
    auto* layout = new QVBoxLayout(form);
    layout->setContentsMargins(0, 0, 6, 0);
    for (const auto& [list, stretch] :
         {std::pair(m_algorithms, 3), std::pair(m_networks, 2), std::pair(m_machines, 2)}) {
        auto* title = new QLabel(list->accessibleName());
        title->setBuddy(list);
        layout->addWidget(title);
        layout->addWidget(list, stretch);
        connect(list, &QListWidget::itemChanged, this, &CompareWindow::showRequest);
    }
    auto* numbers = new QFormLayout;
    numbers->addRow(tr("&Seeds"), m_seeds);
    numbers->addRow(tr("&Evaluations"), m_evaluations);
    layout->addLayout(numbers);
    layout->addWidget(m_size);
    layout->addWidget(m_start);
    connect(m_seeds, &QSpinBox::valueChanged, this, &CompareWindow::showRequest);
    connect(m_evaluations, &QSpinBox::valueChanged, this, &CompareWindow::showRequest);
    connect(m_start, &QPushButton::clicked, this, &CompareWindow::startOrStop);
    return form;
}

void CompareWindow::prepare() {
    if (m_run) return;
    m_evaluations->setValue(settings::comparedEvaluations.get());
    if (!m_document->isOpen()) return;
    check(m_networks, toQString(m_document->problem()->graph->name()),
          nameOf(m_document->networkFile(), shipped_networks()));
    check(m_machines, toQString(m_document->job().machine->name()),
          nameOf(m_document->machineFile(), shipped_machines()));
}

ComparisonRequest CompareWindow::request() const {
    ComparisonRequest request;
    request.networks = checkedIn(m_networks);
    request.machines = checkedIn(m_machines);
    request.options = m_document->options();
    request.supplemented = nameOf(m_document->networkFile(), shipped_networks()).toStdString();
    for (const std::string& id : checkedIn(m_algorithms)) {
        const auto options = m_options.find(id);
        request.contestants.push_back(
            {find_algorithm(id), options == m_options.end() ? OptionValues() : options->second});
    }
    request.seeds = static_cast<std::size_t>(m_seeds->value());
    request.evaluations = static_cast<std::uint64_t>(m_evaluations->value());
    return request;
}

void CompareWindow::showRequest() {
    const bool running = m_run && m_run->state() == ComparisonRun::State::running;
    for (QWidget* widget :
         std::initializer_list<QWidget*>{m_algorithms, m_networks, m_machines, m_seeds, m_evaluations}) {
        widget->setEnabled(!running);
    }
    m_start->setText(running ? tr("S&top") : tr("&Compare"));
    m_start->setToolTip(running ? tr("Stop the comparison; finished searches stay in the table")
                                : tr("Run all searches, on all cores"));
    if (running) return;
    const std::size_t searches = request().searches();
    m_start->setEnabled(searches > 0);
    if (searches == 0) {
        m_size->setText(tr("Check at least one algorithm, one network and one machine."));
        return;
    }
    const QStringList options = changedOptions(m_document->options(), m_document->job().language);
    QString size = tr("%L1 searches of at most %L2 evaluations").arg(searches).arg(m_evaluations->value());
    if (!options.isEmpty()) size += tr("; simulation: %1").arg(options.join(QStringLiteral(" · ")));
    m_size->setText(size);
}

void CompareWindow::showMachineTitles() {
    for (int row = 0; row < m_machines->count(); ++row) {
        QListWidgetItem* item = m_machines->item(row);
        const QString machine = item->data(kValueRole).toString();
        if (const QString title = m_gallery.machineTitle(machine); title != machine) item->setText(title);
    }
}

}  // namespace placewright
