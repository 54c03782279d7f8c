// Operations of ViennaCL on the device and in main memory, compared.
#define VIENNACL_WITH_OPENCL
#include <viennacl/compressed_matrix.hpp>
#include <viennacl/coordinate_matrix.hpp>
#include <viennacl/ell_matrix.hpp>
#include <viennacl/hyb_matrix.hpp>
#include <viennacl/linalg/bicgstab.hpp>
#include <viennacl/linalg/cg.hpp>
#include <viennacl/linalg/direct_solve.hpp>
#include <viennacl/linalg/gmres.hpp>
#include <viennacl/linalg/inner_prod.hpp>
#include <viennacl/linalg/lu.hpp>
#include <viennacl/linalg/norm_1.hpp>
#include <viennacl/linalg/norm_2.hpp>
#include <viennacl/linalg/norm_inf.hpp>
#include <viennacl/linalg/prod.hpp>
#include <viennacl/matrix.hpp>
#include <viennacl/sliced_ell_matrix.hpp>
#include <viennacl/vector.hpp>

#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <vector>

using viennacl::context;
namespace linalg = viennacl::linalg;

static std::mt19937 generator(7);

template <typename T> std::vector<T> numbers(size_t count) {
    std::uniform_real_distribution<double> uniform(0.5, 1.5);
    std::vector<T> all(count);
    for (T &one : all)
        one = static_cast<T>(uniform(generator));
    return all;
}

template <typename T> viennacl::vector<T> vector(const std::vector<T> &from, context where, size_t count = 0) {
    viennacl::vector<T> to(count ? count : from.size(), where);
    viennacl::copy(from.begin(), from.begin() + to.size(), to.begin());
    return to;
}

template <typename T> std::vector<double> values(const viennacl::vector<T> &from) {
    std::vector<T> to(from.size());
    viennacl::copy(from, to);
    return std::vector<double>(to.begin(), to.end());
}

template <typename T, typename L>
viennacl::matrix<T, L> matrix(const std::vector<T> &from, size_t rows, size_t columns, context where, double diagonal = 0) {
    std::vector<std::vector<T>> lists(rows, std::vector<T>(columns));
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            lists[i][j] = from[i * columns + j] + static_cast<T>(i == j ? diagonal : 0);
    viennacl::matrix<T, L> to(rows, columns, where);
    viennacl::copy(lists, to);
    return to;
}

