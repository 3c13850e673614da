#include "qklab/core/spectrum_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "qklab/core/error.hpp"

namespace qklab {
namespace {

using namespace std::string_literals;
using Values = std::vector<double>;

class SpectrumFile : public ::testing::Test {
 protected:
  SpectrumTeacher read(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return read_spectrum(path_.string());
  }
  Values values(const std::string& bytes) { return read(bytes).eigenvalues; }
  /// What is said of the file, after its path.
  std::string complaint(const std::string& bytes) {
    try {
      read(bytes);
    } catch (const FileError& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with(path_.string() + ": ")) << what;
      return what.substr(std::min(path_.string().size() + 2, what.size()));
    }
    return "nothing";
  }
  void TearDown() override { std::filesystem::remove(path_); }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() /
      ("qklab_spectrum_"s + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(SpectrumFile, IsAColumnOrARow) {
  const Values expected{1.5, 2e-3, 0};
  for (const char* text :
       {"# made by hand\n1.5\n\n 2e-3 \r\n0\n", "1.5 2e-3 0", "1.5,2e-3,0\n", "1.5, 2e-3 ,0,,\n",
        "1.5;2e-3;0\r\n", "\t1.5\t2e-3\t0", "1.5,\n2e-3,\n0,\n", "1.5\r2e-3\r0\r", "+1.5\n+2e-3\n-0\n",
        "\357\273\2771.5\n2e-3\n0", "1.5 # largest\n2e-3# next\n0 #\n", "# \xce\xbb\n1.5\n.2e-2\n0"}) {
    EXPECT_EQ(values(text), expected) << text;
  }
}

TEST_F(SpectrumFile, KeepsThePathAndADigestOfTheBytes) {
  const SpectrumTeacher teacher = read("1\n2");
  EXPECT_EQ(teacher.eigenvalues, (Values{1, 2}));
  EXPECT_EQ(teacher.digest, "860bfb3bbfa6c2aa4a3a0c99b5ef584e98954612");  // sha1sum
}

TEST_F(SpectrumFile, WhatIsNoListIsRefusedAtItsPlace) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "holds no eigenvalue"},
      {"# only a comment\n", "holds no eigenvalue"},
      {"0\n0\n", "at least one eigenvalue must be > 0"},
      {"1\n-2\n", "line 2: '-2' is negative"},
      {"1\nabc\n", "line 2: 'abc' is not a number"},
      {"1\n\nnan\n", "line 3: 'nan' is not a finite number"},
      {"inf\n", "line 1: 'inf' is not a finite number"},
      {"1e999\n", "line 1: '1e999' is not a finite number"},
      {"0x10\n", "line 1: '0x10' is not a number"},
      {"1,,2\n", "line 1: an entry is empty"},
      {",1\n", "line 1: an entry is empty"},
      {"1 2\n3 4\n", "line 2: several numbers on one of several lines"},
      {"1,5\n2,25\n", "line 2: several numbers on one of several lines"},
      {"1\n2 3\n", "line 2: several numbers on one of several lines"},
      {"1 2\n3\n", "line 2: several numbers on one of several lines"},
  };
  for (const auto& [text, start] : cases) {
    EXPECT_TRUE(complaint(text).starts_with(start)) << text << " -> " << complaint(text);
  }
  EXPECT_THROW(read_spectrum("/no/such/file"), FileError);
  EXPECT_THROW(read_spectrum(std::filesystem::temp_directory_path().string()), FileError);
}

TEST_F(SpectrumFile, NegativesOfRoundingBecomeZero) {
  const double epsilon = std::numeric_limits<double>::epsilon();
  const auto text = [](double last) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", last);
    return "4\n1\n"s + digits + "\n";
  };
  const SpectrumTeacher kept = read(text(-3 * epsilon * 4));
  EXPECT_EQ(kept.eigenvalues, (Values{4, 1, 0}));
  EXPECT_EQ(kept.rounded_to_zero, 1);
  EXPECT_EQ(read(text(0)).rounded_to_zero, 0);
  EXPECT_TRUE(complaint(text(-3.01 * epsilon * 4)).starts_with("line 3: '-")) << complaint(text(-1e-10));
}

