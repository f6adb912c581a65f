// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <QObject>

#include "app/window/document.hpp"
#include "app/window/pair/pair_models.hpp"

namespace placewright {

/// The placement A, to which what is on screen, B, is compared. A keeps its network, machine and options,
/// whatever is opened afterwards.
class PinnedPlacement : public QObject {
    Q_OBJECT
public:
    explicit PinnedPlacement(Document* document);

    /// Pins what is on screen; does nothing before it has been simulated.
    void pinScreen();
    /// Pins the best placement of a run; does nothing before it has one.
    void pinRun(int id);
    /// Pins what a workspace had pinned.
    void pin(const PinnedSide& side);
    void clear();

    bool isPinned() const { return m_a.has_value(); }
    /// A, to be kept in a workspace; nothing unless isPinned().
    const std::optional<PinnedSide>& side() const { return m_side; }
    /// Null unless isPinned().
    const PairSide* a() const { return m_a ? &*m_a : nullptr; }
    /// A and what is on screen now; null if one of them is missing.
    std::shared_ptr<const Pair> pair();
    /// Ops of the open network that A has on another device; empty if A is of another network.
    OpList moved();
    /// Whether A can be put on screen: it has the open network, machine and options.
    bool canShow() const;
    /// Puts A on screen (undoable).
    void show();

Q_SIGNALS:
    void changed();  ///< of A, or of what is on screen

private:
    void set(std::optional<PinnedSide> side);

    Document* m_document;
    std::optional<PinnedSide> m_side;
    std::optional<PairSide> m_a;
    std::shared_ptr<const Pair> m_pair;  ///< of the simulation that its B names; null: to be made anew
};

}  // namespace placewright