template <typename T, typename L> std::vector<double> values(const viennacl::matrix<T, L> &from) {
    std::vector<std::vector<T>> lists(from.size1(), std::vector<T>(from.size2()));
    viennacl::copy(from, lists);
    std::vector<double> all;
    for (const auto &list : lists)
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

static void compare(const std::string &name, double tolerance, std::function<std::vector<double>(context)> operation) {
    std::cout << "case " << name;
    try {
        auto expected = operation(context(viennacl::MAIN_MEMORY)), got = operation(context(viennacl::ocl::current_context()));
        double scale = 0, worst = 0;
        for (double value : expected)
            scale = std::max(scale, std::abs(value));
        for (size_t i = 0; i < expected.size(); i++)
            worst = std::max(worst, std::isfinite(got.at(i)) ? std::abs(got[i] - expected[i]) : INFINITY);
        if (worst <= tolerance * scale)
            std::cout << " ok" << std::endl;
        else
            std::cout << " failed: differs by " << worst / scale << std::endl;
    } catch (const std::exception &error) {
        std::cout << " failed: " << std::string(error.what()).substr(0, 200) << std::endl;
    }
}

template <typename T> void vectors(const std::string &kind, double tolerance) {
    for (size_t size : {1, 77, 10000}) {
        auto a = numbers<T>(size), b = numbers<T>(size);
        std::string prefix = kind + ", " + std::to_string(size) + ": ";
        compare(prefix + "sums", tolerance, [=](context where) {
            auto x = vector(a, where), y = vector(b, where);
            x = T(2) * x - y / T(3);
            x += T(0.25) * y;
            return values(x);
        });
        compare(prefix + "element functions", tolerance, [=](context where) {
            auto x = vector(a, where), y = vector(b, where);
            x = linalg::element_exp(x);
            y = linalg::element_sqrt(y);
            x = linalg::element_prod(x, y);
            y = linalg::element_sin(y);
            x = linalg::element_div(x, y);
            x = linalg::element_pow(x, y);
            y = linalg::element_tanh(x);
            x = linalg::element_log(x);
            x += y;
            return values(x);
        });
        compare(prefix + "reductions", tolerance, [=](context where) {
            auto x = vector(a, where), y = vector(b, where);
            T inner = linalg::inner_prod(x, y), one = linalg::norm_1(x), two = linalg::norm_2(x), most = linalg::norm_inf(x);
            return std::vector<double>{double(inner), double(one), double(two), double(most)};
        });
        compare(prefix + "rotation and exchange", tolerance, [=](context where) {
            auto x = vector(a, where), y = vector(b, where);
            linalg::plane_rotation(x, y, T(0.6), T(0.8));
            viennacl::swap(x, y);
            return values(x);
        });
    }
}

template <typename T, typename L> void dense(const std::string &kind, double tolerance) {
    for (size_t size : {5, 64, 131}) {
        size_t columns = size + 3, inner = size + 14;
        auto a = numbers<T>(size * inner), b = numbers<T>(inner * columns), v = numbers<T>(inner), square = numbers<T>(size * size);
        std::string prefix = kind + ", " + std::to_string(size) + ": ";
        compare(prefix + "matrix and vector", tolerance, [=](context where) {
            auto m = matrix<T, L>(a, size, inner, where);
            auto x = vector(v, where);
            viennacl::vector<T> y = linalg::prod(m, x);
            viennacl::vector<T> z = linalg::prod(viennacl::trans(m), y);
            return values(z);
        });
        compare(prefix + "rank one", tolerance, [=](context where) {
            auto m = matrix<T, L>(square, size, size, where);
            auto x = vector(v, where, size);
            m += T(0.5) * linalg::outer_prod(x, x);
            return values(m);
        });
        compare(prefix + "products", tolerance, [=](context where) {
            auto left = matrix<T, L>(a, size, inner, where), right = matrix<T, L>(b, inner, columns, where);
            viennacl::matrix<T, L> c = linalg::prod(left, right), d = linalg::prod(left, viennacl::trans(left));
            viennacl::matrix<T, L> e = linalg::prod(viennacl::trans(right), right), f = linalg::prod(d, c);
            f += linalg::prod(c, e);
            return values(f);
        });
        compare(prefix + "triangular solvers", tolerance * 50, [=](context where) {
            auto m = matrix<T, L>(square, size, size, where, 2.0 * size);
            auto x = vector(v, where, size);
            linalg::inplace_solve(m, x, linalg::upper_tag());
            linalg::inplace_solve(m, x, linalg::unit_lower_tag());
            return values(x);
        });
        compare(prefix + "LU", tolerance * 50, [=](context where) {
            auto m = matrix<T, L>(square, size, size, where, 2.0 * size);
            auto x = vector(v, where, size);
            linalg::lu_factorize(m);
            linalg::lu_substitute(m, x);
            return values(x);
        });
    }
}

// A Laplacian of a grid, with advection.
template <typename T> std::vector<std::map<unsigned, T>> grid(unsigned side, double advection) {
    std::vector<std::map<unsigned, T>> rows(side * side);
    for (unsigned i = 0; i < side * side; i++) {
        rows[i][i] = T(4.5);
        if (i % side)
            rows[i][i - 1] = T(-1 - advection);
        if (i % side + 1 < side)
            rows[i][i + 1] = T(-1 + advection);
        if (i >= side)
            rows[i][i - side] = T(-1);
        if (i + side < side * side)
            rows[i][i + side] = T(-1);
    }
    return rows;
}

template <typename T, typename M> void product(const std::string &name, double tolerance) {
    auto rows = grid<T>(40, 0.2);
    auto v = numbers<T>(rows.size());
    compare(name, tolerance, [=](context where) {
        M m(where);
        viennacl::copy(rows, m);
        auto x = vector(v, where);
        viennacl::vector<T> y = linalg::prod(m, x);
        return values(y);
    });
}

template <typename T, typename G> void solved(const std::string &name, double tolerance, double advection, G tag) {
    auto rows = grid<T>(30, advection);
    auto v = numbers<T>(rows.size());
    compare(name, tolerance, [=](context where) {
        viennacl::compressed_matrix<T> m(where);
        viennacl::copy(rows, m);
        auto x = vector(v, where);
        viennacl::vector<T> y = linalg::solve(m, x, tag);
        return values(y);
    });
}

template <typename T> void sparse(const std::string &kind, double tolerance) {
    product<T, viennacl::compressed_matrix<T>>(kind + ": compressed", tolerance);
    product<T, viennacl::coordinate_matrix<T>>(kind + ": coordinates", tolerance);
    product<T, viennacl::ell_matrix<T>>(kind + ": ELL", tolerance);
    product<T, viennacl::sliced_ell_matrix<T>>(kind + ": sliced ELL", tolerance);
    product<T, viennacl::hyb_matrix<T>>(kind + ": hybrid", tolerance);
    double goal = tolerance * 10, within = tolerance * 2000;
    solved<T>(kind + ": conjugate gradients", within, 0, linalg::cg_tag(goal, 300));
    solved<T>(kind + ": BiCGStab", within, 0.2, linalg::bicgstab_tag(goal, 300));
    solved<T>(kind + ": GMRES", within, 0.2, linalg::gmres_tag(goal, 300, 20));
}

int main() {
    viennacl::ocl::set_context_device_type(0, viennacl::ocl::default_tag());
    vectors<float>("float", 1e-5);
    vectors<double>("double", 1e-12);
    dense<float, viennacl::row_major>("float, rows", 1e-5);
    dense<double, viennacl::row_major>("double, rows", 1e-13);
    dense<float, viennacl::column_major>("float, columns", 1e-5);
    dense<double, viennacl::column_major>("double, columns", 1e-13);
    sparse<float>("float", 1e-6);
    sparse<double>("double", 1e-14);
}
