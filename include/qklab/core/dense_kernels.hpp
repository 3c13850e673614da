#pragma once

#include <Eigen/Dense>

/// Eigen's inner kernels for doubles, compiled once, in src/core/dense_kernels.cpp.
///
/// Nobody needs to include this: without it every file that multiplies or diagonalises matrices compiles its
/// own copies of the same kernels. It stands in the precompiled headers.

#ifndef QKLAB_INSTANTIATE
#define QKLAB_INSTANTIATE extern template
#endif

namespace Eigen::internal {

// Products of matrices: packing, the inner kernel, and the loops around both.
using QklabColumns = const_blas_data_mapper<double, Index, ColMajor>;
using QklabRows = const_blas_data_mapper<double, Index, RowMajor>;
using QklabResult = blas_data_mapper<double, Index, ColMajor>;
using QklabTraits = gebp_traits<double, double>;
using QklabPacket = QklabTraits::LhsPacket4Packing;

QKLAB_INSTANTIATE struct gebp_kernel<double, double, Index, QklabResult, QklabTraits::mr, QklabTraits::nr,
                                     false, false>;
QKLAB_INSTANTIATE struct gemm_pack_lhs<double, Index, QklabColumns, QklabTraits::mr, QklabTraits::LhsProgress,
                                       QklabPacket, ColMajor>;
QKLAB_INSTANTIATE struct gemm_pack_lhs<double, Index, QklabRows, QklabTraits::mr, QklabTraits::LhsProgress,
                                       QklabPacket, RowMajor>;
QKLAB_INSTANTIATE struct gemm_pack_rhs<double, Index, QklabColumns, QklabTraits::nr, ColMajor>;
QKLAB_INSTANTIATE struct gemm_pack_rhs<double, Index, QklabRows, QklabTraits::nr, RowMajor>;

QKLAB_INSTANTIATE struct general_matrix_matrix_product<Index, double, ColMajor, false, double, ColMajor,
                                                       false, ColMajor, 1>;
QKLAB_INSTANTIATE struct general_matrix_matrix_product<Index, double, ColMajor, false, double, RowMajor,
                                                       false, ColMajor, 1>;
QKLAB_INSTANTIATE struct general_matrix_matrix_product<Index, double, RowMajor, false, double, ColMajor,
                                                       false, ColMajor, 1>;
QKLAB_INSTANTIATE struct general_matrix_matrix_product<Index, double, RowMajor, false, double, RowMajor,
                                                       false, ColMajor, 1>;

// Matrix times vector, for columns and rows, with either kind of vector.
QKLAB_INSTANTIATE struct general_matrix_vector_product<Index, double, QklabColumns, ColMajor, false, double,
                                                       QklabRows, false>;
QKLAB_INSTANTIATE struct general_matrix_vector_product<Index, double, QklabRows, RowMajor, false, double,
                                                       QklabColumns, false>;
QKLAB_INSTANTIATE struct general_matrix_vector_product<Index, double, QklabRows, RowMajor, false, double,
                                                       QklabRows, false, BuiltIn>;

// Eigenproblems of symmetric matrices, whatever expression they are given as.
QKLAB_INSTANTIATE void tridiagonalization_inplace(MatrixXd&, VectorXd&,
                                                  SelfAdjointEigenSolver<MatrixXd>::SubDiagonalType&,
                                                  VectorXd&, bool);
QKLAB_INSTANTIATE ComputationInfo computeFromTridiagonal_impl(
    VectorXd&, SelfAdjointEigenSolver<MatrixXd>::SubDiagonalType&, Index, bool, MatrixXd&);

}  // namespace Eigen::internal

namespace Eigen {

QKLAB_INSTANTIATE SelfAdjointEigenSolver<MatrixXd>& SelfAdjointEigenSolver<MatrixXd>::compute(
    const EigenBase<MatrixXd>&, int);

}  // namespace Eigen
