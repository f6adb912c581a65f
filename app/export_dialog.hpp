// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <QDialog>

#include "app/background.hpp"
#include "app/document.hpp"
#include "core/io/placement_formats.hpp"

class QLabel;
class QLineEdit;
class QListWidget;
class QPlainTextEdit;
class QPushButton;

namespace placewright {

/// The placement on screen as a file for a training run: in which format, where, what the file will say and what speaks against it, and the
/// lines that load it. Stays open after writing. Follows the document's placement.
class ExportDialog : public QDialog {
    Q_OBJECT
public:
    explicit ExportDialog(Document* document, QWidget* parent = nullptr);
    ~ExportDialog() override;

    void chooseFormat(std::string_view id);
    /// Whether the preview is that of what is chosen.
    bool isReady() const { return m_result.has_value(); }

private:
    /// What a format makes of a placement.
    struct Result {
        WrittenPlacement written;
        QString error;                      ///< why there is none
        std::optional<Placement> repaired;  ///< where that differs
        double step_time_s = 0, repaired_s = 0;
    };

    static Result work(const PlacementFormat& format, const PlacedNetwork& placed);
    const PlacementFormat& format() const;
    void changeFormat();
    void invalidate();
    void refresh();
    void showResult(Result result);
    void showFile();
    void browse();
    void repair();
    void write();

    Document* m_document;
    std::string m_suffix;  ///< of the format that the file's name is for
    std::optional<Result> m_result;

    QListWidget* m_formats = nullptr;
    QLineEdit* m_file = nullptr;
    QLabel* m_fileNote = nullptr;
    QPlainTextEdit* m_preview = nullptr;
    QLabel* m_warnings = nullptr;
    QPushButton* m_repair = nullptr;
    QPlainTextEdit* m_snippet = nullptr;
    QPushButton* m_write = nullptr;
    QLabel* m_status = nullptr;

    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work
};

}  // namespace placewright
