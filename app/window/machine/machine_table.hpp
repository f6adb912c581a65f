// SPDX-License-Identifier: MIT
// The cells of the tables of a machine.
#pragma once

#include <cstddef>
#include <optional>

#include <QString>

#include "core/machine/machine.hpp"

class QTableWidget;
class QTableWidgetItem;

namespace placewright {

// Columns; the figures follow from kDeviceFigures and kLinkFigures on.
inline constexpr int kDeviceName = 0, kDeviceModel = 1, kDeviceFigures = 2;
inline constexpr int kLinkName = 0, kLinkModel = 1, kLinkUse = 2, kLinkFigures = 3;

/// `fixed` cells cannot be edited.
enum class Cell { text, number, fixed };

/// Gives the table so many rows; those that stay keep their cells, so that a field that is open stays open.
void setRows(QTableWidget* table, std::size_t count);
QTableWidgetItem* setCell(QTableWidget* table, int row, int column, const QString& text, Cell cell);
/// As wide as their texts; `wide` takes the rest.
void fitColumns(QTableWidget* table, int wide);

/// A figure as text, and back by the locale or in English; nothing for what is no number.
QString numberText(double value);
std::optional<double> numberOf(const QString& text);

/// "gpu:0 → gpu:1" of a link of one route, "4 routes of gpu:0, shared" of one of several.
QString usersText(const Machine& machine, ChannelId channel);

}  // namespace placewright
