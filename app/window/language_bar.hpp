// SPDX-License-Identifier: MIT
#pragma once

#include <QTimer>
#include <QToolBar>

class QComboBox;
class QMainWindow;
class QSpinBox;
class QToolButton;

namespace placewright {

class ContextSlider;
class Document;

/// The toolbar of a language model: phase, batch, context and type of the weights, and how long a context
/// fits. Hidden while no language model is open. A change reads the model again, in the background.
class LanguageBar : public QToolBar {
    Q_OBJECT
public:
    /// Adds itself to the window, in a row of its own.
    LanguageBar(QMainWindow* window, Document* document);

    /// Only a language model shows the bar, whatever a saved layout says.
    void setVisible(bool visible) override;
    /// Takes the numbers that are being typed, without the usual wait.
    void takeTyped();

private:
    void makeControls();
    /// Puts the values of the open job into the controls.
    void showJob();
    void showLongest();
    /// Takes the slider's length into the field beside it.
    void followSlider();
    /// Reads the model with what the controls say.
    void apply();

    QMainWindow* m_window;
    Document* m_document;
    QComboBox* m_phase = nullptr;
    QSpinBox *m_batch = nullptr, *m_context = nullptr;
    ContextSlider* m_slider = nullptr;
    QToolButton* m_longest = nullptr;
    QComboBox* m_weights = nullptr;
    QTimer m_wait;  ///< until the user stops changing values
    bool m_isWanted = false;
};

}  // namespace placewright
