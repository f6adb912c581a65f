// SPDX-License-Identifier: MIT
#include "app/window/live_cdf.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <QComboBox>
#include <QEvent>
#include <QSignalBlocker>

#include "app/window/document.hpp"
#include "app/window/option_text.hpp"
#include "widgets/palette.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr int kPauseMs = 100;
constexpr std::size_t kMostParts = 16;  ///< devices or channels with a curve of their own

}  // namespace

LiveCdf::LiveCdf(const Document* document, QWidget* parent) : CdfPlot(parent), m_document(document) {
    m_choice = addChoice("content",
                         {tr("Searches"), tr("Ops on screen"), tr("Transfers on screen"),
                          tr("Bytes of transfers"), tr("Comparison")},
                         tr("Values"),
                         tr("Scores of all placements that the searches tried, times of the placement on "
                            "screen, or results of Run ▸ Compare"));
    connect(m_choice, &QComboBox::activated, this, [this] {
        m_chosen = true;
        fill();
    });
    m_pause.setSingleShot(true);
    m_pause.setInterval(kPauseMs);
    connect(&m_pause, &QTimer::timeout, this, [this] {
        if (m_late) refresh();
    });
    setRelativeWanted(false);
    fill();
}

LiveCdf::Content LiveCdf::content() const {
    return static_cast<Content>(m_choice->currentIndex());
}

void LiveCdf::setSeen(bool seen) {
    m_seen = seen;
    if (m_late) refresh();
}

/// The colours of curves suit the background.
void LiveCdf::changeEvent(QEvent* event) {
    CdfPlot::changeEvent(event);
    if (event->type() != QEvent::PaletteChange) return;
    m_late = true;
    if (m_seen && content() != Content::comparison) fill();
}

void LiveCdf::setComparison(CdfData comparison) {
    m_comparison = std::move(comparison);
    if (!m_chosen && m_document->runs().empty())
        m_choice->setCurrentIndex(static_cast<int>(Content::comparison));
    if (content() == Content::comparison) fill();
}

void LiveCdf::refresh() {
    m_late = true;
    if (!m_seen || m_pause.isActive()) return;
    if (!m_chosen && !m_document->runs().empty())
        m_choice->setCurrentIndex(static_cast<int>(Content::searches));
    if (content() != Content::comparison) fill();
}

void LiveCdf::complete() {
    if (m_late && content() != Content::comparison) fill();
}

void LiveCdf::fill() {
    m_late = false;
    m_pause.start();
    if (content() != m_filled) {
        m_filled = content();
        setRelativeWanted(m_filled == Content::comparison);
        // Times of ops span several powers of ten.
        setLogarithmic(m_filled != Content::searches && m_filled != Content::comparison);
        follow();
    }
    switch (content()) {
        case Content::searches:
            setEmptyText(
                tr("No search yet. Press Optimize (F5) to plot how the step times of all placements "
                   "that it tries are distributed."));
            if (const QString elsewhere = m_document->elsewhereText(); !elsewhere.isEmpty())
                setEmptyText(elsewhere);
            return setData(searches());
        case Content::comparison:
            setEmptyText(
                tr("No comparison yet. Compare algorithms (Run menu) to plot the distribution of "
                   "each one's results over networks, machines and seeds."));
            return setData(m_comparison);
        default:
            setEmptyText(content() == Content::ops ? tr("No op is on screen.")
                                                   : tr("The placement on screen has no transfers."));
            return setData(spans(content()));
    }
}

QColor LiveCdf::colorOf(const Run& run) const {
    return runColor(m_document->styleOf(run), palette().color(QPalette::Base));
}

CdfData LiveCdf::searches() const {
    CdfData shown;
    shown.members = tr("placements tried");
    shown.rows = tr("Run");
    if (!m_document->isOpen()) return shown;
    const Job& job = m_document->job();
    shown.objective = objectiveTitle(*job.objective);
    shown.graphs = {{QString(), job.single_device_fits ? job.single_device_s : 0}};
    for (const RunRow& row : m_document->runRows()) {
        const auto found =
            std::ranges::find(m_document->runs(), row.id, [](const auto& run) { return run->id(); });
        if (found == m_document->runs().end() || !row.elsewhere.isEmpty() || row.hidden ||
            !(*found)->sketch())
            continue;
        const QuantileSketch& sketch = *(*found)->sketch();
        CdfScheme scheme{row.title, {}, 0, colorOf(**found)};
        for (const QuantileSketch::Bin& bin : sketch.bins())
            scheme.values.push_back({0, bin.value, true, bin.count});
        if (sketch.unknown() > 0) scheme.values.push_back({0, 0, false, sketch.unknown()});
        shown.schemes.push_back(std::move(scheme));
    }
    return shown;
}

CdfData LiveCdf::spans(Content content) const {
    CdfData shown;
    const bool ops = content == Content::ops;
    shown.graphs = {{}};
    shown.members = ops ? tr("ops") : tr("transfers");
    shown.rows = ops ? tr("Device") : tr("Channel");
    shown.objective = content == Content::ops         ? tr("Time of an op")
                      : content == Content::transfers ? tr("Time of a transfer")
                                                      : tr("Size of a transfer");
    if (content == Content::bytes) shown.quantity = CdfData::Quantity::bytes;
    const auto& timeline = m_document->timeline();
    if (!m_document->isOpen() || !timeline) return shown;
    const Machine& machine = *timeline->problem->machine;
    CdfScheme all{ops ? tr("All ops") : tr("All transfers"), {}, 0, palette().color(QPalette::Text)};
    std::map<std::uint16_t, CdfScheme> parts;
    for (const Span& span : timeline->trace.spans) {
        if ((span.kind == Span::Kind::op) != ops) continue;
        const CdfValue value{0, content == Content::bytes ? span.bytes : span.end_s - span.start_s};
        if (!(value.step_time_s > 0)) continue;
        all.values.push_back(value);
        parts[span.resource].values.push_back(value);
    }
    if (all.values.empty()) return shown;
    shown.schemes.push_back(std::move(all));
    if (parts.size() > kMostParts) return shown;
    int position = 0;
    for (auto& [resource, part] : parts) {
        part.title = toQString(ops ? machine.device(resource).name : machine.channels()[resource].name);
        part.color = ops ? deviceColor(machine, resource)
                         : seriesPen(position++, palette().color(QPalette::Base)).color();
        shown.schemes.push_back(std::move(part));
    }
    return shown;
}

}  // namespace placewright
