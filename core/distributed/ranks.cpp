// SPDX-License-Identifier: MIT
#include "core/distributed/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <future>
#include <numeric>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>

#include "core/search/score_cache.hpp"

namespace placewright {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

enum Tag : int {
    kHello,   ///< host name
    kReady,   ///< conditions of the scores
    kBase,    ///< base placement for the following chunks; empty for none
    kWork,    ///< id of the chunk, number of placements, then the placements
    kScores,  ///< id of the chunk, number of simulations so far and DeltaUse, then the scores
    kFailed,  ///< reason
    kPing,
    kPong,
    kEnd,
    kBye,  ///< last message of a rank
};

constexpr auto kLongestPause = 1ms;

/// A rank that has been silent for this long is asked for a sign of life; a rank answers even while it
/// simulates.
constexpr auto kQuiet = 1s;
constexpr auto kPatience = 10s;
constexpr auto kPatienceWhenStopped = 400ms;

/// Minimum work of a message, so that messages take a small part of the time.
constexpr double kSmallestChunkSeconds = 1e-3;
/// Chunks that a rank has at a time, so that it need not wait for the next one.
constexpr std::size_t kChunksAhead = 2;
/// A chunk is late, and another rank scores it, too, after kLeastLate and so many times the time that it, and
/// what its rank had to do before it, should take.
constexpr double kLateAfter = 3;
constexpr auto kLeastLate = 20ms;
constexpr std::chrono::duration<double> kLongest(1e6);  ///< what a clock can hold

static_assert(std::is_trivially_copyable_v<Score>);

template <class Item>
void append(Bytes& bytes, std::span<const Item> items) {
    const std::size_t before = bytes.size();
    bytes.resize(before + items.size_bytes());
    if (!items.empty()) std::memcpy(bytes.data() + before, items.data(), items.size_bytes());
}

void append(Bytes& bytes, std::uint64_t number) {
    append(bytes, std::span<const std::uint64_t>(&number, 1));
}

/// Removes `items` from the front of `bytes`.
template <class Item>
void take_off(std::span<const std::byte>& bytes, std::span<Item> items) {
    if (bytes.size() < items.size_bytes()) throw std::runtime_error("a message is too short");
    if (!items.empty()) std::memcpy(items.data(), bytes.data(), items.size_bytes());
    bytes = bytes.subspan(items.size_bytes());
}

std::uint64_t take_number_off(std::span<const std::byte>& bytes) {
    std::uint64_t number = 0;
    take_off(bytes, std::span(&number, 1));
    return number;
}

}  // namespace

struct LeadingRank::Peer {
    std::string host;
    Clock::time_point heard;
    std::optional<Clock::time_point> asked;
    std::optional<std::string> conditions;
    Placement base;
    std::deque<std::size_t> work;  ///< numbers of placements of the chunks that it has not answered
    std::vector<Bytes> answers;    ///< not yet taken
    std::uint64_t runs = 0;
    DeltaUse delta_use;
    bool lost = false;  ///< it failed or no longer answers, and gets no more work
    bool gone = false;  ///< it has said its last message
};

LeadingRank::LeadingRank(std::stop_source stop)
    : stop_(std::move(stop)), peers_(static_cast<std::size_t>(mailbox_.size())) {
    for (Peer& peer : peers_) peer.heard = Clock::now();
}

LeadingRank::~LeadingRank() {
    end();
}

std::string LeadingRank::name(int rank) const {
    const std::string& host = peers_[static_cast<std::size_t>(rank)].host;
    return "rank " + std::to_string(rank) + (host.empty() ? "" : " on " + host);
}

void LeadingRank::lose(int rank, const std::string& what) {
    if (!error_) error_.emplace(name(rank), what);
    peers_[static_cast<std::size_t>(rank)].lost = true;
    mailbox_.give_up(rank);
}

std::size_t LeadingRank::working() const {
    return static_cast<std::size_t>(std::ranges::count(peers_.begin() + 1, peers_.end(), false, &Peer::lost));
}

