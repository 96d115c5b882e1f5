// The border: finite elements on a mesh, and polygons.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "prior/finite_elements.h"
#include "prior/polygon.h"

namespace {

Rcpp::List triplets_to_r(const Eigen::SparseMatrix<double>& A) {
  Rcpp::IntegerVector i(A.nonZeros()), j(A.nonZeros());
  Rcpp::NumericVector x(A.nonZeros());
  Eigen::Index e = 0;
  for (Eigen::Index column = 0; column < A.cols(); ++column)
    for (Eigen::SparseMatrix<double>::InnerIterator entry(A, column); entry; ++entry, ++e) {
      i[e] = static_cast<int>(entry.row()) + 1;
      j[e] = static_cast<int>(entry.col()) + 1;
      x[e] = entry.value();
    }
  return Rcpp::List::create(Rcpp::_["i"] = i, Rcpp::_["j"] = j, Rcpp::_["x"] = x);
}

Eigen::Map<const galvi::Matrix> coordinates(const Rcpp::NumericMatrix& x) {
  if (x.ncol() != 2) throw std::invalid_argument("places have two coordinates");
  return {x.begin(), x.nrow(), x.ncol()};
}

// From 0, of so many nodes.
Eigen::MatrixXi corners(const Rcpp::IntegerMatrix& x, int nodes) {
  if (x.ncol() != 3) throw std::invalid_argument("a triangle has three nodes");
  for (R_xlen_t i = 0; i < x.size(); ++i)
    if (x[i] < 1 || x[i] > nodes)
      throw std::invalid_argument("triangle " + std::to_string(i % x.nrow() + 1) + " has a corner that is no node");
  return Eigen::Map<const Eigen::MatrixXi>(x.begin(), x.nrow(), x.ncol()).array() - 1;
}

galvi::Rings rings_from_r(const Rcpp::List& list) {
  galvi::Rings out;
  for (const auto& ring : list) {
    out.push_back(coordinates(Rcpp::NumericMatrix(ring)));
    if (out.back().rows() < 3) throw std::invalid_argument("a polygon has three vertices or more");
  }
  return out;
}

}  // namespace

//' Finite elements on a mesh
//'
//' @param nodes L x 2 coordinates.
//' @param triangles T x 3 numbers of nodes, from 1.
//' @return list(mass: L numbers; stiffness, squared: lower triangles as triplets()), the matrices C, G and
//'   G C^-1 G of Lindgren, Rue and Lindstrom (2011).
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List finite_elements(Rcpp::NumericMatrix nodes, Rcpp::IntegerMatrix triangles) {
  const galvi::FiniteElements found = galvi::finite_elements(coordinates(nodes), corners(triangles, nodes.nrow()));
  return Rcpp::List::create(
      Rcpp::_["mass"] = Rcpp::NumericVector(found.mass.data(), found.mass.data() + found.mass.size()),
      Rcpp::_["stiffness"] = triplets_to_r(found.stiffness),
      Rcpp::_["squared"] = triplets_to_r(found.squared));
}

//' Which points (n x 2) are inside a polygon, a list of rings (V x 2) by the even-odd rule, or within `slack`
//' of its boundary?
//' @noRd
// [[Rcpp::export(rng = false)]]
std::vector<bool> inside_rings(Rcpp::NumericMatrix points, Rcpp::List rings, double slack) {
  return galvi::inside(coordinates(points), rings_from_r(rings), slack);
}

//' Integrals over a polygon of the hat functions of a mesh
//' @return L numbers, that add up to the area which the mesh covers of it.
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector hat_integrals(Rcpp::NumericMatrix nodes, Rcpp::IntegerMatrix triangles,
                                  Rcpp::List rings) {
  const galvi::Vector found =
      galvi::hat_integrals(coordinates(nodes), corners(triangles, nodes.nrow()), rings_from_r(rings));
  return Rcpp::NumericVector(found.data(), found.data() + found.size());
}
