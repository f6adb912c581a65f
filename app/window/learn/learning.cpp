// SPDX-License-Identifier: MIT
#include "app/window/learn/learning.hpp"

#include <utility>

#include <QAction>
#include <QFileDialog>
#include <QToolButton>

#include "app/window/document.hpp"
#include "app/window/learn/learn_window.hpp"
#include "app/window/settings.hpp"

namespace placewright {

Learning::Learning(Document* document, std::map<std::string, OptionValues>& options, const Gallery& gallery,
                   QWidget* parent)
    : QObject(parent), m_document(document), m_options(options), m_gallery(gallery), m_parent(parent) {
    connect(document, &Document::problemChanged, this, &Learning::showAction);
    m_back = new QToolButton(parent);
    m_back->setObjectName(QStringLiteral("toLearning"));
    m_back->setToolTip(tr("Open the training window; training continues (Ctrl+Shift+L)"));
    m_back->hide();
    connect(m_back, &QToolButton::clicked, this, &Learning::train);
}

Learning::~Learning() {
    if (m_window != nullptr) m_window->disconnect(this);
    delete m_window;
}

void Learning::setTrainedAction(QAction* action) {
    m_predictTrained = action;
    showAction();
}

void Learning::showAction() {
    if (m_predictTrained != nullptr)
        m_predictTrained->setEnabled(m_document->isOpen() && m_window != nullptr && m_window->hasPolicy());
}

void Learning::showBack() {
    const QString text = m_window->progressText();
    m_back->setText(text);
    m_back->setVisible(!text.isEmpty() && !m_window->isVisible());
}

void Learning::makeWindow() {
    if (m_window != nullptr) return;
    m_window = new LearnWindow(m_document, m_options, m_gallery, m_parent);
    connect(m_window, &LearnWindow::policyChanged, this, &Learning::showAction);
    connect(m_window, &LearnWindow::predictionWanted, this, &Learning::predictTrained);
    connect(m_window, &LearnWindow::stateChanged, this, &Learning::showBack);
    connect(m_window, &LearnWindow::stateChanged, this, &Learning::learnedChanged);
    if (m_restored) m_window->restore(*std::exchange(m_restored, std::nullopt));
}

void Learning::train() {
    makeWindow();
    m_window->show();
    m_window->raise();
    m_window->activateWindow();
}

std::optional<Workspace::Learned> Learning::learned() const {
    return m_window != nullptr ? m_window->learned() : m_restored;
}

bool Learning::hasUnsavedPolicy() const {
    return m_window != nullptr && m_window->hasUnsavedPolicy();
}

std::shared_ptr<const PolicyFile> Learning::unsavedPolicy() const {
    return hasUnsavedPolicy() ? m_window->policy() : nullptr;
}

bool Learning::takesPolicy() const {
    return m_window == nullptr ||
           (!m_window->hasPolicy() && !m_window->isReading() && !m_window->isRunning());
}

void Learning::resumeKept(const QString& file) {
    makeWindow();  // which says in the status bar that the policy is not saved
    m_window->resumeKept(file);
}

void Learning::restore(std::optional<Workspace::Learned> learned) {
    if (!learned) return;
    if (m_window != nullptr) return m_window->restore(*learned);
    m_restored = std::move(learned);
}

void Learning::predictTrained() {
    predict(m_window->policy());
}

void Learning::trainOn(const QString& file) {
    train();
    m_window->resume(file);
}

bool Learning::isWorking() const {
    return m_window != nullptr && m_window->isWorking();
}

bool Learning::mayClose() {
    return m_window == nullptr || m_window->mayDrop();
}

void Learning::choosePolicy() {
    const QString file =
        QFileDialog::getOpenFileName(m_parent, tr("Predict with a policy"), settings::policyFolder.get(),
                                     tr("Policies (*.safetensors);;All files (*)"));
    if (file.isEmpty()) return;
    rememberFolderOf(file, settings::policyFolder);
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
                throw std::runtime_error(tr("The policy cannot place %1 on %2: %3")
                                             .arg(QString::fromStdString(job.problem->graph->name()),
                                                  QString::fromStdString(job.machine->name()),
                                                  QString::fromStdString(problem))
                                             .toStdString());
            }
            const Rollout rollout = predict_placement(*policy->design.policy, policy->state.weights, graph,
                                                      policy->design.training.passes);
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
