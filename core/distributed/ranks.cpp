// SPDX-License-Identifier: MIT
#include "core/distributed/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <span>
#include <thread>
#include <type_traits>

#include "core/search/score_cache.hpp"

namespace placewright {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

enum Tag : int {
    kHello,   ///< host name
    kReady,   ///< conditions of the scores
    kBase,    ///< base placement for the following batches; empty for none
    kWork,    ///< number of placements, then the placements
    kScores,  ///< number of simulations so far, then the scores
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

/// Minimum work for a rank, so that messages take a small part of the time.
constexpr double kSmallestShareSeconds = 1e-3;

static_assert(std::is_trivially_copyable_v<Score>);

template <class Item>
void append(Bytes& bytes, std::span<const Item> items) {
    const auto added = std::as_bytes(items);
    bytes.insert(bytes.end(), added.begin(), added.end());
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
    std::optional<Bytes> scores;
    std::uint64_t runs = 0;
    bool gone = false;
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

void LeadingRank::fail(int rank, const std::string& what) {
    if (!error_) error_.emplace(name(rank), what);
    stop_.request_stop();
}

void LeadingRank::take() {
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
                peer.scores = std::move(message->bytes);
                break;
            case kFailed:
                fail(message->rank, text_of(message->bytes));
                break;
            case kBye:
                peer.gone = true;
                break;
            default:
                break;
        }
    }
    mailbox_.sent();
    if (!mailbox_.error().empty()) fail(0, mailbox_.error());
}

void LeadingRank::watch(const std::function<bool(const Peer&)>& awaited) {
    const auto now = Clock::now();
    for (int rank = 1; rank < mailbox_.size(); ++rank) {
        Peer& peer = peers_[static_cast<std::size_t>(rank)];
        if (!awaited(peer)) continue;
        if (peer.asked && now - *peer.asked > kPatience) {
            fail(rank, "no longer answers");
        } else if (!peer.asked && now - peer.heard > kQuiet) {
            mailbox_.post(rank, kPing);
            peer.asked = now;
        }
    }
}

bool LeadingRank::poll(const std::function<bool()>& done, const std::function<bool(const Peer&)>& awaited) {
    while (true) {
        take();
        if (done()) return true;
        if (stop_.stop_requested()) return false;
        watch(awaited);
        std::this_thread::sleep_for(kPause);
    }
}

const std::optional<RankError>& LeadingRank::end() {
    if (ended_) return error_;
    ended_ = true;
    const auto patience =
        stop_.stop_requested() ? Clock::duration(kPatienceWhenStopped) : Clock::duration(kPatience);
    for (int rank = 1; rank < mailbox_.size(); ++rank) mailbox_.post(rank, kEnd);
    const auto all_gone = [this] {
        return std::ranges::all_of(peers_.begin() + 1, peers_.end(), &Peer::gone);
    };
    for (const auto begin = Clock::now(); !all_gone() && Clock::now() - begin < patience;
         std::this_thread::sleep_for(kPause))
        take();
    if (all_gone()) {
        mailbox_.close();
        return error_;
    }
    const auto lost = std::ranges::find(peers_.begin() + 1, peers_.end(), false, &Peer::gone);
    if (!error_)
        error_.emplace(name(static_cast<int>(lost - peers_.begin())),
                       "no longer answers: it was killed, crashed or lost its connection");
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
        if (stop.stop_requested() || !score_fresh(placements, std::move(stop), bases)) return false;
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

private:
    using Peer = LeadingRank::Peer;

    /// Splits the batch evenly over the ranks; this one takes the first part. The number of ranks depends on
    /// the time that a placement took before; the scores do not depend on it.
    bool score_fresh(std::span<const Placement> placements, std::stop_token stop, Bases bases) {
        const std::size_t most = unfinished_ ? 1 : ranks_.peers_.size();
        const std::size_t worthwhile = std::min(
            fresh_.size(),
            static_cast<std::size_t>(static_cast<double>(fresh_.size()) * each_s_ / kSmallestShareSeconds));
        const std::size_t shares = std::clamp<std::size_t>(worthwhile, 1, most);
        const auto begin = [&](std::size_t share) { return fresh_.size() * share / shares; };
        const auto awaited = [&](const Peer& peer) { return is_working(peer, shares) && !peer.scores; };

        unfinished_ = shares > 1;
        for (std::size_t share = 1; share < shares; ++share) {
            ranks_.peers_[share].scores.reset();
            send(placements, share, begin(share), begin(share + 1), bases);
        }
        // A long message needs both sides to take part, and this rank is about to simulate.
        if (shares > 1 && !ranks_.poll([this] { return ranks_.mailbox_.sent(); }, awaited)) return false;
        mine_.resize(begin(1));
        my_bases_.resize(bases.empty() ? 0 : mine_.size());
        for (std::size_t i = 0; i < mine_.size(); ++i) {
            mine_[i] = placements[fresh_[i].index];
            if (!bases.empty()) my_bases_[i] = bases[fresh_[i].index];
        }
        const auto before = Clock::now();
        if (!own_->evaluate(mine_, std::span(fresh_scores_).first(mine_.size()), std::move(stop), my_bases_))
            return false;
        if (!mine_.empty())
            each_s_ = std::chrono::duration<double>(Clock::now() - before).count() /
                      static_cast<double>(mine_.size());
        if (shares == 1) return true;
        if (!ranks_.poll([&] { return std::ranges::none_of(ranks_.peers_, awaited); }, awaited)) return false;
        for (std::size_t share = 1; share < shares; ++share) {
            Peer& peer = ranks_.peers_[share];
            std::span<const std::byte> bytes = *peer.scores;
            peer.runs = take_number_off(bytes);
            take_off(bytes, std::span(fresh_scores_).subspan(begin(share), begin(share + 1) - begin(share)));
        }
        unfinished_ = false;
        return true;
    }

    bool is_working(const Peer& peer, std::size_t shares) const {
        const auto rank = static_cast<std::size_t>(&peer - ranks_.peers_.data());
        return rank > 0 && rank < shares;
    }

    void send(std::span<const Placement> placements, std::size_t rank, std::size_t begin, std::size_t end,
              Bases bases) {
        Placement& known = ranks_.peers_[rank].base;
        // Other placements of a share may have other bases, which cost messages.
        const Placement* const base = bases.empty() || begin == end ? nullptr : bases[fresh_[begin].index];
        if (const Placement now = base == nullptr ? Placement() : *base; now != known) {
            known = now;
            Bytes bytes;
            append(bytes, std::span<const DeviceId>(known));
            ranks_.mailbox_.post(static_cast<int>(rank), kBase, std::move(bytes));
        }
        Bytes bytes;
        bytes.reserve(sizeof(std::uint64_t) + (end - begin) * placements.front().size() * sizeof(DeviceId));
        append(bytes, std::uint64_t{end - begin});
        for (std::size_t i = begin; i < end; ++i)
            append(bytes, std::span<const DeviceId>(placements[fresh_[i].index]));
        ranks_.mailbox_.post(static_cast<int>(rank), kWork, std::move(bytes));
    }

    LeadingRank& ranks_;
    std::unique_ptr<Evaluator> own_;
    ScoreCache cache_;         ///< scores of all ranks: a placement may go to a different rank the next time
    double each_s_ = 0;        ///< seconds per placement that this rank needed last
    bool unfinished_ = false;  ///< a batch was interrupted and answers to it may be under way: the other
                               ///< ranks get no more work

    // State of the current batch; kept between batches to reuse the memory.
    std::span<const ScoreCache::Fresh> fresh_;
    std::vector<Score> fresh_scores_;
    std::vector<Placement> mine_;
    std::vector<const Placement*> my_bases_;
};

std::unique_ptr<Evaluator> LeadingRank::evaluator(RankWork own) {
    const auto awaited = [](const Peer& peer) { return !peer.conditions; };
    poll([&] { return error_ || std::ranges::none_of(peers_.begin() + 1, peers_.end(), awaited); }, awaited);
    if (error_) throw RankError(*error_);
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
    RankWork work;
    Placement base;
    std::vector<Placement> placements;
    std::stop_source stop;
    const auto score = [&] {
        std::vector<Score> scores(placements.size());
        const std::vector<const Placement*> bases(base.empty() ? 0 : placements.size(), &base);
        work.evaluator->evaluate(placements, scores, stop.get_token(), bases);
        Bytes bytes;
        append(bytes, work.evaluator->runs());
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
                placements.resize(take_number_off(bytes));
                const std::size_t genes =
                    placements.empty() ? 0 : bytes.size() / placements.size() / sizeof(DeviceId);
                for (Placement& placement : placements) {
                    placement.resize(genes);
                    take_off(bytes, std::span(placement));
                }
                task = std::async(std::launch::async, score);
            } else if (message->tag == kEnd) {
                ended = true;
            }
        }
        mailbox.sent();
        if (!mailbox.error().empty()) throw std::runtime_error(mailbox.error());
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
