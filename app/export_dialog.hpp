// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <QDialog>

#include "app/background.hpp"
#include "app/document.hpp"
#include "core/io/placement_formats.hpp"

class QCheckBox;
class QLabel;
class QLineEdit;
class QListWidget;
class QPlainTextEdit;
class QPushButton;
class QStackedWidget;

namespace placewright {

/// The placement on screen as a file for a training run: in which format, where, what the file will say and what speaks against it, and the
/// lines that load it. Stays open after writing. Follows the document's placement, and changes it only if asked to.
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
    struct Made {
        WrittenPlacement written;
        QString error;  ///< why there is none
        double step_time_s = 0;
        bool fits = true;
    };
    struct Result {
        Made shown;                         ///< of the placement on screen
        std::optional<Placement> repaired;  ///< where that differs
        Made ofRepaired;
        std::optional<double> single_device_s;  ///< the step time of everything on the best device, if that fits its memory
    };

    static Made make(const PlacementFormat& format, const PlacedNetwork& placed, Simulator& simulator);
    static Result work(const PlacementFormat& format, const PlacedNetwork& placed, const Placement& singleDevice);
    QString repairNote() const;
    /// What is to be written; only with a result.
    const Made& chosen() const;
    const PlacementFormat& format() const;
    void changeFormat();
    void invalidate();
    void showFormats();
    void refresh();
    void showResult(Result result);
    void showChosen();
    void showFile();
    void browse();
    void adoptRepaired();
    void write();

    Document* m_document;
    std::string m_suffix;  ///< of the format that the file's name is for
    std::optional<Result> m_result;

    QListWidget* m_formats = nullptr;
    QLineEdit* m_file = nullptr;
    QLabel* m_fileNote = nullptr;
    QStackedWidget* m_content = nullptr;  ///< the preview, or why there is none
    QPlainTextEdit* m_preview = nullptr;
    QLabel* m_reason = nullptr;
    QLabel* m_warnings = nullptr;
    QWidget* m_warningsArea = nullptr;
    QWidget* m_repairBox = nullptr;
    QCheckBox* m_repair = nullptr;
    QLabel* m_repairNote = nullptr;
    QPushButton* m_adopt = nullptr;
    QWidget* m_loading = nullptr;  ///< the snippet with its title
    QPlainTextEdit* m_snippet = nullptr;
    QPushButton* m_write = nullptr;
    QLabel* m_status = nullptr;

    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work
};

}  // namespace placewright
