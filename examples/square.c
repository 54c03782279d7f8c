/* Squares numbers on the CPU: cc square.c -lOpenCL -o square && ./square */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 1000

static const char *source =
    "kernel void square(global const float *in, global float *out) {\n"
    "    size_t i = get_global_id(0);\n"
    "    out[i] = in[i] * in[i];\n"
    "}\n";

static void check(cl_int status, const char *call) {
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: error %d\n", call, status);
        exit(EXIT_FAILURE);
    }
}

/* The device of the platform named Clift. */
static cl_device_id find_device(void) {
    cl_platform_id platforms[16];
    cl_uint count;
    check(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs");
    for (cl_uint i = 0; i < count && i < 16; i++) {
        char name[64] = "";
        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
        if (strcmp(name, "Clift") == 0) {
            cl_device_id device;
            check(clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL), "clGetDeviceIDs");
            return device;
        }
    }
    fprintf(stderr, "there is no platform named Clift; clift-info says why\n");
    exit(EXIT_FAILURE);
}

int main(void) {
    float values[COUNT], squares[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i;

    cl_int status;
    cl_device_id device = find_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    check(status, "clCreateCommandQueueWithProperties");
    cl_mem in = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof values, values, &status);
    check(status, "clCreateBuffer");
    cl_mem out = clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof squares, NULL, &status);
    check(status, "clCreateBuffer");

    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) {
        char log[4096];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s\n", log);
        return EXIT_FAILURE;
    }
    cl_kernel kernel = clCreateKernel(program, "square", &status);
    check(status, "clCreateKernel");
    check(clSetKernelArg(kernel, 0, sizeof in, &in), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof out, &out), "clSetKernelArg");
    size_t global = COUNT;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof squares, squares, 0, NULL, NULL), "clEnqueueReadBuffer");

    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += squares[i];
    printf("the sum of the squares is %.1f\n", sum);

    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseMemObject(out);
    clReleaseMemObject(in);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return EXIT_SUCCESS;
}
