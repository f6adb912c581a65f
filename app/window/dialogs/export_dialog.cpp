// SPDX-License-Identifier: MIT
#include "app/window/dialogs/export_dialog.hpp"

#include <QCheckBox>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QScreen>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStyle>
#include <QVBoxLayout>

#include "app/window/settings.hpp"
#include "core/base/path.hpp"
#include "core/io/placements/placed_network.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"
#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

/// Length of the preview: nobody reads more, and the widget would be slow.
constexpr qsizetype kShownBytes = 64 << 10;

QPlainTextEdit* codeView(const QString& name, const QString& accessibleName) {
    auto* view = new QPlainTextEdit;
    view->setObjectName(name);
    view->setAccessibleName(accessibleName);
    view->setReadOnly(true);
    view->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    view->setTabChangesFocus(true);
    view->setLineWrapMode(QPlainTextEdit::NoWrap);
    view->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    view->setMinimumHeight(view->fontMetrics().height() * 6);
    return view;
}

QLabel* textView(const QString& name) {
    auto* label = new QLabel;
    label->setObjectName(name);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    return label;
}

QScrollArea* scrolled(QWidget* widget) {
    auto* area = new QScrollArea;
    area->setWidget(widget);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    return area;
}

/// A label whose mnemonic (Alt and a letter) leads to the control.
QLabel* labelFor(const QString& title, QWidget* buddy) {
    auto* label = new QLabel(title);
    label->setBuddy(buddy);
    return label;
}

}  // namespace

ExportDialog::ExportDialog(Document* document, QWidget* parent) : QDialog(parent), m_document(document) {
    setObjectName(QStringLiteral("exportDialog"));
    setWindowTitle(tr("Export placement"));
    setAttribute(Qt::WA_DeleteOnClose);

    auto* columns = new QHBoxLayout;
    columns->addLayout(makeFormats(), 2);
    columns->addWidget(makeDetails(), 3);
    auto* layout = new QVBoxLayout(this);
    layout->addLayout(columns, 1);
    layout->addLayout(makeBottom());
    m_suffix = placement_formats().front().suffix;
    m_file->setText(proposedFile());

    connect(m_formats, &QListWidget::currentRowChanged, this, &ExportDialog::changeFormat);
    connect(m_file, &QLineEdit::textChanged, this, [this] {
        m_status->clear();
        showFile();
    });
    connect(m_repair, &QCheckBox::clicked, this, [this] {
        m_status->clear();
        showChosen();
    });
    connect(m_adopt, &QPushButton::clicked, this, &ExportDialog::adoptRepaired);
    connect(m_write, &QPushButton::clicked, this, &ExportDialog::write);
    // The timeline follows the placement; the file contains its figures.
    connect(m_document, &Document::placementChanged, this, [this] {
        m_status->clear();
        invalidate();
    });
    connect(m_document, &Document::timelineChanged, this, &ExportDialog::refresh);
    m_formats->setCurrentRow(0);
    m_formats->setFocus();
    const QSize wanted(fontMetrics().averageCharWidth() * 130, fontMetrics().height() * 44);
    const int title = style()->pixelMetric(QStyle::PM_TitleBarHeight, nullptr, this);
    resize(wanted.boundedTo(screen()->availableSize() - QSize(0, title)));
}

QLayout* ExportDialog::makeFormats() {
    m_formats = new QListWidget;
    m_formats->setObjectName(QStringLiteral("formats"));
    m_formats->setAccessibleName(tr("Format"));
    m_formats->setWordWrap(true);
    m_formats->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_formats->setSpacing(2);
    m_formats->setResizeMode(QListView::Adjust);  // narrower items have more lines
    for (std::size_t i = 0; i < placement_formats().size(); ++i) m_formats->addItem(QString());
    showFormats();
    auto* left = new QVBoxLayout;
    left->addWidget(labelFor(tr("For&mat"), m_formats));
    left->addWidget(m_formats, 1);
    return left;
}

