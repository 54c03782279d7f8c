// What programs do through the C++ bindings, each result compared with the same computed here.
#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_TARGET_OPENCL_VERSION 300
#define CL_HPP_MINIMUM_OPENCL_VERSION 200
#include <CL/opencl.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

static const size_t COUNT = 1000;

static void expect(bool right, const std::string &what) {
    if (!right)
        throw std::runtime_error(what);
}

static void check(const std::string &name, const std::function<void()> &body) {
    std::string reason;
    try {
        body();
    } catch (const cl::BuildError &error) {
        reason = std::string(error.what()) + ": " + error.getBuildLog().at(0).second;
    } catch (const cl::Error &error) {
        reason = std::string(error.what()) + ": " + std::to_string(error.err());
    } catch (const std::exception &error) {
        reason = error.what();
    }
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    std::cout << "case " << name << (reason.empty() ? " ok" : " failed: " + reason) << std::endl;
}

static std::vector<int> counted(int first) {
    std::vector<int> numbers(COUNT);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

static const std::string SOURCE = R"(
kernel void add(global const int *a, global const int *b, global int *c, int scale) {
    size_t i = get_global_id(0);
    c[i] = a[i] + scale * b[i];
}
kernel void sum(global const int *a, global int *total, local int *scratch) {
    size_t l = get_local_id(0);
    scratch[l] = a[get_global_id(0)];
    for (size_t n = get_local_size(0) / 2; n; n /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < n) scratch[l] += scratch[l + n];
    }
    if (l == 0) atomic_add(total, scratch[0]);
}
kernel void where(global ulong *out) {
    size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0) - get_global_offset(0);
    out[i] = get_global_id(0) * 1000 + get_global_id(1);
}
typedef struct { float4 place; int count; } item;
kernel void structures(global item *items, item by) {
    size_t i = get_global_id(0);
    items[i].place += by.place * i;
    items[i].count -= by.count;
}
kernel void flip(read_only image2d_t in, write_only image2d_t out, sampler_t how) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(out, at, read_imageui(in, how, get_image_dim(in) - 1 - at));
}
)";

struct Item {
    cl_float4 place;
    cl_int count;
    cl_int unused[3];
};

