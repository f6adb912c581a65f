// SPDX-License-Identifier: MIT
#include "app/export_dialog.hpp"

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
#include <QScrollArea>
#include <QSettings>
#include <QVBoxLayout>

#include "core/base/units.hpp"
#include "core/io/input_error.hpp"

namespace placewright {
namespace {

/// What is shown of a file: nobody reads more, and the widget would take its time.
constexpr qsizetype kShownBytes = 64 << 10;

QString text(std::string_view constant) {
    return QString::fromUtf8(constant.data(), static_cast<qsizetype>(constant.size()));
}

QPlainTextEdit* codeView(const QString& name, const QString& accessibleName) {
    auto* view = new QPlainTextEdit;
    view->setObjectName(name);
    view->setAccessibleName(accessibleName);
    view->setReadOnly(true);
    view->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    view->setTabChangesFocus(true);
    view->setLineWrapMode(QPlainTextEdit::NoWrap);
    view->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    return view;
}

/// A label for a control, with which Alt and a letter lead to it.
QLabel* labelFor(const QString& title, QWidget* buddy) {
    auto* label = new QLabel(title);
    label->setBuddy(buddy);
    return label;
}

}  // namespace

ExportDialog::ExportDialog(Document* document, QWidget* parent) : QDialog(parent), m_document(document) {
    setObjectName(QStringLiteral("exportDialog"));
    setWindowTitle(tr("Placement for training"));
    setAttribute(Qt::WA_DeleteOnClose);

    m_formats = new QListWidget;
    m_formats->setObjectName(QStringLiteral("formats"));
    m_formats->setAccessibleName(tr("Format"));
    m_formats->setWordWrap(true);
    m_formats->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_formats->setSpacing(2);
    for (const PlacementFormat& format : placement_formats()) {
        auto* item = new QListWidgetItem(text(format.title) + QLatin1Char('\n') + text(format.help), m_formats);
        item->setToolTip(text(format.help));
    }

    m_file = new QLineEdit;
    m_file->setObjectName(QStringLiteral("file"));
    m_file->setAccessibleName(tr("File"));
    auto* browse = new QPushButton(tr("&Browse…"));
    browse->setObjectName(QStringLiteral("browse"));
    browse->setAutoDefault(false);
    m_fileNote = new QLabel;
    m_fileNote->setObjectName(QStringLiteral("fileNote"));
    m_preview = codeView(QStringLiteral("preview"), tr("What the file will hold"));
    m_warnings = new QLabel;
    m_warnings->setObjectName(QStringLiteral("warnings"));
    m_warnings->setWordWrap(true);
    m_warnings->setTextFormat(Qt::PlainText);
    m_warnings->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_warnings->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    auto* warningsArea = new QScrollArea;
    warningsArea->setObjectName(QStringLiteral("warningsArea"));
    warningsArea->setWidget(m_warnings);
    warningsArea->setWidgetResizable(true);
    warningsArea->setFrameShape(QFrame::NoFrame);
    warningsArea->setMinimumHeight(fontMetrics().height() * 4);
    m_repair = new QPushButton;
    m_repair->setObjectName(QStringLiteral("repair"));
    m_repair->setAutoDefault(false);
    m_repair->setToolTip(tr("Put what the format needs together on one device, on screen too; Undo takes it back"));
    m_snippet = codeView(QStringLiteral("snippet"), tr("Lines that load the file"));
    m_snippet->setMinimumHeight(fontMetrics().height() * 10);
    auto* copy = new QPushButton(tr("&Copy"));
    copy->setObjectName(QStringLiteral("copy"));
    copy->setToolTip(tr("Copy these lines to the clipboard"));
    copy->setAutoDefault(false);
    m_status = new QLabel;
    m_status->setObjectName(QStringLiteral("status"));
    m_status->setWordWrap(true);
    m_status->setTextFormat(Qt::PlainText);

    auto* left = new QVBoxLayout;
    left->addWidget(labelFor(tr("For&mat"), m_formats));
    left->addWidget(m_formats, 1);
    auto* fileRow = new QHBoxLayout;
    fileRow->addWidget(m_file, 1);
    fileRow->addWidget(browse);
    auto* repairRow = new QHBoxLayout;
    repairRow->addWidget(m_repair);
    repairRow->addStretch(1);
    auto* snippetRow = new QHBoxLayout;
    snippetRow->addWidget(labelFor(tr("&Lines that load it"), m_snippet), 1);
    snippetRow->addWidget(copy);
    auto* right = new QVBoxLayout;
    right->addWidget(labelFor(tr("&File"), m_file));
    right->addLayout(fileRow);
    right->addWidget(m_fileNote);
    right->addWidget(labelFor(tr("&Preview"), m_preview));
    right->addWidget(m_preview, 3);
    right->addWidget(warningsArea, 1);
    right->addLayout(repairRow);
    right->addLayout(snippetRow);
    right->addWidget(m_snippet, 2);
    auto* columns = new QHBoxLayout;
    columns->addLayout(left, 2);
    columns->addLayout(right, 3);

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    m_write = buttons->addButton(tr("&Export"), QDialogButtonBox::ActionRole);
    m_write->setObjectName(QStringLiteral("write"));
    buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);
    m_write->setDefault(true);
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(m_status, 1);
    bottom->addWidget(buttons);
    auto* layout = new QVBoxLayout(this);
    layout->addLayout(columns, 1);
    layout->addLayout(bottom);

