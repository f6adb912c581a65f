// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <QWidget>

#include "app/background.hpp"
#include "app/policy_test.hpp"
#include "app/training_run.hpp"

class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTabWidget;
class QToolButton;
class QTreeWidget;

namespace placewright {

class Document;
class LearningPlot;
class MessageBar;

/// Trains a policy: what it shall learn from on the left, how it learns and how it does on other networks on the right. The machine and the
/// simulation are those of the document.
class LearnWindow : public QWidget {
    Q_OBJECT
public:
    /// `options`: by algorithm, what the person chose.
    LearnWindow(Document* document, std::map<std::string, OptionValues>& options, QWidget* parent = nullptr);
    ~LearnWindow() override;

    const TrainingRun* run() const { return m_run.get(); }
    bool hasPolicy() const { return m_run && m_run->training(); }
    /// As far as it has been trained; null before that.
    std::shared_ptr<const PolicyFile> policy() const { return m_run ? m_run->policy() : nullptr; }
    /// What the test networks take, as far as that is known.
    CdfData cdf() const;
    /// Asks what shall become of a policy that is in no file; false if the person would rather keep it.
    bool mayDrop();
    /// Fills the form with what a policy file was trained with, as far as it tells, to go on with it. What is wrong with the file is said.
    void resume(const QString& file);

Q_SIGNALS:
    /// There is a policy, or none any more.
    void policyChanged();
    void predictionWanted();

protected:
    void closeEvent(QCloseEvent*) override;

private:
    QWidget* makeForm();
    QWidget* makeResults();
    QWidget* makeTest();
    TrainingRequest request() const;
    const PolicyInfo& chosenPolicy() const;
    bool isRunning() const { return m_run && m_run->state() == TrainingRun::State::running; }
    void editOptions();
    void chooseFolder();
    void choosePolicyFile();
    bool isResumed(const TrainingRequest& request) const;
    void showRequest();
    void startOrStop();
    void pauseOrGoOn();
    void drop();
    void showProgress();
    void showNetworks();
    void testOrStop(Background::Lane& lane, CdfData& results, std::function<CdfData(std::stop_token, const CdfCallback&)> work);
    void testPolicy();
    void optimizeTest();
    void showTest();
    bool save();

    Document* m_document;
    std::map<std::string, OptionValues>& m_options;
    std::unique_ptr<TrainingRun> m_run;
    std::shared_ptr<const PolicyFile> m_resumed;  ///< to go on with, as long as the form says what it was trained with
    QString m_resumedFile;
    std::uint64_t m_savedUpdates = 0;      ///< of the policy when it was written
    CdfData m_tested, m_optimized;         ///< as far as is known
    std::uint64_t m_testedUpdates = 0;     ///< that the policy of m_tested had behind it
    std::uint64_t m_optimizedUpdates = 0;  ///< that those of m_optimized had

    QFormLayout* m_form = nullptr;
    QComboBox *m_source = nullptr, *m_policy = nullptr;
    QSpinBox *m_count = nullptr, *m_familySeed = nullptr, *m_updates = nullptr;
    QDoubleSpinBox* m_seed = nullptr;
    QWidget* m_folderRow = nullptr;
    QLineEdit* m_folder = nullptr;
    QLabel *m_machine = nullptr, *m_size = nullptr;
    QToolButton* m_policyOptions = nullptr;
    QPushButton *m_start = nullptr, *m_pause = nullptr, *m_resume = nullptr;
    QLabel* m_status = nullptr;
    QProgressBar* m_progress = nullptr;
    QTabWidget* m_tabs = nullptr;
    LearningPlot* m_plot = nullptr;
    QTreeWidget* m_table = nullptr;
    CdfPlot* m_cdf = nullptr;
    QLabel* m_testStatus = nullptr;
    QPushButton *m_test = nullptr, *m_optimize = nullptr;
    QSpinBox* m_testUpdates = nullptr;
    QPushButton *m_predict = nullptr, *m_save = nullptr;
    MessageBar* m_message = nullptr;

    Background::Lane m_testLane, m_optimizeLane;
    Background m_background{2};  ///< a lane does not wait for the other; last: its destructor waits for the work in the lanes
};

}  // namespace placewright
