// SPDX-License-Identifier: MIT
// Messages between ranks; the only place that knows MPI. Nothing here waits for another rank, which may be dead.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace placewright {

struct Message {
    int rank = 0;  ///< that it comes from
    int tag = 0;
    std::vector<std::byte> bytes;
};

/// MPI as long as it lives; there can be one a process. To be used on the thread that made it.
class Mailbox {
public:
    /// Throws std::runtime_error.
    Mailbox();
    /// Waits for the mailboxes of all ranks to go. If close() was not called, something went wrong: ends all ranks, this one with exit
    /// status 1, at once.
    ~Mailbox();
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    /// "node7": the name of the computer that this rank runs on.
    const std::string& host() const { return host_; }

    void post(int rank, int tag, std::vector<std::byte> bytes = {});
    /// Whether all that was posted is on its way, which needs nothing more from this rank then. To be asked until it is.
    bool sent();
    /// The next message, if one has come.
    std::optional<Message> next();

    /// What MPI said first when it could not do its work; empty if it could.
    const std::string& error() const { return error_; }

    /// All is said: no message is under way to this rank or from it.
    void close() { closed_ = true; }

private:
    struct Traffic;

    bool works(int code);

    int rank_ = 0;
    int size_ = 1;
    std::string host_;
    std::string error_;
    bool closed_ = false;
    std::unique_ptr<Traffic> traffic_;
};

}  // namespace placewright
