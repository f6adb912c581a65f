// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <QObject>
#include <QString>

#include "app/window/background.hpp"
#include "core/io/state/policy_file.hpp"
#include "core/io/state/workspace_file.hpp"

class QAction;
class QToolButton;
class QWidget;

namespace placewright {

class Document;
class Gallery;
class LearnWindow;

/// What the Learn menu does: opens the training window and places the open network with policies.
class Learning : public QObject {
    Q_OBJECT
public:
    /// `options`: the user's option values by algorithm.
    Learning(Document* document, std::map<std::string, OptionValues>& options, const Gallery& gallery,
             QWidget* parent);
    ~Learning() override;

    /// What a workspace keeps of the training window; nothing if nothing was learned.
    std::optional<Workspace::Learned> learned() const;
    /// Shows it in the training window, once that is opened.
    void restore(std::optional<Workspace::Learned> learned);
    /// Whether the training window has a policy whose current state is in no file of the user.
    bool hasUnsavedPolicy() const;
    /// That policy; null if there is none.
    std::shared_ptr<const PolicyFile> unsavedPolicy() const;
    /// Whether the training window neither has a policy nor reads or trains one.
    bool takesPolicy() const;
    /// Reads a policy that only the session has into the training window, to save it or to resume its
    /// training.
    void resumeKept(const QString& file);

    /// Sets the action that predicts with the policy of the training window, which is enabled while there is
    /// one.
    void setTrainedAction(QAction* action);
    LearnWindow* window() const { return m_window; }
    /// Says what goes on while its window is closed, and opens it; for a status bar.
    QToolButton* back() const { return m_back; }
    /// Whether its window trains or tests a policy.
    bool isWorking() const;
    /// Asks whether to save or discard an unsaved policy; false if the user cancels.
    bool mayClose();
    /// Places the open network with the policy of a file; the result becomes a run of the document.
    void predict(const QString& file);
    /// Opens the training window to resume the policy of a file.
    void trainOn(const QString& file);
    void predict(const std::shared_ptr<const PolicyFile>& policy);

    // What the Learn menu does.
    /// Opens the training window.
    void train();
    /// Asks for a policy file and predicts with it.
    void choosePolicy();
    /// Predicts with the policy of the training window.
    void predictTrained();

Q_SIGNALS:
    /// learned() may have changed.
    void learnedChanged();

private:
    void makeWindow();
    void showAction();
    void showBack();
    void predictBy(std::function<std::shared_ptr<const PolicyFile>()> read);

    Document* m_document;
    std::map<std::string, OptionValues>& m_options;
    const Gallery& m_gallery;
    QWidget* m_parent;
    std::optional<Workspace::Learned> m_restored;  ///< that waits for the window
    LearnWindow* m_window = nullptr;               ///< null until it is opened first
    QAction* m_predictTrained = nullptr;
    QToolButton* m_back = nullptr;

    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work in the lane
};

}  // namespace placewright
