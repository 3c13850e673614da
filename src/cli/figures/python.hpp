#pragma once

#include <filesystem>
#include <string>

namespace qklab::cli {

/// The Python environment that draws figures.
struct Python {
  std::filesystem::path interpreter;
  std::filesystem::path
      package;  ///< directory that holds the package qklab; empty: the interpreter has it installed
};

/// $QKLAB_PYTHON, else .venv/bin/python of the project that the running executable lies in; the package from
/// the same project. Throws FileError when there is no interpreter or it cannot import qklab.figures.
Python find_python();

/// Runs `python -m qklab.figures output` with `document` on its standard input. Throws std::runtime_error
/// with its last line on standard error when it fails.
void draw_figure(const Python& python, const std::string& document, const std::filesystem::path& output);

}  // namespace qklab::cli
