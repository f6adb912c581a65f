// SPDX-License-Identifier: MIT
#include "app/window/report_export.hpp"

#include <algorithm>
#include <utility>

#include <QFileInfo>
#include <QWidget>

#include "app/window/document.hpp"
#include "app/window/option_text.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/job/report.hpp"

namespace placewright {
namespace {

/// A larger vector picture of a graph is an image with this many pixels a side at most.
constexpr qsizetype kLargestVectors = 2 << 20;
constexpr double kMostOfSide = 2000;

/// The graph as an element of HTML: vectors, or pixels where these are fewer bytes.
std::string graphElement(const Picture& graph) {
    const QByteArray vectors = svgOf(graph);
    if (vectors.size() <= kLargestVectors) {
        // Without the prolog, which is only for files.
        return vectors.mid(std::max<qsizetype>(0, vectors.indexOf("<svg"))).toStdString();
    }
    const double side = std::max(graph.size.width(), graph.size.height());
    return "<img alt=\"Graph\" src=\"data:image/png;base64," +
           pngOf(graph, std::min(1.0, kMostOfSide / side)).toBase64().toStdString() + "\">";
}

}  // namespace

ReportExport::ReportExport(const QString& file, const Document& document, Picture graph, QWidget* window)
    : QObject(window), m_dialog(new QProgressDialog(window)) {
    m_dialog->setWindowTitle(tr("Export"));
    m_dialog->setLabelText(tr("Writing %1…").arg(QFileInfo(file).fileName()));
    m_dialog->setRange(0, 0);
    m_dialog->setAutoClose(false);
    m_dialog->setMinimumDuration(300);
    connect(m_dialog, &QProgressDialog::canceled, this, [this] {
        m_lane.cancel();
        m_dialog->hide();
    });
    connect(&m_background, &Background::settled, this, &QObject::deleteLater);
    ReportContext context;
    context.about = document.placed().about;
    context.bound = document.bound();
    for (const QString& option : changedOptions(document.options(), document.job().language))
        context.options.push_back(option.toStdString());
    m_background.run(
        m_lane,
        [file, job = document.job(), placement = document.placement(), graph = std::move(graph),
         context = std::move(context)](const std::stop_token& stop) mutable {
            context.graph = graphElement(graph);
            const std::string html = html_report(job, placement, context);
            if (!stop.stop_requested()) write_file(file.toStdString(), html);
            return true;
        },
        [this, file](bool) { Q_EMIT written(file); }, [this](const QString& error) { Q_EMIT failed(error); });
}

ReportExport::~ReportExport() {
    m_lane.cancel();
    delete m_dialog;
}

}  // namespace placewright
