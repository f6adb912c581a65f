// SPDX-License-Identifier: MIT
// Explanation of a timeline: its critical path and its memory peaks as values and as text.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <QString>

#include "core/sim/explain.hpp"
#include "widgets/timeline_data.hpp"

namespace placewright {

/// Explains the step time and the memory peaks of a timeline. Built outside the GUI thread.
struct TimelineWhy {
    std::shared_ptr<const TimelineData> timeline;
    CriticalPath path;
    std::vector<MemoryPeak> peaks;           ///< by device
    std::vector<std::size_t> longest_waits;  ///< indices in path.segments of the few longest waits
    std::vector<std::size_t> longest_work;   ///< the same for computing and transferring
    /// Time that the path spends on a device or channel.
    struct Share {
        bool isDevice = true;
        std::uint16_t resource = 0;
        double work_s = 0, queue_s = 0;
        std::size_t longest = 0;  ///< index in path.segments of its longest segment

        double total_s() const { return work_s + queue_s; }
    };
    std::vector<Share> shares;  ///< largest first; without zero shares

    /// O(spans log spans), see critical_path() and memory_peaks().
    static std::shared_ptr<const TimelineWhy> build(std::shared_ptr<const TimelineData> timeline);

    /// Returns the forward ops that compute on the path or whose tensors cross a channel on it, ascending.
    std::vector<OpId> ops() const;
};

// The following return rich text with escaped names.

/// The sum in one line: "41.2 ms: 71 % computing, 12 % transferring, 17 % waiting for a busy device or
/// channel".
QString pathSummary(const TimelineWhy& why);
/// "conv1 on gpu:0", "conv1 over pcie0, gpu:0 → gpu:1", "conv1 waits for gpu:0 until conv2 is done".
QString segmentText(const TimelineWhy& why, std::size_t segment);
/// The time of a device's memory peak, the bytes held then by category, and the five largest tensors and
/// workspaces; ops link to "op:ID" if `linked`.
QString peakText(const TimelineWhy& why, DeviceId device, bool linked);

}  // namespace placewright
