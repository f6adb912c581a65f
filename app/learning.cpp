// SPDX-License-Identifier: MIT
#include "app/learning.hpp"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QSettings>

#include "app/document.hpp"
#include "app/learn_window.hpp"

namespace placewright {

Learning::Learning(Document* document, std::map<std::string, OptionValues>& options, QWidget* parent)
    : QObject(parent), m_document(document), m_options(options), m_parent(parent) {
    connect(document, &Document::problemChanged, this, &Learning::showActions);
}

Learning::~Learning() {
    delete m_window;
}

void Learning::fillMenu(QMenu* menu) {
    const auto add = [&](const QString& title, const QKeySequence& shortcut, const QString& tip, auto slot) {
        QAction* action = menu->addAction(title, this, slot);
        action->setShortcut(shortcut);
        action->setToolTip(shortcut.isEmpty() ? tip : tr("%1 (%2)").arg(tip, shortcut.toString(QKeySequence::NativeText)));
        return action;
    };
    add(tr("&Train a policy…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L),
        tr("Let a policy learn to place a family of networks, a folder of them, or the one that is open"), [this] { train(); });
    m_predict = add(tr("&Predict with a policy file…"), {}, tr("Let a trained policy place the network that is open, without a search"),
                    [this] { choosePolicy(); });
    m_predictTrained = add(tr("Predict with the policy of the training &window"), {},
                           tr("The same with the policy as far as it has been trained"), [this] { predict(m_window->policy()); });
    showActions();
}

void Learning::showActions() {
    m_predict->setEnabled(m_document->isOpen());
    m_predictTrained->setEnabled(m_document->isOpen() && m_window != nullptr && m_window->hasPolicy());
}

void Learning::train() {
    if (m_window == nullptr) {
        m_window = new LearnWindow(m_document, m_options, m_parent);
        connect(m_window, &LearnWindow::policyChanged, this, &Learning::showActions);
        connect(m_window, &LearnWindow::predictionWanted, this, [this] { predict(m_window->policy()); });
    }
    m_window->show();
    m_window->raise();
    m_window->activateWindow();
}

void Learning::trainOn(const QString& file) {
    train();
    m_window->resume(file);
}

bool Learning::mayClose() {
    return m_window == nullptr || m_window->mayDrop();
}

void Learning::choosePolicy() {
    const QString folder = QSettings().value(QStringLiteral("policyFolder")).toString();
    const QString file =
        QFileDialog::getOpenFileName(m_parent, tr("Predict with a policy"), folder, tr("Policies (*.safetensors);;All files (*)"));
    if (file.isEmpty()) return;
    QSettings().setValue(QStringLiteral("policyFolder"), QFileInfo(file).absolutePath());
    predict(file);
}

void Learning::predict(const QString& file) {
    predictBy([file] {
        auto policy = std::make_shared<const PolicyFile>(read_policy(file.toStdString()));
        return policy;
    });
}

void Learning::predict(const std::shared_ptr<const PolicyFile>& policy) {
    if (policy) predictBy([policy] { return policy; });
}

void Learning::predictBy(std::function<std::shared_ptr<const PolicyFile>()> read) {
    if (!m_document->isOpen()) return;
    struct Prediction {
        std::shared_ptr<const PolicyFile> policy;
        std::shared_ptr<const Placement> placement;
    };
    m_background.run(
        m_lane,
        [read = std::move(read), job = m_document->job()](std::stop_token) {
            const std::shared_ptr<const PolicyFile> policy = read();
            const PolicyGraph graph(job.problem, policy->design.allow_cpu);
            const PolicyInfo& info = *find_policy(policy->record.policy);
            const std::string problem = misfit(info, policy->record.options, policy->record.size, graph);
            if (!problem.empty()) {
                throw std::runtime_error(tr("The policy does not suit %1 on %2: %3")
                                             .arg(QString::fromStdString(job.problem->graph->name()),
                                                  QString::fromStdString(job.machine->name()), QString::fromStdString(problem))
                                             .toStdString());
            }
            const Rollout rollout = predict_placement(*policy->design.policy, policy->state.weights, graph, policy->design.training.passes);
            return Prediction{policy, std::make_shared<const Placement>(last_placement(graph, rollout))};
        },
        [this, problem = m_document->problem()](Prediction prediction) {
            if (m_document->problem() != problem) return;  // something else has been opened
            RunRequest request;
            request.algorithm = prediction.policy->record.policy;
            request.options = prediction.policy->record.options;
            request.seed = prediction.policy->record.seed;
            request.budget.evaluations = 1;
            request.predicted = std::move(prediction.placement);
            m_document->startSearch(std::move(request));
        },
        [this](const QString& error) { Q_EMIT m_document->message(true, error); });
}

}  // namespace placewright