void LeadingRank::take() {
    // What was asked before a time in which this rank did not look counts from now on.
    const auto now = Clock::now();
    if (now - std::exchange(looked_, now) > kQuiet) {
        for (Peer& peer : peers_) {
            if (peer.asked) peer.asked = now;
        }
    }
    while (std::optional<Message> message = mailbox_.next()) {
        Peer& peer = peers_[static_cast<std::size_t>(message->rank)];
        peer.heard = Clock::now();
        peer.asked.reset();
        switch (message->tag) {
            case kHello:
                peer.host = text_of(message->bytes);
                break;
            case kReady:
                peer.conditions = text_of(message->bytes);
                break;
            case kScores:
                peer.answers.push_back(std::move(message->bytes));
                break;
            case kFailed:
                lose(message->rank, text_of(message->bytes));
                break;
            case kBye:
                peer.gone = true;
                break;
            default:
                break;
        }
    }
    mailbox_.sent();
    if (mailbox_.error().empty()) return;
    if (!error_) error_.emplace(name(0), mailbox_.error());
    ends_search_ = true;
    stop_.request_stop();
}

void LeadingRank::watch(const std::function<bool(const Peer&)>& awaited) {
    const auto now = Clock::now();
    for (int rank = 1; rank < mailbox_.size(); ++rank) {
        Peer& peer = peers_[static_cast<std::size_t>(rank)];
        if (peer.lost || !awaited(peer)) continue;
        if (peer.asked && now - *peer.asked > kPatience) {
            lose(rank, "no longer answers");
        } else if (!peer.asked && now - peer.heard > kQuiet) {
            mailbox_.post(rank, kPing);
            peer.asked = now;
        }
    }
}

const std::optional<RankError>& LeadingRank::end() {
    if (ended_) return error_;
    ended_ = true;
    const auto patience =
        stop_.stop_requested() ? Clock::duration(kPatienceWhenStopped) : Clock::duration(kPatience);
    for (int rank = 1; rank < mailbox_.size(); ++rank) mailbox_.post(rank, kEnd);
    const auto begin = Clock::now();
    const auto is_awaited = [&](const Peer& peer) {
        return !peer.gone && Clock::now() - begin < (peer.lost ? kPatienceWhenStopped : patience);
    };
    for (; std::any_of(peers_.begin() + 1, peers_.end(), is_awaited); std::this_thread::sleep_for(kPause))
        take();
    const auto lost = std::ranges::find(peers_.begin() + 1, peers_.end(), false, &Peer::gone);
    if (lost == peers_.end()) {
        mailbox_.close();
        return error_;
    }
    if (!error_) {
        error_.emplace(name(static_cast<int>(lost - peers_.begin())),
                       "no longer answers: it was killed, crashed or lost its connection");
        ends_search_ = stop_.stop_requested();
    }
    return error_;
}

class DistributedEvaluator final : public Evaluator {
public:
    DistributedEvaluator(LeadingRank& ranks, std::unique_ptr<Evaluator> own)
        : ranks_(ranks), own_(std::move(own)) {}

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  Bases bases) override {
        if (placements.size() != scores.size())
            throw std::invalid_argument("evaluate: as many scores as placements are needed");
        fresh_ = cache_.look_up(placements, scores);
        fresh_scores_.resize(fresh_.size());
        placements_ = placements;
        bases_ = bases;
        if (stop.stop_requested() || !score_fresh(stop)) return false;
        for (std::size_t i = 0; i < fresh_.size(); ++i) scores[fresh_[i].index] = fresh_scores_[i];
        cache_.keep(scores);
        return true;
    }

    Workers* workers() override { return own_->workers(); }

    std::uint64_t runs() const override {
        std::uint64_t runs = own_->runs();
        for (const LeadingRank::Peer& peer : ranks_.peers_) runs += peer.runs;
        return runs;
    }

    DeltaUse delta_use() const override {
        DeltaUse use = own_->delta_use();
        for (const LeadingRank::Peer& peer : ranks_.peers_) use += peer.delta_use;
        return use;
    }