int main() {
    cl::Device device = cl::Device::getDefault();
    cl::Context context = cl::Context::getDefault();
    cl::CommandQueue queue = cl::CommandQueue::getDefault();
    cl::Program program(SOURCE);

    check("platform and device queries", [&] {
        std::vector<cl::Platform> platforms;
        cl::Platform::get(&platforms);
        expect(platforms.size() == 1 && !platforms[0].getInfo<CL_PLATFORM_NAME>().empty(), "platforms");
        std::vector<cl::Device> devices;
        platforms[0].getDevices(CL_DEVICE_TYPE_ALL, &devices);
        expect(!devices.empty() && devices[0] == device, "devices");
        expect(device.getInfo<CL_DEVICE_MAX_WORK_ITEM_SIZES>().size() == device.getInfo<CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS>(),
               "sizes of dimensions");
        expect(device.getInfo<CL_DEVICE_VERSION>().rfind("OpenCL ", 0) == 0, "version");
        auto devices_of_context = context.getInfo<CL_CONTEXT_DEVICES>();
        expect(devices_of_context.size() == 1 && devices_of_context[0]() == device(), "devices of the context");
    });
    check("build", [&] {
        program.build("-cl-std=CL1.2 -cl-kernel-arg-info");
        expect(program.getBuildInfo<CL_PROGRAM_BUILD_STATUS>(device) == CL_BUILD_SUCCESS, "status");
        expect(program.getInfo<CL_PROGRAM_NUM_KERNELS>() == 5, "number of kernels");
        std::vector<cl::Kernel> kernels;
        program.createKernels(&kernels);
        expect(kernels.size() == 5, "kernels");
        cl::Kernel add(program, "add");
        expect(add.getInfo<CL_KERNEL_FUNCTION_NAME>() == "add" && add.getInfo<CL_KERNEL_NUM_ARGS>() == 4, "kernel");
        expect(add.getArgInfo<CL_KERNEL_ARG_NAME>(3) == "scale", "name of an argument");
        expect(add.getArgInfo<CL_KERNEL_ARG_TYPE_NAME>(0) == "int*", "type of an argument");
    });
    check("functor", [&] {
        auto a = counted(0), b = counted(7), c = std::vector<int>(COUNT);
        cl::Buffer x(a.begin(), a.end(), true), y(b.begin(), b.end(), true), z(CL_MEM_READ_WRITE, COUNT * sizeof(int));
        cl::KernelFunctor<cl::Buffer, cl::Buffer, cl::Buffer, int> add(program, "add");
        cl::Event done = add(cl::EnqueueArgs(cl::NDRange(COUNT)), x, y, z, 3);
        done.wait();
        expect(done.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() == CL_COMPLETE, "status");
        cl::copy(z, c.begin(), c.end());
        for (size_t i = 0; i < COUNT; ++i)
            expect(c[i] == a[i] + 3 * b[i], "element " + std::to_string(i));
    });
    check("local memory and atomics", [&] {
        std::vector<int> a = counted(1);
        a.resize(1024);
        int total = 0;
        cl::Buffer x(a.begin(), a.end(), true), t(queue, &total, &total + 1, false);
        cl::KernelFunctor<cl::Buffer, cl::Buffer, cl::LocalSpaceArg> sum(program, "sum");
        sum(cl::EnqueueArgs(cl::NDRange(1024), cl::NDRange(64)), x, t, cl::Local(64 * sizeof(int)));
        queue.enqueueReadBuffer(t, CL_TRUE, 0, sizeof total, &total);
        expect(total == COUNT * (COUNT + 1) / 2, std::to_string(total));
    });
    check("offset and two dimensions", [&] {
        std::vector<cl_ulong> out(12 * 5);
        cl::Buffer x(CL_MEM_WRITE_ONLY, out.size() * sizeof(cl_ulong));
        cl::KernelFunctor<cl::Buffer> where(program, "where");
        where(cl::EnqueueArgs(cl::NDRange(100, 0), cl::NDRange(12, 5), cl::NDRange(4, 5)), x);
        cl::copy(x, out.begin(), out.end());
        for (size_t i = 0; i < out.size(); ++i)
            expect(out[i] == (100 + i % 12) * 1000 + i / 12, "item " + std::to_string(i));
    });
    check("structures", [&] {
        std::vector<Item> items(50, Item{{{1, 2, 3, 4}}, 9, {}});
        Item by = {{{0.5, 1, 2, 4}}, 4, {}};
        cl::Buffer x(items.begin(), items.end(), false);
        cl::KernelFunctor<cl::Buffer, Item>(program, "structures")(cl::EnqueueArgs(cl::NDRange(items.size())), x, by);
        cl::copy(x, items.begin(), items.end());
        for (size_t i = 0; i < items.size(); ++i)
            for (int k = 0; k < 4; ++k)
                expect(items[i].place.s[k] == 1 + k + by.place.s[k] * i && items[i].count == 5, "item " + std::to_string(i));
    });
    check("sub-buffers, fills and rectangles", [&] {
        const size_t align = device.getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8;
        std::vector<unsigned char> bytes(4 * align), corner(4 * 4);
        cl::Buffer whole(CL_MEM_READ_WRITE, bytes.size());
        cl_buffer_region region = {align, align};
        cl::Buffer part = whole.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region);
        queue.enqueueFillBuffer(whole, cl_uchar(1), 0, bytes.size());
        queue.enqueueFillBuffer(part, cl_uchar(2), 0, align);
        queue.enqueueReadBuffer(whole, CL_TRUE, 0, bytes.size(), bytes.data());
        for (size_t i = 0; i < bytes.size(); ++i)
            expect(bytes[i] == (i / align == 1 ? 2 : 1), "byte " + std::to_string(i));
        queue.enqueueReadBufferRect(whole, CL_TRUE, {align - 2, 0, 0}, {0, 0, 0}, {4, 4, 1}, 8, 0, 4, 0, corner.data());
        for (int i = 0; i < 16; ++i)
            expect(corner[i] == (i / 4 * 8 + i % 4 >= 2 ? 2 : 1) || align < 32, "byte of the rectangle");
    });
    check("mapping and user events", [&] {
        cl::Buffer x(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, COUNT * sizeof(int));
        cl::UserEvent start(context);
        std::vector<cl::Event> first = {start};
        cl::Event mapped;
        int *at = static_cast<int *>(queue.enqueueMapBuffer(x, CL_FALSE, CL_MAP_WRITE, 0, COUNT * sizeof(int), &first, &mapped));
        expect(mapped.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() > CL_RUNNING, "it does not wait");
        std::atomic<int> called{0};
        mapped.setCallback(CL_COMPLETE, [](cl_event, cl_int, void *count) { ++*static_cast<std::atomic<int> *>(count); }, &called);
        start.setStatus(CL_COMPLETE);
        mapped.wait();
        std::iota(at, at + COUNT, 5);
        queue.enqueueUnmapMemObject(x, at);
        std::vector<int> back(COUNT);
        cl::copy(x, back.begin(), back.end());
        expect(back == counted(5), "values");
        for (int i = 0; i < 1000 && !called; ++i)
            queue.finish();
        while (!called)
            ;
    });
    check("shared virtual memory", [&] {
        if (!(device.getInfo<CL_DEVICE_SVM_CAPABILITIES>() & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
            return;
        cl::SVMAllocator<int, cl::SVMTraitCoarse<>> allocator;
        std::vector<int, decltype(allocator)> a(COUNT, 1, allocator), b(COUNT, 2, allocator), c(COUNT, 0, allocator);
        for (auto *v : {&a, &b, &c})
            cl::enqueueUnmapSVM(*v);
        cl::KernelFunctor<int *, int *, int *, int> add(program, "add");
        add(cl::EnqueueArgs(cl::NDRange(COUNT)), a.data(), b.data(), c.data(), 20);
        for (auto *v : {&a, &b, &c})
            cl::enqueueMapSVM(*v, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE);
        expect(c == std::vector<int, decltype(allocator)>(COUNT, 41, allocator), "values");
    });
    check("images and samplers", [&] {
        const size_t wide = 31, high = 9;
        cl::ImageFormat format(CL_RGBA, CL_UNSIGNED_INT8);
        std::vector<cl_uchar4> pixels(wide * high), back(wide * high);
        for (size_t i = 0; i < pixels.size(); ++i)
            pixels[i] = {{cl_uchar(i), cl_uchar(i >> 8), 7, cl_uchar(3 * i)}};
        cl::Image2D in(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, format, wide, high, 0, pixels.data());
        cl::Image2D out(context, CL_MEM_WRITE_ONLY, format, wide, high);
        cl::Sampler sampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST);
        cl::KernelFunctor<cl::Image2D, cl::Image2D, cl::Sampler> flip(program, "flip");
        flip(cl::EnqueueArgs(cl::NDRange(wide, high)), in, out, sampler);
        queue.enqueueReadImage(out, CL_TRUE, {0, 0, 0}, {wide, high, 1}, 0, 0, back.data());
        for (size_t i = 0; i < pixels.size(); ++i)
            for (int k = 0; k < 4; ++k)
                expect(back[i].s[k] == pixels[pixels.size() - 1 - i].s[k], "pixel " + std::to_string(i));
    });
    check("binaries", [&] {
        cl::Program again(context, {device}, program.getInfo<CL_PROGRAM_BINARIES>());
        again.build();
        auto a = counted(0), c = std::vector<int>(COUNT);
        cl::Buffer x(a.begin(), a.end(), true), z(CL_MEM_READ_WRITE, COUNT * sizeof(int));
        cl::KernelFunctor<cl::Buffer, cl::Buffer, cl::Buffer, int>(again, "add")(cl::EnqueueArgs(cl::NDRange(COUNT)), x, x, z, 1);
        cl::copy(z, c.begin(), c.end());
        for (size_t i = 0; i < COUNT; ++i)
            expect(c[i] == 2 * a[i], "element " + std::to_string(i));
    });
    check("compilation and linking", [&] {
        cl::Program one("int twice(int x) { return 2 * x; }"), two("int twice(int); kernel void k(global int *a) { a[get_global_id(0)] = twice(get_global_id(0)); }");
        one.compile();
        two.compile();
        cl::Program both = cl::linkProgram(one, two);
        std::vector<int> a(COUNT);
        cl::Buffer x(CL_MEM_READ_WRITE, COUNT * sizeof(int));
        cl::KernelFunctor<cl::Buffer>(both, "k")(cl::EnqueueArgs(cl::NDRange(COUNT)), x);
        cl::copy(x, a.begin(), a.end());
        for (size_t i = 0; i < COUNT; ++i)
            expect(a[i] == int(2 * i), "element " + std::to_string(i));
    });
    check("errors", [&] {
        try {
            cl::Program("kernel void broken(global int *a) { a[0] = nowhere; }").build();
            expect(false, "it was built");
        } catch (const cl::BuildError &error) {
            expect(error.err() == CL_BUILD_PROGRAM_FAILURE, "error code");
            expect(error.getBuildLog().at(0).second.find("nowhere") != std::string::npos, "build log");
        }
        try {
            cl::Kernel missing(program, "missing");
            expect(false, "it was created");
        } catch (const cl::Error &error) {
            expect(error.err() == CL_INVALID_KERNEL_NAME && std::string(error.what()) == "clCreateKernel", error.what());
        }
    });
    check("profiling", [&] {
        cl::CommandQueue timed(context, device, cl::QueueProperties::Profiling);
        cl::Buffer x(CL_MEM_READ_WRITE, COUNT);
        cl::Event event;
        timed.enqueueFillBuffer(x, 0, 0, COUNT, nullptr, &event);
        event.wait();
        auto queued = event.getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>(), start = event.getProfilingInfo<CL_PROFILING_COMMAND_START>();
        expect(queued <= start && start <= event.getProfilingInfo<CL_PROFILING_COMMAND_END>(), "order of times");
    });
    return 0;
}
