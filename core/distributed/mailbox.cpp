// SPDX-License-Identifier: MIT
#include "core/distributed/mailbox.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <list>
#include <span>
#include <stdexcept>

// MPI's deprecated C++ bindings need symbols of an extra library.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "core/distributed/launch.hpp"

namespace placewright {

struct Mailbox::Traffic {
    struct Outgoing {
        int rank = 0;
        Bytes bytes;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    struct Incoming {
        Message message;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    std::list<Outgoing> outgoing;  ///< a list, because MPI keeps pointers to the requests
    std::list<Outgoing> given_up;  ///< MPI may still read their bytes
    std::optional<Incoming> incoming;
};

Mailbox::Mailbox() : traffic_(std::make_unique<Traffic>()) {
    int provided = 0;
    // Other threads simulate and leave MPI to this one.
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED)
        throw std::runtime_error("MPI cannot be started");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    const std::optional<Launch> claimed = launch();
    if (claimed && (claimed->rank != rank_ || claimed->size != size_)) {
        MPI_Finalize();
        throw LaunchError(*claimed, size_);
    }
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    if (MPI_Get_processor_name(name.data(), &length) == MPI_SUCCESS)
        host_.assign(name.data(), static_cast<std::size_t>(length));
}

Mailbox::~Mailbox() {
    if (!closed_) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
}

bool Mailbox::works(int code) {
    if (code == MPI_SUCCESS) return true;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    if (error_.empty()) error_.assign(text.data(), static_cast<std::size_t>(length));
    return false;
}

void Mailbox::post(int rank, int tag, Bytes bytes) {
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw std::runtime_error(
            "a message of " + std::to_string(bytes.size()) +
            " bytes is longer than the 2 GiB that MPI takes: train a smaller policy, or without mpirun");
    traffic_->outgoing.push_back({rank, std::move(bytes)});
    Traffic::Outgoing& out = traffic_->outgoing.back();
    if (!works(MPI_Isend(out.bytes.data(), static_cast<int>(out.bytes.size()), MPI_BYTE, rank, tag,
                         MPI_COMM_WORLD, &out.request)))
        traffic_->outgoing.pop_back();
}

bool Mailbox::sent() {
    std::erase_if(traffic_->outgoing, [this](Traffic::Outgoing& out) {
        int done = 0;
        return works(MPI_Test(&out.request, &done, MPI_STATUS_IGNORE)) && done != 0;
    });
    return traffic_->outgoing.empty();
}

void Mailbox::give_up(int rank) {
    for (auto out = traffic_->outgoing.begin(); out != traffic_->outgoing.end();) {
        const auto next = std::next(out);
        if (out->rank == rank) traffic_->given_up.splice(traffic_->given_up.end(), traffic_->outgoing, out);
        out = next;
    }
}

std::optional<Message> Mailbox::next() {
    auto& incoming = traffic_->incoming;
    if (!incoming) {
        int found = 0;
        MPI_Message handle = MPI_MESSAGE_NULL;
        MPI_Status status;
        if (!works(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &handle, &status)) ||
            found == 0)
            return {};
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        incoming = Traffic::Incoming();
        incoming->message = {status.MPI_SOURCE, status.MPI_TAG, Bytes(static_cast<std::size_t>(bytes))};
        if (!works(
                MPI_Imrecv(incoming->message.bytes.data(), bytes, MPI_BYTE, &handle, &incoming->request))) {
            incoming.reset();
            return {};
        }
    }
    int done = 0;
    if (!works(MPI_Test(&incoming->request, &done, MPI_STATUS_IGNORE)) || done == 0) return {};
    std::optional<Message> message = std::move(incoming->message);
    incoming.reset();
    return message;
}

}  // namespace placewright
