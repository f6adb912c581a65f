// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <QDialog>

#include "app/window/background.hpp"
#include "app/window/document.hpp"
#include "core/io/placements/placed_network.hpp"
#include "core/io/placements/placement_formats.hpp"

class QCheckBox;
class QLabel;
class QLayout;
class QLineEdit;
class QListWidget;
class QPlainTextEdit;
class QPushButton;
class QStackedWidget;

namespace placewright {

/// Exports the current placement for a training run: format, file name, preview, warnings and the code that
/// loads the file. Stays open after writing. Follows the document's placement and changes it only on request.
class ExportDialog : public QDialog {
    Q_OBJECT
public:
    explicit ExportDialog(Document* document, QWidget* parent = nullptr);
    ~ExportDialog() override;

    void chooseFormat(std::string_view id);
    /// Whether the preview is up to date with the chosen format and placement.
    bool isReady() const { return m_result.has_value(); }

private:
    /// A placement written in a format.
    struct Made {
        PlacedNetwork placed;
        WrittenPlacement written;
        QString error;  ///< why it could not be written; empty if it was
        double step_time_s = 0;
        bool fits = true;
    };
    struct Result {
        Made shown;                         ///< the current placement
        std::optional<Placement> repaired;  ///< the repaired placement; nothing if it is the same
        Made ofRepaired;
        std::optional<double>
            single_device_s;  ///< step time of everything on the best device, if that fits its memory
    };

    static Made make(const PlacementFormat& format, const PlacedNetwork& placed, Simulator& simulator);
    static Result work(const PlacementFormat& format, const PlacedNetwork& placed,
                       const Placement& singleDevice);
    QLayout* makeFormats();
    /// The file, its contents, warnings, repair and loader code.
    QWidget* makeDetails();
    /// The preview, or the reason why there is none.
    QWidget* makeContent();
    QWidget* makeRepair();
    QWidget* makeLoader();
    /// Status and buttons.
    QLayout* makeBottom();
    QString proposedFile() const;
    QString repairNote() const;
    /// The placement to write: the current or the repaired one. Requires m_result.
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
    std::string m_suffix;  ///< of the format that the file name is proposed for
    std::optional<Result> m_result;

    QListWidget* m_formats = nullptr;
    QLineEdit* m_file = nullptr;
    QLabel* m_fileNote = nullptr;
    QStackedWidget* m_content = nullptr;  ///< the preview, or the reason why there is none
    QPlainTextEdit* m_preview = nullptr;
    QLabel* m_reason = nullptr;
    QLabel* m_warnings = nullptr;
    QWidget* m_warningsArea = nullptr;
    QWidget* m_repairBox = nullptr;
    QCheckBox* m_repair = nullptr;
    QLabel* m_repairNote = nullptr;
    QPushButton* m_adopt = nullptr;
    QWidget* m_loading = nullptr;  ///< the loader code with its title
    QPlainTextEdit* m_snippet = nullptr;
    QPushButton* m_write = nullptr;
    QLabel* m_status = nullptr;

    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work
};

}  // namespace placewright