QWidget* ExportDialog::makeDetails() {
    m_file = new QLineEdit;
    m_file->setObjectName(QStringLiteral("file"));
    m_file->setAccessibleName(tr("File"));
    m_file->setToolTip(tr("File to write; it may exist already"));
    auto* browse = new QPushButton(tr("&Browse…"));
    browse->setObjectName(QStringLiteral("browse"));
    browse->setToolTip(tr("Choose the file to write"));
    browse->setAutoDefault(false);
    m_fileNote = new QLabel;
    m_fileNote->setObjectName(QStringLiteral("fileNote"));
    connect(browse, &QPushButton::clicked, this, &ExportDialog::browse);
    auto* fileRow = new QHBoxLayout;
    fileRow->addWidget(m_file, 1);
    fileRow->addWidget(browse);
    m_warnings = textView(QStringLiteral("warnings"));
    m_warningsArea = scrolled(m_warnings);
    m_warningsArea->setMinimumHeight(fontMetrics().height() * 3);
    QWidget* const content = makeContent();
    auto* details = new QWidget;
    auto* right = new QVBoxLayout(details);
    right->setContentsMargins(0, 0, 0, 0);
    right->addWidget(labelFor(tr("&File"), m_file));
    right->addLayout(fileRow);
    right->addWidget(m_fileNote);
    right->addWidget(labelFor(tr("&Preview"), m_preview));
    right->addWidget(content, 3);
    right->addWidget(m_warningsArea, 1);
    right->addWidget(makeRepair());
    right->addWidget(makeLoader(), 2);
    // Widgets with much content take the height that is left; a low screen does not hold all of it.
    for (QWidget* much : std::initializer_list<QWidget*>{m_content, m_warningsArea, m_snippet})
        much->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
    QScrollArea* detailsArea = scrolled(details);
    detailsArea->setObjectName(QStringLiteral("details"));
    return detailsArea;
}

QWidget* ExportDialog::makeContent() {
    m_preview = codeView(QStringLiteral("preview"), tr("Contents of the file"));
    auto* sign = new QLabel;
    const int signSize = style()->pixelMetric(QStyle::PM_LargeIconSize, nullptr, this);
    sign->setPixmap(style()
                        ->standardIcon(QStyle::SP_MessageBoxWarning, nullptr, this)
                        .pixmap(QSize(signSize, signSize), devicePixelRatioF()));
    auto* refused = new QLabel(tr("This placement cannot be written in this format."));
    QFont bold = refused->font();
    bold.setBold(true);
    refused->setFont(bold);
    refused->setWordWrap(true);
    m_reason = textView(QStringLiteral("reason"));
    auto* refusal = new QWidget;
    auto* reasonColumn = new QVBoxLayout;
    reasonColumn->addWidget(refused);
    reasonColumn->addWidget(m_reason, 1);
    auto* refusalRow = new QHBoxLayout(refusal);
    refusalRow->addWidget(sign, 0, Qt::AlignTop);
    refusalRow->addLayout(reasonColumn, 1);
    auto* refusalArea = scrolled(refusal);
    refusalArea->setFrameShape(QFrame::StyledPanel);
    m_content = new QStackedWidget;
    m_content->addWidget(m_preview);
    m_content->addWidget(refusalArea);
    return m_content;
}

QWidget* ExportDialog::makeRepair() {
    m_repair = new QCheckBox;
    m_repair->setObjectName(QStringLiteral("repair"));
    m_repair->setToolTip(tr("Write the nearest placement that the format can express"));
    m_repairNote = textView(QStringLiteral("repairNote"));
    m_adopt = new QPushButton(tr("&Apply to current placement"));
    m_adopt->setObjectName(QStringLiteral("adopt"));
    m_adopt->setToolTip(tr("Replace the current placement by the repaired one; Ctrl+Z undoes this"));
    m_adopt->setAutoDefault(false);
    m_repairBox = new QWidget;
    m_repairBox->setVisible(false);
    auto* repairColumn = new QVBoxLayout(m_repairBox);
    repairColumn->setContentsMargins(0, 0, 0, 0);
    auto* repairRow = new QHBoxLayout;
    repairRow->addWidget(m_repair, 1);
    repairRow->addWidget(m_adopt);
    repairColumn->addLayout(repairRow);
    repairColumn->addWidget(m_repairNote);
    return m_repairBox;
}

QWidget* ExportDialog::makeLoader() {
    m_snippet = codeView(QStringLiteral("snippet"), tr("Code that loads the file"));
    auto* copy = new QPushButton(tr("&Copy"));
    copy->setObjectName(QStringLiteral("copy"));
    copy->setToolTip(tr("Copy the loader code to the clipboard"));
    copy->setAutoDefault(false);
    connect(copy, &QPushButton::clicked, this, [this] {
        QGuiApplication::clipboard()->setText(m_snippet->toPlainText());
        m_status->setText(tr("Copied to the clipboard."));
    });
    m_loading = new QWidget;
    auto* loadingColumn = new QVBoxLayout(m_loading);
    loadingColumn->setContentsMargins(0, 0, 0, 0);
    auto* snippetRow = new QHBoxLayout;
    snippetRow->addWidget(labelFor(tr("&Loader code"), m_snippet), 1);
    snippetRow->addWidget(copy);
    loadingColumn->addLayout(snippetRow);
    loadingColumn->addWidget(m_snippet, 1);
    return m_loading;
}

QLayout* ExportDialog::makeBottom() {
    m_status = textView(QStringLiteral("status"));

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    m_write = buttons->addButton(tr("&Export"), QDialogButtonBox::ActionRole);
    m_write->setObjectName(QStringLiteral("write"));
    buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);
    m_write->setDefault(true);
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(m_status, 1);
    bottom->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    return bottom;
}

