/* A layer of the OpenCL loader that measures how long program builds take, in any application.
 *
 * Each build appends its seconds as a line to the file that CLIFT_APP_BUILD_TIMES names. A build with a callback takes until
 * the callback is called. What drivers put off until a kernel is created or enqueued is not seen.
 */
#include <CL/cl_layer.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct _cl_icd_dispatch *target;
static struct _cl_icd_dispatch layer;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void report(double started) {
    const char *path = getenv("CLIFT_APP_BUILD_TIMES");
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
    if (file < 0)
        return;
    char line[32];
    int length = snprintf(line, sizeof line, "%.6f\n", now() - started);
    ssize_t written = write(file, line, (size_t)length);
    (void)written;
    close(file);
}

typedef void(CL_CALLBACK *Notify)(cl_program, void *);

/* A callback of the application, and when its build began. */
struct Pending {
    Notify notify;
    void *data;
    double started;
};

static void CL_CALLBACK finished(cl_program program, void *data) {
    struct Pending pending = *(struct Pending *)data;
    free(data);
    report(pending.started);
    pending.notify(program, pending.data);
}

/* Puts ours in place of the application's callback, if it has one. */
static struct Pending *hook(Notify *notify, void **data, double started) {
    struct Pending *pending = *notify ? malloc(sizeof *pending) : NULL;
    if (pending) {
        *pending = (struct Pending){*notify, *data, started};
        *notify = finished;
        *data = pending;
    }
    return pending;
}

/* The end of a call: a build without a callback is over, one that was refused will not call back. */
static void returned(struct Pending *pending, double started, cl_int error) {
    if (!pending)
        report(started);
    else if (error == CL_INVALID_VALUE || error == CL_INVALID_PROGRAM || error == CL_INVALID_DEVICE)
        free(pending);
}

static cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                                Notify notify, void *data) {
    double started = now();
    struct Pending *pending = hook(&notify, &data, started);
    cl_int error = target->clBuildProgram(program, count, devices, options, notify, data);
    returned(pending, started, error);
    return error;
}

static cl_int CL_API_CALL compile(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                                  cl_uint headers, const cl_program *programs, const char **names, Notify notify, void *data) {
    double started = now();
    struct Pending *pending = hook(&notify, &data, started);
    cl_int error = target->clCompileProgram(program, count, devices, options, headers, programs, names, notify, data);
    returned(pending, started, error);
    return error;
}

static cl_program CL_API_CALL link_program(cl_context context, cl_uint count, const cl_device_id *devices, const char *options,
                                           cl_uint inputs, const cl_program *programs, Notify notify, void *data,
                                           cl_int *error) {
    double started = now();
    struct Pending *pending = hook(&notify, &data, started);
    cl_program program = target->clLinkProgram(context, count, devices, options, inputs, programs, notify, data, error);
    returned(pending, started, program ? CL_SUCCESS : CL_INVALID_VALUE);
    return program;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    static const char layer_name[] = "build time";
    const void *answer = name == CL_LAYER_API_VERSION ? (const void *)&version : layer_name;
    size_t length = name == CL_LAYER_API_VERSION ? sizeof version : sizeof layer_name;
    if (name != CL_LAYER_API_VERSION && name != CL_LAYER_NAME)
        return CL_INVALID_VALUE;
    if (value && size < length)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, answer, length);
    if (size_ret)
        *size_ret = length;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const struct _cl_icd_dispatch *next, cl_uint *entries_ret,
                                            const struct _cl_icd_dispatch **ret) {
    const cl_uint all = sizeof layer / sizeof layer.clGetPlatformIDs;
    target = next;
    memcpy(&layer, next, (entries < all ? entries : all) * sizeof layer.clGetPlatformIDs);
    layer.clBuildProgram = build;
    layer.clCompileProgram = compile;
    layer.clLinkProgram = link_program;
    *entries_ret = entries < all ? entries : all;
    *ret = &layer;
    return CL_SUCCESS;
}
