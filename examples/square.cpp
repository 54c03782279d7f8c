// Squares numbers on the CPU: c++ square.cpp -lOpenCL -o square && ./square
#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_TARGET_OPENCL_VERSION 300
#include <CL/opencl.hpp>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <vector>

static const char *source = R"(
    kernel void square(global const float *in, global float *out) {
        size_t i = get_global_id(0);
        out[i] = in[i] * in[i];
    }
)";

// The device of the platform named Clift.
static cl::Device find_device() {
    std::vector<cl::Platform> platforms;
    cl::Platform::get(&platforms);
    for (const cl::Platform &platform : platforms) {
        if (platform.getInfo<CL_PLATFORM_NAME>() == "Clift") {
            std::vector<cl::Device> devices;
            platform.getDevices(CL_DEVICE_TYPE_CPU, &devices);
            return devices.at(0);
        }
    }
    throw std::runtime_error("there is no platform named Clift; clift-info says why");
}

int main() try {
    std::vector<float> values(1000), squares(values.size());
    std::iota(values.begin(), values.end(), 0.0f);

    cl::Device device = find_device();
    cl::Context context(device);
    cl::CommandQueue queue(context, device);
    cl::Buffer in(context, values.begin(), values.end(), true);
    cl::Buffer out(context, CL_MEM_WRITE_ONLY, squares.size() * sizeof(float));

    cl::Program program(context, source, true);
    cl::KernelFunctor<cl::Buffer, cl::Buffer> square(program, "square");
    square(cl::EnqueueArgs(queue, cl::NDRange(values.size())), in, out);
    cl::copy(queue, out, squares.begin(), squares.end());

    std::printf("the sum of the squares is %.1f\n", std::accumulate(squares.begin(), squares.end(), 0.0));
} catch (const cl::BuildError &error) {
    for (const auto &entry : error.getBuildLog())
        std::fprintf(stderr, "%s\n", entry.second.c_str());
    return 1;
} catch (const cl::Error &error) {
    std::fprintf(stderr, "%s: error %d\n", error.what(), error.err());
    return 1;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
