// SPDX-License-Identifier: MIT
// Why a timeline is as it is: its critical path and its memory peaks as values, and in words.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <QString>

#include "core/sim/explain.hpp"
#include "widgets/timeline_data.hpp"

namespace placewright {

/// Why the step of a timeline takes as long, and its devices hold as much, as they do. Built off the window's thread.
struct TimelineWhy {
    std::shared_ptr<const TimelineData> timeline;
    CriticalPath path;
    std::vector<MemoryPeak> peaks;           ///< by device
    std::vector<std::size_t> longest_waits;  ///< positions in path.segments: queues, longest first, as many as are told
    std::vector<std::size_t> longest_work;   ///< the same of computing and transferring
    /// The time that the path spends on a device or channel.
    struct Share {
        bool isDevice = true;
        std::uint16_t resource = 0;
        double work_s = 0, queue_s = 0;
        std::size_t longest = 0;  ///< position in path.segments of its longest one

        double total_s() const { return work_s + queue_s; }
    };
    std::vector<Share> shares;  ///< largest first, none of zero

    /// O(spans log spans), see critical_path() and memory_peaks().
    static std::shared_ptr<const TimelineWhy> build(std::shared_ptr<const TimelineData> timeline);

    /// Forward ops that compute on the path or whose tensors cross a channel on it, ascending.
    std::vector<OpId> ops() const;
};

// As rich text, with names escaped.

/// The sum in one line: "41.2 ms: 71 % computing, 12 % transferring, 17 % waiting".
QString pathSummary(const TimelineWhy& why);
/// "conv1 on gpu:0", "conv1 over pcie0, gpu:0 → gpu:1", "conv1 waits for gpu:0 until conv2 is done".
QString segmentText(const TimelineWhy& why, std::size_t segment);
/// When a device holds most, and the `most` largest things that it holds then; ops link to "op:ID" if `linked`.
QString peakText(const TimelineWhy& why, DeviceId device, std::size_t most, bool linked);

}  // namespace placewright
