// SPDX-License-Identifier: MIT
#include "core/search/recorded.hpp"

#include <unordered_map>

namespace placewright {
namespace {

class RecordedEvaluator final : public Evaluator {
public:
    RecordedEvaluator(std::unique_ptr<Evaluator> evaluator, std::span<const RecordedScore> known,
                      ScoreRecorder record, std::size_t most)
        : evaluator_(std::move(evaluator)), record_(std::move(record)), most_(most) {
        known_.reserve(known.size());
        for (const RecordedScore& item : known) known_.emplace(item.placement, item.score);
    }

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  Bases bases) override {
        unknown_.clear();
        keys_.clear();
        index_.clear();
        unknown_bases_.clear();
        for (std::size_t i = 0; i < placements.size(); ++i) {
            const PlacementKey key = key_of(placements[i]);
            if (const auto found = known_.find(key); found != known_.end()) {
                scores[i] = found->second;
                continue;
            }
            unknown_.push_back(placements[i]);
            keys_.push_back(key);
            index_.push_back(i);
            if (!bases.empty()) unknown_bases_.push_back(bases[i]);
        }
        if (unknown_.empty()) return true;
        new_scores_.resize(unknown_.size());
        if (!evaluator_->evaluate(unknown_, new_scores_, stop, unknown_bases_)) return false;
        new_.clear();
        for (std::size_t i = 0; i < unknown_.size(); ++i) {
            scores[index_[i]] = new_scores_[i];
            note(keys_[i], new_scores_[i]);
        }
        record_(new_);
        return true;
    }

    bool evaluate_stream(PlacementStream& stream, std::stop_token stop) override {
        new_.clear();
        Unknown unknown(*this, stream);
        const bool is_complete = evaluator_->evaluate_stream(unknown, std::move(stop));
        record_(new_);
        return is_complete;
    }

    bool streams_in_batches() const override { return evaluator_->streams_in_batches(); }

    std::uint64_t runs() const override { return evaluator_->runs(); }
    DeltaUse delta_use() const override { return evaluator_->delta_use(); }
    Workers* workers() override { return evaluator_->workers(); }

private:
    /// The items of a stream whose scores are not known.
    class Unknown final : public ForwardedStream {
    public:
        Unknown(RecordedEvaluator& of, PlacementStream& stream) : ForwardedStream(stream), of_(of) {}

        bool knows(StreamItem& item) override {
            if (ForwardedStream::knows(item)) return true;
            const auto found = of_.known_.find(item.key);
            if (found == of_.known_.end()) return false;
            ForwardedStream::scored(item, found->second);
            return true;
        }
        void scored(StreamItem& item, const Score& score) override {
            of_.note(item.key, score);
            ForwardedStream::scored(item, score);
        }

    private:
        RecordedEvaluator& of_;
    };

    void note(const PlacementKey& key, const Score& score) {
        if (known_.size() < most_ && known_.emplace(key, score).second) new_.push_back({key, score});
    }

    std::unique_ptr<Evaluator> evaluator_;
    ScoreRecorder record_;
    std::size_t most_;
    std::unordered_map<PlacementKey, Score, PlacementKey::Hash> known_;

    // State of the current batch; kept between batches to reuse the memory.
    std::vector<Placement> unknown_;
    std::vector<PlacementKey> keys_;
    std::vector<const Placement*> unknown_bases_;
    std::vector<std::size_t> index_;
    std::vector<Score> new_scores_;
    std::vector<RecordedScore> new_;
};

}  // namespace

std::unique_ptr<Evaluator> recorded_evaluator(std::unique_ptr<Evaluator> evaluator,
                                              std::span<const RecordedScore> known, ScoreRecorder record,
                                              std::size_t most) {
    return std::make_unique<RecordedEvaluator>(std::move(evaluator), known, std::move(record), most);
}

}  // namespace placewright
