#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/session/verb.hpp"
#include "qklab/cli/words/table.hpp"
#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/description/plan.hpp"

namespace qklab::cli {

/// One finished point in the forms it can be printed in; only the form that is wanted is made.
struct PointForms {
  std::function<experiment::Json()> json;
  std::function<std::string()> list;                ///< for a single point: a line for each quantity
  std::function<std::vector<std::string>()> cells;  ///< for many points: a row of a table
  std::string remark;                               ///< after the row
};

/// Prints the points of a plan as they are finished: with --json one object a line; else a list when the plan
/// has one point, or a table with the options that vary in its first columns.
class PointPrinter {
 public:
  /// The heading is printed with the first point: the problem in words without the options
  /// named, `note`,
  /// the titles of the table.
  PointPrinter(Session& session, const experiment::Plan& plan, const std::vector<Column>& quantities,
               const std::string& note = "", const std::vector<std::string>& unsaid = {});

  void print(const Problem& problem, const PointForms& forms);

 private:
  std::string row(const Problem& problem, const PointForms& forms) const;

  Session& session_;
  bool json_;
  bool single_;
  std::string heading_;
  std::vector<std::string> options_;  ///< those that vary
  Table table_;
};

}  // namespace qklab::cli
