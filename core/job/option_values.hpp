// SPDX-License-Identifier: MIT
// The options of a job as names and values, for files.
#pragma once

#include "core/job/job.hpp"
#include "core/search/options.hpp"

namespace placewright {

/// Returns the options that differ from the defaults, by name; those that are files begin with "file.".
OptionValues option_values(const JobOptions& options);

/// Returns options with these values; reads the archive of measured times. Throws OptionError for a name or
/// value that does not exist, and InputError for an archive that cannot be read.
JobOptions job_options_from(const OptionValues& values);

}  // namespace placewright