/// The file is proposed in the folder of all exports and with the name of the network's file.
QString ExportDialog::proposedFile() const {
    const QFileInfo network(m_document->networkFile());
    // The folder of a language model may have a point in its name, and its file is always config.json.
    const bool isOwn = m_document->networkPath() == Path(m_document->networkFile().toStdString()) &&
                       !network.isDir() && network.fileName() != QLatin1String("config.json");
    QString stem =
        isOwn ? network.completeBaseName() : QString::fromStdString(m_document->problem()->forward->name());
    stem.replace(QLatin1Char('/'), QLatin1Char('_'));
    return QDir(exportFolderFor(m_document->networkFile())).filePath(stem + toQString(m_suffix));
}

ExportDialog::~ExportDialog() {
    m_lane.cancel();
}

void ExportDialog::chooseFormat(std::string_view id) {
    const PlacementFormat* const found = find_placement_format(id);
    if (found != nullptr) m_formats->setCurrentRow(static_cast<int>(found - placement_formats().data()));
}

const PlacementFormat& ExportDialog::format() const {
    return placement_formats()[static_cast<std::size_t>(std::max(0, m_formats->currentRow()))];
}

void ExportDialog::showFormats() {
    const Path& network = m_document->networkPath();
    const Graph& graph = *m_document->problem()->forward;
    for (std::size_t i = 0; i < placement_formats().size(); ++i) {
        const PlacementFormat& format = placement_formats()[i];
        const std::string refusal =
            format.refusal != nullptr ? format.refusal(network, graph) : std::string();
        QString help = toQString(refusal.empty() ? format.help : std::string_view(refusal));
        help.front() = help.front().toUpper();
        QListWidgetItem* item = m_formats->item(static_cast<int>(i));
        item->setText(toQString(format.title) + QLatin1Char('\n') + help);
        item->setToolTip(help);
        item->setForeground(refusal.empty() ? QBrush() : QBrush(mutedColor(palette())));
    }
}

ExportDialog::Made ExportDialog::make(const PlacementFormat& format, const PlacedNetwork& placed,
                                      Simulator& simulator) {
    Made made;
    made.placed = placed;
    const Outcome outcome = simulator.run(placed.placement);
    made.step_time_s = outcome.step_time_s;
    made.fits = outcome.fits;
    try {
        made.written = written_as(format, placed);
    } catch (const PlacementError& error) {
        made.error = toQString(error.what());
    } catch (const InputError& error) {
        made.error = toQString(error.what());
    }
    return made;
}

ExportDialog::Result ExportDialog::work(const PlacementFormat& format, const PlacedNetwork& placed,
                                        const Placement& singleDevice) {
    Simulator simulator(placed.problem, placed.simulation);
    Result result;
    result.shown = make(format, placed, simulator);
    if (format.repair == nullptr) return result;
    try {
        // The facts about the current placement do not hold for the repaired one.
        const PlacedNetwork repaired{placed.problem,      repaired_for(format, placed),
                                     placed.simulation,   {},
                                     placed.network_file, placed.reading};
        if (repaired.placement == placed.placement) return result;
        result.ofRepaired = make(format, repaired, simulator);
        result.repaired = repaired.placement;
    } catch (const PlacementError& error) {
        if (!result.shown.error.isEmpty()) result.shown.error += QLatin1Char('\n') + toQString(error.what());
    }
    if (const Outcome single = simulator.run(singleDevice); single.fits)
        result.single_device_s = single.step_time_s;
    return result;
}

const ExportDialog::Made& ExportDialog::chosen() const {
    return m_result->repaired && m_repair->isChecked() ? m_result->ofRepaired : m_result->shown;
}

QString ExportDialog::repairNote() const {
    const Made& repaired = m_result->ofRepaired;
    QStringList sentences;
    if (!repaired.fits) sentences << tr("The repaired placement does not fit the memory.");
    if (m_result->single_device_s && repaired.step_time_s > *m_result->single_device_s)
        sentences << tr("It is slower than everything on one device, which takes %1.")
                         .arg(secondsText(*m_result->single_device_s));
    sentences << tr("Changes only the exported file.");
    return sentences.join(QLatin1Char(' '));
}

void ExportDialog::changeFormat() {
    QString file = m_file->text();
    const QString extension = QLatin1Char('.') + QFileInfo(toQString(m_suffix)).suffix();
    for (const QString& end : {toQString(m_suffix), extension}) {
        if (!file.endsWith(end)) continue;
        file.chop(end.size());
        break;
    }
    m_suffix = format().suffix;
    m_file->setText(file.endsWith(toQString(m_suffix)) ? file : file + toQString(m_suffix));
    m_status->clear();
    refresh();
}

