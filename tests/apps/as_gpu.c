/* A layer of the OpenCL loader that shows every device as a GPU too: for programs that take no other kind. */
#include <CL/cl_layer.h>

#include <string.h>

static const struct _cl_icd_dispatch *target;
static struct _cl_icd_dispatch layer;

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint entries, cl_device_id *devices,
                                         cl_uint *count) {
    if (type & CL_DEVICE_TYPE_GPU)
        type |= CL_DEVICE_TYPE_CPU;
    return target->clGetDeviceIDs(platform, type, entries, devices, count);
}

static cl_context CL_API_CALL create_context_from_type(const cl_context_properties *properties, cl_device_type type,
                                                       void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                                       void *data, cl_int *error) {
    if (type & CL_DEVICE_TYPE_GPU)
        type |= CL_DEVICE_TYPE_CPU;
    return target->clCreateContextFromType(properties, type, notify, data, error);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size, void *value, size_t *needed) {
    cl_int error = target->clGetDeviceInfo(device, name, size, value, needed);
    if (error == CL_SUCCESS && name == CL_DEVICE_TYPE && value)
        *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
    return error;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *needed) {
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (name != CL_LAYER_API_VERSION || (value && size < sizeof version))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (needed)
        *needed = sizeof version;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const struct _cl_icd_dispatch *next, cl_uint *own_count,
                                            const struct _cl_icd_dispatch **own) {
    if (count > sizeof layer / sizeof(void *) || !own_count || !own)
        return CL_INVALID_VALUE;
    target = next;
    memcpy(&layer, next, count * sizeof(void *));
    layer.clGetDeviceIDs = get_device_ids;
    layer.clCreateContextFromType = create_context_from_type;
    layer.clGetDeviceInfo = get_device_info;
    *own_count = count;
    *own = &layer;
    return CL_SUCCESS;
}
