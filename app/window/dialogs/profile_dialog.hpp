// SPDX-License-Identifier: MIT
#pragma once

#include <QDialog>

class QCheckBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTreeWidget;

namespace placewright {

class Document;
class FileLabel;
class MeasurePlanView;

/// Profiles the open network: asks for the file of measured times, shows progress and then what was measured,
/// and offers to simulate with it. The window can be used meanwhile; the profile goes on if the dialog is
/// closed, and its result is there when it is opened again.
class ProfileDialog : public QDialog {
    Q_OBJECT
public:
    explicit ProfileDialog(Document* document, QWidget* parent = nullptr);

    /// The file that profiles are kept in if no other was chosen.
    static QString defaultFile();
    /// The file that was chosen last, else the default one; need not exist.
    static QString lastFile();

private:
    void chooseFile();
    void start();
    void showState();

    Document* m_document;
    MeasurePlanView* m_plan = nullptr;
    FileLabel* m_file = nullptr;
    QPushButton* m_choose = nullptr;
    QSpinBox* m_steps = nullptr;
    QCheckBox* m_transfers = nullptr;
    QCheckBox* m_throttles = nullptr;
    QProgressBar* m_progress = nullptr;
    QLabel* m_state = nullptr;
    QTreeWidget* m_models = nullptr;
    QPushButton* m_use = nullptr;
    QPushButton* m_start = nullptr;  ///< stops what runs
};

}  // namespace placewright