    // Beside the network, and called as it; one that ships has no place of its own.
    const QFileInfo network(m_document->networkFile());
    const bool isOwn = network.isAbsolute() && network.isFile();
    const QString folder = QSettings().value(QStringLiteral("exportFolder"), isOwn ? network.absolutePath() : QDir::homePath()).toString();
    m_suffix = placement_formats().front().suffix;
    QString stem = isOwn ? network.completeBaseName() : QString::fromStdString(m_document->problem()->forward->name());
    stem.replace(QLatin1Char('/'), QLatin1Char('_'));
    m_file->setText(QDir(folder).filePath(stem + text(m_suffix)));

    connect(m_formats, &QListWidget::currentRowChanged, this, &ExportDialog::changeFormat);
    connect(m_file, &QLineEdit::textChanged, this, &ExportDialog::showFile);
    connect(browse, &QPushButton::clicked, this, &ExportDialog::browse);
    connect(m_repair, &QPushButton::clicked, this, &ExportDialog::repair);
    connect(copy, &QPushButton::clicked, this, [this] {
        QGuiApplication::clipboard()->setText(m_snippet->toPlainText());
        m_status->setText(tr("Copied."));
    });
    connect(m_write, &QPushButton::clicked, this, &ExportDialog::write);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    // The timeline comes after the placement, and has what the file says of it.
    connect(m_document, &Document::placementChanged, this, &ExportDialog::invalidate);
    connect(m_document, &Document::timelineChanged, this, &ExportDialog::refresh);
    m_formats->setCurrentRow(0);
    m_formats->setFocus();
    resize(fontMetrics().averageCharWidth() * 130, fontMetrics().height() * 44);
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

ExportDialog::Result ExportDialog::work(const PlacementFormat& format, const PlacedNetwork& placed) {
    Result result;
    Simulator simulator(placed.problem, placed.simulation);
    result.step_time_s = simulator.run(placed.placement).step_time_s;
    try {
        result.written = format.write(placed);
    } catch (const PlacementError& error) {
        result.error = QString::fromUtf8(error.what());
    } catch (const InputError& error) {
        result.error = QString::fromUtf8(error.what());
    }
    if (format.repair == nullptr) return result;
    try {
        Placement repaired = format.repair(placed);
        if (repaired == placed.placement) return result;
        result.repaired_s = simulator.run(repaired).step_time_s;
        result.repaired = std::move(repaired);
    } catch (const PlacementError& error) {
        if (!result.error.isEmpty()) result.error += QLatin1Char('\n') + QString::fromUtf8(error.what());
    }
    return result;
}

void ExportDialog::changeFormat() {
    QString file = m_file->text();
    if (file.endsWith(text(m_suffix))) file.chop(static_cast<qsizetype>(m_suffix.size()));
    m_suffix = format().suffix;
    m_file->setText(file.endsWith(text(m_suffix)) ? file : file + text(m_suffix));
    showFile();
    refresh();
}

void ExportDialog::invalidate() {
    m_lane.cancel();
    m_result.reset();
    m_write->setEnabled(false);
    m_repair->setEnabled(false);
}

void ExportDialog::refresh() {
    if (!m_document->isOpen()) return;
    invalidate();
    m_background.run(
        m_lane, [format = &format(), placed = m_document->placed()](std::stop_token) { return work(*format, placed); },
        [this](Result result) { showResult(std::move(result)); },
        [this](const QString& error) {
            Result failed;
            failed.error = error;
            showResult(std::move(failed));
        });
}

void ExportDialog::showResult(Result result) {
    m_result = std::move(result);
    const bool fine = m_result->error.isEmpty();
    const std::string& content = m_result->written.content;
    QString shown;
    if (fine && format().is_text) {
        shown = QString::fromUtf8(content.data(), std::min<qsizetype>(kShownBytes, static_cast<qsizetype>(content.size())));
        if (static_cast<qsizetype>(content.size()) > kShownBytes)
            shown += tr("\n… %1 more").arg(QString::fromStdString(format_bytes(static_cast<double>(content.size()) - kShownBytes)));
    } else if (fine) {
        shown = tr("%1, no text").arg(QString::fromStdString(format_bytes(static_cast<double>(content.size()))));
    }
    m_preview->setPlainText(shown);
    m_preview->setPlaceholderText(tr("This placement cannot be written in this format."));
    QStringList lines;
    if (!fine) lines << m_result->error;
    for (const std::string& warning : m_result->written.warnings) lines << QStringLiteral("• ") + QString::fromStdString(warning);
    m_warnings->setText(lines.isEmpty() ? tr("Nothing is lost in this format.") : lines.join(QLatin1Char('\n')));
    m_repair->setVisible(format().repair != nullptr);
    m_repair->setEnabled(m_result->repaired.has_value());
    m_repair->setText(m_result->repaired ? tr("&Repair: step time %1 → %2")
                                               .arg(QString::fromStdString(format_seconds(m_result->step_time_s)),
                                                    QString::fromStdString(format_seconds(m_result->repaired_s)))
                                         : tr("&Repair: nothing to repair"));
    showFile();
}

void ExportDialog::showFile() {
    const QString file = m_file->text();
    const QFileInfo info(file);
    m_snippet->setPlainText(
        QString::fromStdString(format().snippet(file.toStdString(), find_network_file(m_document->networkFile().toStdString()))));
    m_status->clear();
    const bool noFolder = !info.absoluteDir().exists();
    m_fileNote->setText(noFolder        ? tr("There is no such folder.")
                        : info.isFile() ? tr("This file is there already and will be replaced.")
                                        : QString());
    m_write->setEnabled(m_result && m_result->error.isEmpty() && !file.isEmpty() && !noFolder && !info.isDir());
}

void ExportDialog::browse() {
    const QString file =
        QFileDialog::getSaveFileName(this, tr("Export"), m_file->text(), tr("All files (*)"), nullptr, QFileDialog::DontConfirmOverwrite);
    if (!file.isEmpty()) m_file->setText(file);
}

void ExportDialog::repair() {
    if (m_result && m_result->repaired) m_document->showPlacement(*m_result->repaired, tr("repair for %1").arg(text(format().title)));
}

void ExportDialog::write() {
    if (!m_result || !m_result->error.isEmpty()) return;
    const QString file = m_file->text();
    try {
        write_file(file.toStdString(), m_result->written.content);
    } catch (const InputError& error) {
        m_status->setText(QString::fromUtf8(error.what()));
        return;
    }
    if (format().id == "placement") m_document->keepPlacement();
    QSettings().setValue(QStringLiteral("exportFolder"), QFileInfo(file).absolutePath());
    showFile();
    m_status->setText(tr("Written to %1").arg(file));
}

}  // namespace placewright
