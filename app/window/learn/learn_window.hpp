// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <QWidget>

#include "app/window/background.hpp"
#include "app/window/learn/policy_trial.hpp"
#include "app/window/learn/training_job.hpp"
#include "core/io/state/workspace_file.hpp"

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
class Gallery;
class LearningPlot;
class MessageBar;

/// Window that trains a policy: settings on the left, learning curves and test results on the right. Machine
/// and simulation options are those of the document.
class LearnWindow : public QWidget {
    Q_OBJECT
public:
    /// `options`: the user's option values by algorithm.
    LearnWindow(Document* document, std::map<std::string, OptionValues>& options, const Gallery& gallery,
                QWidget* parent = nullptr);
    ~LearnWindow() override;

    const TrainingRun* run() const { return m_run.get(); }
    /// Whether there is a policy: trained here, or read to be trained further.
    bool hasPolicy() const { return state() != nullptr; }
    /// The policy in its current state; null without one.
    std::shared_ptr<const PolicyFile> policy() const;
    /// Whether there is a policy whose current state is in no file of the user.
    bool hasUnsavedPolicy() const;
    /// Values of the test networks that are known so far.
    CdfData cdf() const;
    /// Asks whether to save or discard an unsaved policy; false if the user cancels.
    bool mayDrop();
    /// What goes on, or that the policy is in no file; empty if neither.
    QString progressText() const;
    /// Reads a policy file on another thread and fills the form with the settings that it records, to resume
    /// its training. Asks before it drops an unsaved policy. Reports errors of the file in a dialog.
    void resume(const QString& file);
    /// The same with a policy that only the session has.
    void resumeKept(const QString& file) { read(file, true); }
    bool isReading() const { return m_resumeLane.busy(); }
    /// What a workspace keeps: the policy's curve, or the one that was restored; nothing if there is none.
    std::optional<Workspace::Learned> learned() const;
    /// Shows the curve of a workspace until a policy is trained here, and resumes the policy's file where
    /// there is one. Without effect if there is a policy already.
    void restore(const Workspace::Learned& learned);
    /// Whether a policy is trained, also while that is paused.
    bool isRunning() const { return m_run && m_run->state() == TrainingRun::State::running; }
    /// Whether a policy is trained (and not paused) or tested.
    bool isWorking() const {
        return (isRunning() && !m_run->isPaused()) || m_testLane.busy() || m_optimizeLane.busy();
    }

Q_SIGNALS:
    /// hasPolicy() has changed.
    void policyChanged();
    void predictionWanted();
    /// progressText() or isVisible() may have changed.
    void stateChanged();

protected:
    void showEvent(QShowEvent*) override;
    void hideEvent(QHideEvent*) override;

private:
    QWidget* makeForm();
    void makeSources();
    QWidget* makeFolderRow();
    void makePolicy();
    QWidget* makePolicyRow();
    QWidget* makeResults();
    QWidget* makeTest();
    /// Returns what the form asks for.
    TrainingRequest request() const;
    const PolicyInfo& chosenPolicy() const;
    /// The policy that the training here resumes, or would resume; null: none.
    std::shared_ptr<const PolicyFile> resumedPolicy() const {
        return m_run ? m_run->request().resumed : m_resumed;
    }
    /// Id of the kind of the policy, which must be there.
    const std::string& policyId() const;
    /// State of the policy; null without one.
    std::shared_ptr<const TrainingState> state() const;
    /// Updates of the policy when it was saved last; 0: never.
    std::uint64_t savedUpdates() const;
    /// Opens the dialog with the options of the chosen policy.
    void editOptions();
    void chooseFolder();
    /// Asks for a policy file and resumes it.
    void choosePolicyFile();
    /// Says why a policy cannot be resumed.
    void warn(const QString& reason);
    void read(const QString& file, bool isKept);
    /// `file`: where the policy is; empty: only the session has it.
    void adopt(const QString& file, std::shared_ptr<const PolicyFile> policy);
    /// Title of the machine to train on; the name of its file where no title is known.
    QString machineTitle() const;
    bool isResumed(const TrainingRequest& request) const;
    /// The policy to resume, in words.
    QString resumedName() const;
    /// What is known of the policy of the restored curve.
    QString restoredText() const;
    /// Updates the form: what is visible and enabled, the buttons and the note about the request.
    void showRequest();
    /// Starts, continues or stops the training.
    void startOrStop();
    void pauseOrResume();
    void drop();
    /// Updates status, progress bar, plot and table.
    void showProgress();
    /// Updates the table of training networks.
    void showNetworks();
    void testOrStop(Background::Lane& lane, CdfData& results,
                    std::function<CdfData(std::stop_token, const CdfCallback&)> work);
    /// Tests the policy on the test networks, or stops the test.
    void testPolicy();
    /// Trains a new policy on each test network alone, or stops that.
    void optimizeTest();
    /// Updates the test tab.
    void showTest();
    /// Asks for a file and writes the policy.
    bool save();

    Document* m_document;
    std::map<std::string, OptionValues>& m_options;
    const Gallery& m_gallery;
    std::unique_ptr<TrainingRun> m_run;
    std::shared_ptr<const PolicyFile> m_resumed;  ///< policy to resume, while the form agrees with its record
    QString m_resumedFile;                        ///< where it is; empty: only the session has it
    std::optional<Workspace::Learned> m_restored;
    std::uint64_t m_savedUpdates = 0;      ///< updates of the policy of m_run when it was saved last
    QString m_savedFile;                   ///< where it was
    CdfData m_tested, m_optimized;         ///< results known so far
    std::uint64_t m_testedUpdates = 0;     ///< updates of the policy that m_tested is of
    std::uint64_t m_optimizedUpdates = 0;  ///< updates of the policies that m_optimized is of

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

    Background::Lane m_testLane, m_optimizeLane, m_resumeLane;
    /// One thread a lane, so that none waits for another. Last: its destructor waits for the work.
    Background m_background{3};
};

}  // namespace placewright
