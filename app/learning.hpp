// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <QObject>
#include <QString>

#include "app/background.hpp"
#include "core/io/policy_file.hpp"

class QAction;
class QMenu;
class QWidget;

namespace placewright {

class Document;
class LearnWindow;

/// What the Learn menu does: opens the window that policies are trained in, and lets policies place the network that is open.
class Learning : public QObject {
    Q_OBJECT
public:
    /// `options`: by algorithm, what the person chose.
    Learning(Document* document, std::map<std::string, OptionValues>& options, QWidget* parent);
    ~Learning() override;

    void fillMenu(QMenu* menu);
    LearnWindow* window() const { return m_window; }
    /// Asks what shall become of a policy that is in no file.
    bool mayClose();
    /// Places the network that is open, which becomes a run of the document.
    void predict(const QString& file);
    /// Opens the window to go on with the policy of a file.
    void trainOn(const QString& file);
    void predict(const std::shared_ptr<const PolicyFile>& policy);

private:
    void train();
    void choosePolicy();
    void showActions();
    void predictBy(std::function<std::shared_ptr<const PolicyFile>()> read);

    Document* m_document;
    std::map<std::string, OptionValues>& m_options;
    QWidget* m_parent;
    LearnWindow* m_window = nullptr;  ///< null until it is asked for
    QAction *m_predict = nullptr, *m_predictTrained = nullptr;

    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work in the lane
};

}  // namespace placewright
