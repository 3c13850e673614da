#include "qklab/cli/program/command.hpp"

int main(int argc, char** argv) {
  return qklab::cli::run(argc, argv);
}