private:
    using Peer = LeadingRank::Peer;

    /// Placements that one rank scores at a time: fresh_[begin, end).
    struct Chunk {
        std::size_t begin = 0, end = 0;
        bool scored = false;
        std::size_t rank = 0;    ///< that it was last given to; 0: none
        Clock::time_point late;  ///< when another rank scores it, too; max(): it waits for a rank
    };

    /// Cuts the batch into chunks, and gives each rank the next one when it has time for it. Their sizes
    /// depend on the time that a placement took before, the scores do not.
    bool score_fresh(const std::stop_token& stop) {
        ++batch_;
        const std::size_t threads = own_->workers() == nullptr ? 1 : own_->workers()->threads();
        const std::size_t first = each_s_ > 0 ? 0 : std::min(threads, fresh_.size());
        if (!score_here(0, first, stop)) return false;
        const std::size_t ranks = ranks_.working() + 1, left = fresh_.size() - first;
        const bool spreads = ranks > 1 && static_cast<double>(left) * each_s_ >= 2 * kSmallestChunkSeconds;
        // Whole rounds of the threads that a rank has.
        const double rounds =
            std::ceil(kSmallestChunkSeconds / std::max(each_s_, 1e-9) / static_cast<double>(threads));
        const std::size_t smallest = threads * static_cast<std::size_t>(std::clamp(rounds, 1.0, 1e9));
        chunks_.clear();
        waiting_.clear();
        for (std::size_t begin = first, size = 0; begin < fresh_.size(); begin += size) {
            // Smaller ones towards the end, so that all ranks end at about the same time.
            size = fresh_.size() - begin;
            if (spreads)
                size = std::min(size, std::max(smallest, size / (kChunksAhead * ranks) / threads * threads));
            waiting_.push_back(chunks_.size());
            chunks_.push_back({begin, begin + size, false, 0, Clock::time_point::max()});
        }
        unscored_ = chunks_.size();
        std::ranges::reverse(waiting_);  // the first is taken from the back

        const bool alone = chunks_.size() == 1;
        while (unscored_ > 0) {
            ranks_.take();
            take_scores();
            if (stop.stop_requested()) return false;
            take_back();
            if (!alone) hand_out();
            if (unscored_ == 0) break;
            if (waiting_.empty()) {
                ranks_.watch([](const Peer& peer) { return !peer.work.empty(); });
                std::this_thread::sleep_for(kPause);
                continue;
            }
            Chunk& chunk = chunks_[waiting_.back()];
            waiting_.pop_back();
            if (!score_here(chunk.begin, chunk.end, stop)) return false;
            set_scored(chunk);
        }
        return true;
    }

    bool score_here(std::size_t begin, std::size_t end, const std::stop_token& stop) {
        if (begin == end) return true;
        mine_.resize(end - begin);
        my_bases_.resize(bases_.empty() ? 0 : mine_.size());
        for (std::size_t i = begin; i < end; ++i) {
            mine_[i - begin] = placements_[fresh_[i].index];
            if (!bases_.empty()) my_bases_[i - begin] = bases_[fresh_[i].index];
        }
        const auto before = Clock::now();
        if (!own_->evaluate(mine_, std::span(fresh_scores_).subspan(begin, end - begin), stop, my_bases_))
            return false;
        each_s_ =
            std::chrono::duration<double>(Clock::now() - before).count() / static_cast<double>(mine_.size());
        return true;
    }

    void set_scored(Chunk& chunk) {
        if (std::exchange(chunk.scored, true)) return;
        --unscored_;
        const auto which = static_cast<std::size_t>(&chunk - chunks_.data());
        std::erase(waiting_, which);
    }

    /// Takes the scores that have come; what comes of an earlier batch, or a second time, is dropped.
    void take_scores() {
        for (Peer& peer : ranks_.peers_) {
            for (const Bytes& answer : std::exchange(peer.answers, {})) {
                peer.work.pop_front();
                std::span<const std::byte> bytes = answer;
                const std::uint64_t id = take_number_off(bytes);
                peer.runs = take_number_off(bytes);
                take_off(bytes, std::span(&peer.delta_use, 1));
                if (id >> 32 != (batch_ & 0xffffffffU)) continue;
                Chunk& chunk = chunks_[id & 0xffffffffU];
                if (chunk.scored) continue;
                take_off(bytes, std::span(fresh_scores_).subspan(chunk.begin, chunk.end - chunk.begin));
                set_scored(chunk);
            }
        }
    }

    /// Lets chunks wait for another rank whose rank takes long, or is lost, if no others wait.
    void take_back() {
        if (!waiting_.empty()) return;
        const auto now = Clock::now();
        for (Chunk& chunk : chunks_) {
            if (chunk.scored || chunk.late == Clock::time_point::max()) continue;
            if (now < chunk.late && !ranks_.peers_[chunk.rank].lost) continue;
            chunk.late = Clock::time_point::max();
            waiting_.push_back(static_cast<std::size_t>(&chunk - chunks_.data()));
        }
    }

    /// Gives the other ranks a chunk to score and one to go on with; leaves one for this rank.
    void hand_out() {
        for (std::size_t some = 1; some <= kChunksAhead; ++some) {
            for (std::size_t rank = 1; rank < ranks_.peers_.size() && waiting_.size() > 1; ++rank) {
                Peer& peer = ranks_.peers_[rank];
                Chunk& chunk = chunks_[waiting_.back()];
                if (peer.lost || peer.work.size() >= some || chunk.rank == rank) continue;
                send(waiting_.back(), rank);
                waiting_.pop_back();
                chunk.rank = rank;
                peer.work.push_back(chunk.end - chunk.begin);
                const auto placements = std::accumulate(peer.work.begin(), peer.work.end(), std::size_t{0});
                const std::chrono::duration<double> expected(static_cast<double>(placements) * each_s_);
                chunk.late =
                    Clock::now() + kLeastLate +
                    std::chrono::duration_cast<Clock::duration>(kLateAfter * std::min(expected, kLongest));
            }
        }
        ranks_.mailbox_.sent();
    }

    void send(std::size_t which, std::size_t rank) {
        const Chunk& chunk = chunks_[which];
        Placement& known = ranks_.peers_[rank].base;
        // Other placements of a chunk may have other bases, which cost messages.
        const Placement* const base = bases_.empty() ? nullptr : bases_[fresh_[chunk.begin].index];
        if (const Placement now = base == nullptr ? Placement() : *base; now != known) {
            known = now;
            Bytes bytes;
            append(bytes, std::span<const DeviceId>(known));
            ranks_.mailbox_.post(static_cast<int>(rank), kBase, std::move(bytes));
        }
        Bytes bytes;
        const std::size_t count = chunk.end - chunk.begin;
        bytes.reserve(2 * sizeof(std::uint64_t) + count * placements_.front().size() * sizeof(DeviceId));
        append(bytes, batch_ << 32 | which);
        append(bytes, std::uint64_t{count});
        for (std::size_t i = chunk.begin; i < chunk.end; ++i)
            append(bytes, std::span<const DeviceId>(placements_[fresh_[i].index]));
        ranks_.mailbox_.post(static_cast<int>(rank), kWork, std::move(bytes));
    }

    LeadingRank& ranks_;
    std::unique_ptr<Evaluator> own_;
    ScoreCache cache_;         ///< scores of all ranks: a placement may go to a different rank the next time
    double each_s_ = 0;        ///< seconds per placement that this rank needed last
    std::uint64_t batch_ = 0;  ///< number of the current batch

    // State of the current batch; kept between batches to reuse the memory.
    std::span<const Placement> placements_;
    Bases bases_;
    std::span<const ScoreCache::Fresh> fresh_;
    std::vector<Score> fresh_scores_;
    std::vector<Chunk> chunks_;
    std::vector<std::size_t> waiting_;  ///< chunks for the next rank that has time, the next one last
    std::size_t unscored_ = 0;          ///< number of chunks
    std::vector<Placement> mine_;
    std::vector<const Placement*> my_bases_;
};

