// Our side of `make side-by-side`: reads one request a line, a JSON object with the key "do", and answers
// each with one JSON object. The harness asks it and PyTorch's side (pytorch_worker.py) in turns.
#include <cblas.h>
#include <fmt/format.h>

#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "qklab/core/threads.hpp"
#include "requests.hpp"

namespace {

using qklab::side_by_side::Json;

Json about() {
  return {{"compiler", QKLAB_COMPILER},
          {"flags", QKLAB_FLAGS},
          {"openblas", openblas_get_config()},
          {"openblas_kernels", openblas_get_corename()}};
}

Json answer(const Json& request, qklab::side_by_side::TrainingSide& training) {
  qklab::set_thread_budget(request.value("threads", 1));
  const std::map<std::string, std::function<Json()>> requests{
      {"about", about},
      {"draw", [&] { return training.draw(request); }},
      {"export", [&] { return training.write(request); }},
      {"value", [&] { return training.value(request); }},
      {"step", [&] { return training.step(request); }},
      {"descend", [&] { return training.descend(request); }},
      {"amp", [&] { return training.amp(request); }},
      {"gemm", [&] { return qklab::side_by_side::gemm(request); }},
      {"theory", [&] { return qklab::side_by_side::theory(request); }},
  };
  return requests.at(request.at("do").get<std::string>())();
}

}  // namespace

int main() {
  qklab::side_by_side::TrainingSide training;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << answer(Json::parse(line), training) << std::endl;
    } catch (const std::exception& error) {
      std::cout << Json{{"error", fmt::format("{}: {}", line, error.what())}} << std::endl;
    }
  }
}