TEST_F(SpectrumFile, NothingOfABinaryFileReachesTheTerminal) {
  const std::string escape = "\x1b]0;title\x07";
  for (const std::string& bytes : {"\x00\x01\x02"s,
                                   "\x7f"
                                   "ELF"s,
                                   escape, "1\n" + escape, "1\n\xff\xd8\xff\xe0 2\n"s, "PK\x03\x04 1.npy"s,
                                   "\xff\xfe"
                                   "1\x00\n\x00"s,
                                   "1\n\xc3\xa9t\xc3\xa9\n"s}) {
    const std::string said = complaint(bytes);
    EXPECT_NE(said, "nothing");
    EXPECT_TRUE(std::ranges::all_of(said, [](char c) { return c >= ' ' && c <= '~'; })) << said;
  }
  EXPECT_TRUE(complaint("PK\x03\x04").starts_with("is an archive"));
  EXPECT_TRUE(complaint("\xff\xfe"
                        "1\x00"s)
                  .starts_with("is text in UTF-16"));
  EXPECT_TRUE(complaint("1\x00"s).starts_with("is neither text nor an array"));
  EXPECT_LT(complaint("1\n" + std::string(100'000, 'x')).size(), 80U);
}

/// A file of numpy.save, written out by hand.
std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                int version = 1) {
  std::string header = "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize((header.size() + 1 + 63) / 64 * 64 - 1, ' ');
  header += '\n';
  std::string length{static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)};
  if (version > 1) length += "\0\0"s;
  return "\x93NUMPY"s + static_cast<char>(version) + '\0' + length + header + data;
}

template <class Number>
std::string bytes_of(std::vector<Number> numbers, bool is_big) {
  std::string bytes;
  for (const Number number : numbers) {
    std::string one(reinterpret_cast<const char*>(&number), sizeof number);
    if (is_big == (std::endian::native == std::endian::little)) std::ranges::reverse(one);
    bytes += one;
  }
  return bytes;
}

TEST_F(SpectrumFile, ReadsArraysOfEveryRealTypeAndOrder) {
  const Values expected{3, 0.5, 0};
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(values(npy("'<f8'", "(3,)", bytes_of<double>({3, 0.5, 0}, false), version)), expected);
  }
  EXPECT_EQ(values(npy("'>f8'", "(3,)", bytes_of<double>({3, 0.5, 0}, true))), expected);
  EXPECT_EQ(values(npy("'<f4'", "(1, 3)", bytes_of<float>({3, 0.5, 0}, false))), expected);
  EXPECT_EQ(values(npy("'>f4'", "(3, 1)", bytes_of<float>({3, 0.5, 0}, true))), expected);
  EXPECT_EQ(values(npy("'<i8'", "(2,)", bytes_of<std::int64_t>({7, 1}, false))), (Values{7, 1}));
  EXPECT_EQ(values(npy("'>i2'", "(2,)", bytes_of<std::int16_t>({700, 1}, true))), (Values{700, 1}));
  EXPECT_EQ(values(npy("'|u1'", "(2,)", bytes_of<std::uint8_t>({200, 1}, false))), (Values{200, 1}));
  EXPECT_EQ(values(npy("'<f8'", "()", bytes_of<double>({2}, false))), (Values{2}));
}

TEST_F(SpectrumFile, RoundingIsThatOfTheStoredType) {
  const auto single = npy("'<f4'", "(2,)", bytes_of<float>({1, -2e-7F}, false));
  EXPECT_EQ(read(single).rounded_to_zero, 1);
  EXPECT_TRUE(complaint(npy("'<f8'", "(2,)", bytes_of<double>({1, -2e-7}, false)))
                  .starts_with("entry 2: '-2e-07' is negative"));
}

TEST_F(SpectrumFile, OtherArraysAreRefused) {
  const std::string two = bytes_of<double>({1, 2}, false);
  const std::vector<std::pair<std::string, std::string>> cases{
      {npy("'<f8'", "(2, 2)", two + two), "holds an array of shape (2, 2)"},
      {npy("'<f8'", "(3,)", two), "is cut short: it should hold 3 numbers, and holds 2"},
      {npy("'<f8'", "(18446744073709551615,)", two), "is cut short"},
      {npy("'<f8'", "(99999999999999999999999,)", two), "the header of numpy.save has no readable shape"},
      {npy("'<f8'", "(0,)", ""), "holds no eigenvalue"},
      {npy("'<c16'", "(1,)", two), "holds numbers of type 'c16'"},
      {npy("'|O'", "(1,)", two), "holds numbers of type 'O'"},
      {npy("''", "(1,)", two), "holds numbers of type ''"},
      {npy("[('a', '<f8')]", "(2,)", two), "holds records"},
      {npy("'<f8'", "(2,)", bytes_of<double>({1, std::numeric_limits<double>::infinity()}, false)),
       "entry 2: 'inf' is not a finite number"},
      {"\x93NUMPY", "is cut short"},
      {"\x93NUMPY\x01"s + "\0\xff\xff"s, "is cut short"},
      {"\x93NUMPY\x01"s + "\0\x02\0{}"s, "the header of numpy.save lacks its descr"},
  };
  for (const auto& [bytes, start] : cases) {
    EXPECT_TRUE(complaint(bytes).starts_with(start)) << start << " -> " << complaint(bytes);
  }
}

}  // namespace
}  // namespace qklab