std::unique_ptr<Evaluator> LeadingRank::evaluator(RankWork own) {
    const auto awaited = [](const Peer& peer) { return !peer.conditions; };
    while (true) {
        take();
        if (error_) throw RankError(*error_);
        if (stop_.stop_requested() || std::none_of(peers_.begin() + 1, peers_.end(), awaited)) break;
        watch(awaited);
        std::this_thread::sleep_for(kPause);
    }
    for (int rank = 1; rank < mailbox_.size(); ++rank) {
        const auto& theirs = peers_[static_cast<std::size_t>(rank)].conditions;
        if (theirs && *theirs != own.conditions)
            throw RankError(name(rank), "has another network, machine or simulation than rank 0");
    }
    return std::make_unique<DistributedEvaluator>(*this, std::move(own.evaluator));
}

void serve_rank(const std::function<RankWork()>& prepare) {
    Mailbox mailbox;
    mailbox.post(0, kHello, bytes_of(mailbox.host()));

    struct Answer {
        Tag tag;
        Bytes bytes;
    };
    struct Asked {
        std::uint64_t id = 0;
        Placement base;  ///< a copy, as that of later chunks may come while this one waits
        std::vector<Placement> placements;
    };
    RankWork work;
    Placement base;
    std::deque<Asked> asked;
    std::stop_source stop;
    const auto score = [&](const Asked& chunk) {
        std::vector<Score> scores(chunk.placements.size());
        const std::vector<const Placement*> bases(chunk.base.empty() ? 0 : chunk.placements.size(),
                                                  &chunk.base);
        work.evaluator->evaluate(chunk.placements, scores, stop.get_token(), bases);
        Bytes bytes;
        append(bytes, chunk.id);
        append(bytes, work.evaluator->runs());
        const DeltaUse use = work.evaluator->delta_use();
        append(bytes, std::span(&use, 1));
        append(bytes, std::span<const Score>(scores));
        return Answer{kScores, std::move(bytes)};
    };
    // The work runs on its own thread, so that messages are answered meanwhile.
    std::future<Answer> task = std::async(std::launch::async, [&] {
        work = prepare();
        return Answer{kReady, bytes_of(work.conditions)};
    });
    // An exception must not wait for the rest of a batch.
    struct StopAtEnd {
        std::stop_source& stop;
        ~StopAtEnd() { stop.request_stop(); }
    } stop_at_end{stop};

    Clock::duration pause = kPause;
    for (bool ended = false; !ended;) {
        while (const std::optional<Message> message = mailbox.next()) {
            pause = kPause;
            std::span<const std::byte> bytes = message->bytes;
            if (message->tag == kPing) {
                mailbox.post(0, kPong);
            } else if (message->tag == kBase) {
                base.resize(bytes.size() / sizeof(DeviceId));
                take_off(bytes, std::span(base));
            } else if (message->tag == kWork) {
                asked.push_back({take_number_off(bytes), base, {}});
                Asked& chunk = asked.back();
                chunk.placements.resize(take_number_off(bytes));
                const std::size_t genes =
                    chunk.placements.empty() ? 0 : bytes.size() / chunk.placements.size() / sizeof(DeviceId);
                for (Placement& placement : chunk.placements) {
                    placement.resize(genes);
                    take_off(bytes, std::span(placement));
                }
            } else if (message->tag == kEnd) {
                ended = true;
            }
        }
        mailbox.sent();
        if (!mailbox.error().empty()) throw std::runtime_error(mailbox.error());
        if (!task.valid() && !asked.empty()) {
            task = std::async(std::launch::async, score, std::move(asked.front()));
            asked.pop_front();
        }
        if (!task.valid()) {
            std::this_thread::sleep_for(pause);
            pause = std::min<Clock::duration>(pause * 2, kLongestPause);
        } else if (task.wait_for(kLongestPause) == std::future_status::ready) {
            try {
                Answer answer = task.get();
                mailbox.post(0, answer.tag, std::move(answer.bytes));
            } catch (const std::exception& error) {
                mailbox.post(0, kFailed, bytes_of(error.what()));
            }
        }
    }
    mailbox.post(0, kBye);
    stop.request_stop();
    while (!mailbox.sent()) std::this_thread::sleep_for(kPause);
    mailbox.close();
    if (task.valid()) task.wait();
}

}  // namespace placewright
