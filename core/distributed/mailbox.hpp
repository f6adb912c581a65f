// SPDX-License-Identifier: MIT
// Messages between ranks; the only code that uses MPI. Nothing here waits for another rank, which may be
// dead.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

using Bytes = std::vector<std::byte>;

/// A text as the bytes of a message, and back.
Bytes bytes_of(std::string_view text);
std::string text_of(const Bytes& bytes);

/// Pause between two checks for messages. MPI's own waiting would keep a core busy.
inline constexpr auto kPause = std::chrono::microseconds(50);

struct Message {
    int rank = 0;  ///< the sender
    int tag = 0;
    Bytes bytes;
};

/// Initialises MPI and finalises it on destruction; one per process. To be used on the thread that made it.
class Mailbox {
public:
    /// Throws std::runtime_error if MPI cannot be started, and LaunchError if this is not the rank that
    /// launch() says.
    Mailbox();
    /// Waits until the mailboxes of all ranks are destroyed. If close() was not called, an error occurred:
    /// ends all ranks at once, this one with exit status 1.
    ~Mailbox();
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    /// Returns the name of the computer that this rank runs on: "node7".
    const std::string& host() const { return host_; }

    void post(int rank, int tag, Bytes bytes = {});
    /// Returns whether all posted messages are on their way and need nothing more from this rank. Call it
    /// until it returns true.
    bool sent();
    /// No longer waits until messages to this rank, which may be dead, are on their way.
    void give_up(int rank);
    /// Returns the next message, if one has arrived.
    std::optional<Message> next();

    /// Returns MPI's first error; empty if there was none.
    const std::string& error() const { return error_; }

    /// Declares that no message is under way to this rank or from it.
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
