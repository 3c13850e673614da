#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/session/verb.hpp"
#include "python.hpp"
#include "qklab/experiment/comparison/json.hpp"

namespace qklab::cli {

/// Where a figure will go. Making one finds out everything that could go wrong before hours of computing.
class Figure {
 public:
  /// Throws InvalidParameter when the ending of `path` is not .svg, .pdf or .png, FileError when nothing can
  /// be written there or there is no Python to draw. Leaves no file behind.
  explicit Figure(const std::string& path);

  /// Draws `document` (docs/figures.md). Throws std::runtime_error when that fails.
  void draw(const experiment::Json& document) const;

 private:
  std::filesystem::path path_;
  Python python_;
};

/// The figure that --plot asks for, if any.
std::optional<Figure> figure_of(const Session& session);

}  // namespace qklab::cli
