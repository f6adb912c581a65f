// SPDX-License-Identifier: MIT
#include "core/io/traces/trace_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace placewright {

std::size_t set_rows(std::span<TraceEvent> events, TraceLane& lane) {
    struct Track {
        std::vector<std::int64_t> starts, ends;  ///< of the events that enclose the current one
        std::uint32_t depth = 0;
    };
    std::vector<Track> tracks;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> place;  ///< by event: its track and row in it
    place.reserve(events.size());
    std::size_t overlaps = 0;
    std::int64_t busy_end = std::numeric_limits<std::int64_t>::min();
    for (const TraceEvent& event : events) {
        lane.busy_ns += std::max<std::int64_t>(0, event.end_ns() - std::max(event.start_ns, busy_end));
        busy_end = std::max(busy_end, event.end_ns());
        constexpr std::size_t kMostTracks = 64;
        for (std::uint32_t t = 0;; ++t) {
            if (t == tracks.size()) tracks.emplace_back();
            Track& track = tracks[t];
            while (!track.ends.empty() && track.ends.back() <= event.start_ns) {
                track.starts.pop_back();
                track.ends.pop_back();
            }
            // An event without a duration that begins with another one lies before it, not in it.
            if (!track.ends.empty() && event.duration_ns == 0 && track.starts.back() == event.start_ns) {
                place.emplace_back(t, static_cast<std::uint32_t>(track.ends.size() - 1));
                break;
            }
            const bool fits = track.ends.empty() || event.end_ns() <= track.ends.back();
            if (!fits && t + 1 < kMostTracks) continue;
            overlaps += t > 0;
            place.emplace_back(t, static_cast<std::uint32_t>(track.ends.size()));
            track.starts.push_back(event.start_ns);
            track.ends.push_back(fits ? event.end_ns() : std::max(track.ends.back(), event.end_ns()));
            track.depth = std::max(track.depth, static_cast<std::uint32_t>(track.ends.size()));
            break;
        }
    }
    std::vector<std::uint32_t> first(tracks.size() + 1, 0);
    for (std::size_t t = 0; t < tracks.size(); ++t) first[t + 1] = first[t] + tracks[t].depth;
    for (std::size_t i = 0; i < events.size(); ++i) events[i].row = first[place[i].first] + place[i].second;
    lane.rows = first.back();
    return overlaps;
}

}  // namespace placewright