void ExportDialog::invalidate() {
    m_lane.cancel();
    m_result.reset();
    m_write->setEnabled(false);
    m_repairBox->setEnabled(false);
}

void ExportDialog::refresh() {
    if (!m_document->isOpen()) return;
    showFormats();
    invalidate();
    m_background.run(
        m_lane,
        [format = &format(), placed = m_document->placed(),
         single = m_document->job().single_device](std::stop_token) { return work(*format, placed, single); },
        [this](Result result) { showResult(std::move(result)); },
        [this](const QString& error) {
            Result failed;
            failed.shown.error = error;
            showResult(std::move(failed));
        });
}

void ExportDialog::showResult(Result result) {
    m_result = std::move(result);
    m_repair->setChecked(false);  // the user must agree to each repair anew
    m_repairBox->setVisible(m_result->repaired.has_value());
    m_repairBox->setEnabled(true);
    if (m_result->repaired) {
        m_repair->setText(tr("&Repair: step time %1 → %2")
                              .arg(secondsText(m_result->shown.step_time_s),
                                   secondsText(m_result->ofRepaired.step_time_s)));
        m_repairNote->setText(repairNote());
    }
    showChosen();
}

void ExportDialog::showChosen() {
    const Made& made = chosen();
    const bool fine = made.error.isEmpty();
    const auto bytes = static_cast<qsizetype>(made.written.content.size());
    QString shown;
    if (fine && format().is_text) {
        shown = QString::fromUtf8(made.written.content.data(), std::min(kShownBytes, bytes));
        if (bytes > kShownBytes)
            shown += tr("\n… %1 more").arg(bytesText(static_cast<double>(bytes - kShownBytes)));
    } else if (fine) {
        shown = tr("%1 of binary data").arg(bytesText(static_cast<double>(bytes)));
    }
    m_preview->setPlainText(shown);
    // Refusals name flags of the command line in parentheses; the dialog has check boxes for them.
    static const QRegularExpression flags(QStringLiteral(" \\(--[^)]*\\)"));
    QString reason = made.error;
    reason.remove(flags);
    m_reason->setText(reason.left(1).toUpper() + reason.mid(1));
    m_content->setCurrentIndex(fine ? 0 : 1);
    QStringList lines;
    for (const std::string& warning : made.written.warnings)
        lines << QStringLiteral("• ") + QString::fromStdString(warning);
    m_warnings->setText(!fine             ? QString()
                        : lines.isEmpty() ? tr("No warnings.")
                                          : lines.join(QLatin1Char('\n')));
    m_warningsArea->setVisible(fine);
    m_loading->setVisible(fine);
    showFile();
}

void ExportDialog::showFile() {
    const QString file = m_file->text();
    const QFileInfo info(file);
    const bool fine = m_result && chosen().error.isEmpty();
    if (m_result) {
        const std::string lines =
            fine ? format().snippet(file.toStdString(), chosen().placed) : std::string();
        m_snippet->setPlainText(QString::fromStdString(lines));
    }
    const bool noFolder = !info.absoluteDir().exists();
    m_fileNote->setText(noFolder        ? tr("The folder does not exist.")
                        : info.isFile() ? tr("The file exists and will be replaced.")
                                        : QString());
    m_write->setEnabled(fine && !file.isEmpty() && !noFolder && !info.isDir());
}

void ExportDialog::browse() {
    const QString file = QFileDialog::getSaveFileName(this, tr("Export"), m_file->text(), tr("All files (*)"),
                                                      nullptr, QFileDialog::DontConfirmOverwrite);
    if (!file.isEmpty()) m_file->setText(file);
}

void ExportDialog::adoptRepaired() {
    if (!m_result || !m_result->repaired) return;
    const QString step = secondsText(m_result->ofRepaired.step_time_s);
    m_document->showPlacement(*m_result->repaired, tr("Repair for %1").arg(toQString(format().title)));
    m_status->setText(
        tr("The repaired placement is now the current one: a step takes %1. Ctrl+Z undoes this.").arg(step));
}

void ExportDialog::write() {
    if (!m_result || !chosen().error.isEmpty()) return;
    const QString file = m_file->text();
    try {
        write_file(file.toStdString(), chosen().written.content);
    } catch (const InputError& error) {
        m_status->setText(toQString(error.what()));
        return;
    }
    if (format().id == "placement") m_document->keepPlacement();
    rememberFolderOf(file, settings::exportFolder);
    showFile();
    m_fileNote->clear();
    m_status->setText(&chosen() == &m_result->shown ? tr("Written to %1").arg(file)
                                                    : tr("The repaired placement is written to %1: a step "
                                                         "takes %2. The current placement (%3) is unchanged.")
                                                          .arg(file, secondsText(chosen().step_time_s),
                                                               secondsText(m_result->shown.step_time_s)));
}

}  // namespace placewright
