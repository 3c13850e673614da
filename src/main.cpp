#include "qklab/cli/command.hpp"

int main(int argc, char** argv) {
  return qklab::cli::run(argc, argv);
}
