// SPDX-License-Identifier: MIT
// The questions that the main window asks: what a file leaves open, and what to do with unsaved placements.
#pragma once

#include <functional>

#include <QString>

#include "app/window/loader.hpp"

class QWidget;

namespace placewright {

class CompareWindow;
class Document;

/// Asks the user for what a file leaves open and adds the answer to `options`; false if the user cancels.
bool answerToOpen(QWidget* parent, const OpenQuestion& question, ReadOptions& options);

/// Asks whether to save or discard unsaved placements and what was measured, while searches are paused; false
/// if the user cancels. `compare` may be null. `save` asks for a file, calls its argument to put the
/// placement on screen, and writes it; it returns false if nothing was written.
bool mayLeave(QWidget* parent, Document& document, const CompareWindow* compare, const QString& title,
              const QString& consequence, const std::function<bool(const std::function<void()>& show)>& save);

/// What to do with a file that another window or program has written.
enum class ChangedFile { saveAs, overwrite, cancel };

/// Asks what to do instead of writing over a file that has changed on disk.
ChangedFile askAboutChanged(QWidget* parent, const QString& file);

/// Asks whether measured placements that are in no file may be replaced; true if there are none.
bool mayReplaceMeasured(QWidget* parent, const Document& document);

/// Asks whether to stop what is measured, if that has been running for `least_s` or longer; false if it is to
/// go on.
bool mayStopMeasuring(QWidget* parent, const Document& document, double least_s);

}  // namespace placewright
