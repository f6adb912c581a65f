// SPDX-License-Identifier: MIT
#include "app/window/language_bar.hpp"

#include <algorithm>
#include <utility>

#include <QComboBox>
#include <QLabel>
#include <QMainWindow>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QToolButton>

#include "app/window/context_slider.hpp"
#include "app/window/document.hpp"
#include "app/window/language_text.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr int kAsStored = -1;
constexpr int kWaitMs = 250;
constexpr int kSliderWidth = 160, kMostBatch = 1'000'000;

void select(QComboBox* box, int data) {
    box->setCurrentIndex(box->findData(data));
}

}  // namespace

LanguageBar::LanguageBar(QMainWindow* window, Document* document)
    : QToolBar(tr("Language model"), window), m_window(window), m_document(document) {
    setObjectName(QStringLiteral("languageToolBar"));
    setMovable(false);
    toggleViewAction()->setVisible(false);  // it comes and goes with language models
    window->addToolBarBreak();
    window->addToolBar(this);
    makeControls();
    m_wait.setSingleShot(true);
    m_wait.setInterval(kWaitMs);
    connect(&m_wait, &QTimer::timeout, this, &LanguageBar::apply);
    connect(document, &Document::problemChanged, this, &LanguageBar::showJob);
    connect(document, &Document::machineChanged, this, &LanguageBar::showJob);
    connect(document, &Document::longestContextChanged, this, &LanguageBar::showLongest);
    showJob();
}

void LanguageBar::makeControls() {
    const auto add = [this](const QString& label, QWidget* widget, const char* name, const QString& tip) {
        auto* title = new QLabel(label);
        title->setContentsMargins(8, 0, 4, 0);
        title->setBuddy(widget);
        widget->setObjectName(QLatin1String(name));
        widget->setAccessibleName(QString(label).remove(QLatin1Char('&')));
        widget->setToolTip(tip);
        addWidget(title);
        addWidget(widget);
    };
    const auto wait = [this] { m_wait.start(); };
    const auto number = [&](int most) {
        auto* box = new QSpinBox;
        box->setRange(1, most);
        box->setGroupSeparatorShown(true);
        box->setKeyboardTracking(false);
        connect(box, &QSpinBox::valueChanged, this, wait);
        return box;
    };

    m_phase = new QComboBox;
    for (const LanguagePhase phase :
         {LanguagePhase::decode, LanguagePhase::prefill, LanguagePhase::training}) {
        m_phase->addItem(phaseTitle(phase), static_cast<int>(phase));
        m_phase->setItemData(m_phase->count() - 1, phaseHelp(phase), Qt::ToolTipRole);
    }
    connect(m_phase, &QComboBox::activated, this, &LanguageBar::apply);
    add(tr("&Phase"), m_phase, "phase",
        tr("What a step does: write a token of each sequence, read prompts, or learn"));

    m_batch = number(kMostBatch);
    add(tr("Ba&tch"), m_batch, "languageBatch", tr("Sequences that a step works on at a time"));

    m_weights = new QComboBox;
    m_weights->addItem(tr("As stored"), kAsStored);
    for (const std::string_view type : weight_types())
        m_weights->addItem(toQString(type), static_cast<int>(*weight_type_from(type)));
    connect(m_weights, &QComboBox::activated, this, &LanguageBar::apply);
    add(tr("&Weights"), m_weights, "weightType",
        tr("Number format of the weights; fp8, int8 and int4 are those of the linear layers alone"));

    m_context = number(static_cast<int>(kMostSequence));
    m_context->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    connect(m_context, &QSpinBox::valueChanged, this, [this](int tokens) {
        const QSignalBlocker quiet(m_slider);
        m_slider->setTokens(tokens);
    });
    m_slider = new ContextSlider;
    add(tr("Conte&xt"), m_context, "context",
        tr("Tokens of a sequence: of the prompt, or in the cache while tokens are written"));
    m_slider->setObjectName(QStringLiteral("contextSlider"));
    m_slider->setAccessibleName(tr("Context"));
    m_slider->setMaximumWidth(kSliderWidth);
    m_slider->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_slider->setToolTip(tr("Tokens of a sequence; the marked part does not fit the memory"));
    connect(m_slider, &QSlider::valueChanged, this, &LanguageBar::followSlider);
    connect(m_slider, &QSlider::sliderReleased, this, &LanguageBar::apply);
    addWidget(m_slider);
    m_longest = new QToolButton;
    m_longest->setObjectName(QStringLiteral("longestContext"));
    connect(m_longest, &QToolButton::clicked, this, [this] {
        const auto& longest = m_document->longestContext();
        if (longest && longest->tokens > 0) m_context->setValue(static_cast<int>(longest->tokens));
    });
    addWidget(m_longest);
}

void LanguageBar::setVisible(bool) {
    QToolBar::setVisible(m_isWanted);
}

void LanguageBar::showJob() {
    const bool open = m_document->isOpen() && m_document->job().language;
    if (std::exchange(m_isWanted, open) != open || isVisibleTo(m_window) != open) setVisible(open);
    if (open && !m_window->toolBarBreak(this)) m_window->insertToolBarBreak(this);
    if (!open) return;
    m_wait.stop();
    const LanguageOptions& language = *m_document->job().language;
    const QSignalBlocker quietBatch(m_batch), quietContext(m_context), quietSlider(m_slider);
    select(m_phase, static_cast<int>(language.phase));
    m_batch->setValue(
        static_cast<int>(std::min<std::int64_t>(m_document->problem()->network->batch(), kMostBatch)));
    m_context->setValue(static_cast<int>(language.sequence.value_or(1)));
    m_slider->setTokens(language.sequence.value_or(1));
    select(m_weights, language.weights ? static_cast<int>(*language.weights) : kAsStored);
    showLongest();
}

void LanguageBar::showLongest() {
    const auto& longest = m_document->longestContext();
    const bool known = longest.has_value() && m_document->isOpen();
    m_slider->setLongest(known ? std::optional(longest->tokens) : std::nullopt);
    m_longest->setEnabled(known && longest->tokens > 0 && longest->tokens < kMostSequence);
    m_longest->setText(known ? longestContextText(*longest, *m_document->problem()->machine)
                             : tr("fits up to …"));
    m_longest->setToolTip(
        tr("The longest context with which the placement on screen fits the memory, and the device that is "
           "full then; click to take it"));
}

void LanguageBar::followSlider() {
    const QSignalBlocker quiet(m_context);
    m_context->setValue(static_cast<int>(m_slider->tokens()));
    if (!m_slider->isSliderDown()) m_wait.start();
}

void LanguageBar::takeTyped() {
    for (QSpinBox* box : {m_batch, m_context}) box->interpretText();
    if (m_wait.isActive()) apply();
}

void LanguageBar::apply() {
    m_wait.stop();
    if (!m_isWanted || !m_document->isOpen()) return;
    const LanguageOptions& now = *m_document->job().language;
    ReadOptions reading = m_document->latestOptions().reading;
    // What was left to the file stays so until it is changed here.
    const auto take = [](std::optional<std::int64_t>& option, std::int64_t value, std::int64_t shown) {
        if (option || value != shown) option = value;
    };
    take(reading.batch, m_batch->value(), m_document->problem()->network->batch());
    take(reading.language.sequence, m_context->value(), now.sequence.value_or(1));
    reading.language.phase = static_cast<LanguagePhase>(m_phase->currentData().toInt());
    const int weights = m_weights->currentData().toInt();
    reading.language.weights =
        weights == kAsStored ? std::nullopt : std::optional(static_cast<WeightType>(weights));
    m_document->setReading(reading);
}

}  // namespace placewright
