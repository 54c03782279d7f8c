//! The error type of the OpenCL API: one variant per error code of the specification.
//!
//! An entry point returns [`ClResult`], and its stub converts the error to the code that the application sees. Reasons in prose
//! belong in the trace (`CLIFT_DEBUG=api`) and in the rule above the check, so an error is only a code.

use clift_include::cl;
use clift_include::cl::cl_int;
use clift_runtime::geometry::SizeError;

/// Result of an entry point.
pub type ClResult<T> = Result<T, ClError>;

macro_rules! cl_errors {
    ($($variant:ident = $code:ident,)*) => {
        /// An error code of the OpenCL API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum ClError {
            $(#[doc = concat!("`", stringify!($code), "`")] $variant = cl::$code,)*
        }

        impl ClError {
            /// All errors, in the order of the header.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The number in C.
            pub const fn code(self) -> cl_int {
                self as cl_int
            }

            /// The constant's name in the OpenCL header.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($code),)*
                }
            }
        }
    };
}

cl_errors! {
    DeviceNotFound = CL_DEVICE_NOT_FOUND,
    DeviceNotAvailable = CL_DEVICE_NOT_AVAILABLE,
    CompilerNotAvailable = CL_COMPILER_NOT_AVAILABLE,
    MemObjectAllocationFailure = CL_MEM_OBJECT_ALLOCATION_FAILURE,
    OutOfResources = CL_OUT_OF_RESOURCES,
    OutOfHostMemory = CL_OUT_OF_HOST_MEMORY,
    ProfilingInfoNotAvailable = CL_PROFILING_INFO_NOT_AVAILABLE,
    MemCopyOverlap = CL_MEM_COPY_OVERLAP,
    ImageFormatMismatch = CL_IMAGE_FORMAT_MISMATCH,
    ImageFormatNotSupported = CL_IMAGE_FORMAT_NOT_SUPPORTED,
    BuildProgramFailure = CL_BUILD_PROGRAM_FAILURE,
    MapFailure = CL_MAP_FAILURE,
    MisalignedSubBufferOffset = CL_MISALIGNED_SUB_BUFFER_OFFSET,
    ExecStatusErrorForEventsInWaitList = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
    CompileProgramFailure = CL_COMPILE_PROGRAM_FAILURE,
    LinkerNotAvailable = CL_LINKER_NOT_AVAILABLE,
    LinkProgramFailure = CL_LINK_PROGRAM_FAILURE,
    DevicePartitionFailed = CL_DEVICE_PARTITION_FAILED,
    KernelArgInfoNotAvailable = CL_KERNEL_ARG_INFO_NOT_AVAILABLE,
    InvalidValue = CL_INVALID_VALUE,
    InvalidDeviceType = CL_INVALID_DEVICE_TYPE,
    InvalidPlatform = CL_INVALID_PLATFORM,
    InvalidDevice = CL_INVALID_DEVICE,
    InvalidContext = CL_INVALID_CONTEXT,
    InvalidQueueProperties = CL_INVALID_QUEUE_PROPERTIES,
    InvalidCommandQueue = CL_INVALID_COMMAND_QUEUE,
    InvalidHostPtr = CL_INVALID_HOST_PTR,
    InvalidMemObject = CL_INVALID_MEM_OBJECT,
    InvalidImageFormatDescriptor = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR,
    InvalidImageSize = CL_INVALID_IMAGE_SIZE,
    InvalidSampler = CL_INVALID_SAMPLER,
    InvalidBinary = CL_INVALID_BINARY,
    InvalidBuildOptions = CL_INVALID_BUILD_OPTIONS,
    InvalidProgram = CL_INVALID_PROGRAM,
    InvalidProgramExecutable = CL_INVALID_PROGRAM_EXECUTABLE,
    InvalidKernelName = CL_INVALID_KERNEL_NAME,
    InvalidKernelDefinition = CL_INVALID_KERNEL_DEFINITION,
    InvalidKernel = CL_INVALID_KERNEL,
    InvalidArgIndex = CL_INVALID_ARG_INDEX,
    InvalidArgValue = CL_INVALID_ARG_VALUE,
    InvalidArgSize = CL_INVALID_ARG_SIZE,
    InvalidKernelArgs = CL_INVALID_KERNEL_ARGS,
    InvalidWorkDimension = CL_INVALID_WORK_DIMENSION,
    InvalidWorkGroupSize = CL_INVALID_WORK_GROUP_SIZE,
    InvalidWorkItemSize = CL_INVALID_WORK_ITEM_SIZE,
    InvalidGlobalOffset = CL_INVALID_GLOBAL_OFFSET,
    InvalidEventWaitList = CL_INVALID_EVENT_WAIT_LIST,
    InvalidEvent = CL_INVALID_EVENT,
    InvalidOperation = CL_INVALID_OPERATION,
    InvalidGlObject = CL_INVALID_GL_OBJECT,
    InvalidBufferSize = CL_INVALID_BUFFER_SIZE,
    InvalidMipLevel = CL_INVALID_MIP_LEVEL,
    InvalidGlobalWorkSize = CL_INVALID_GLOBAL_WORK_SIZE,
    InvalidProperty = CL_INVALID_PROPERTY,
    InvalidImageDescriptor = CL_INVALID_IMAGE_DESCRIPTOR,
    InvalidCompilerOptions = CL_INVALID_COMPILER_OPTIONS,
    InvalidLinkerOptions = CL_INVALID_LINKER_OPTIONS,
    InvalidDevicePartitionCount = CL_INVALID_DEVICE_PARTITION_COUNT,
    InvalidPipeSize = CL_INVALID_PIPE_SIZE,
    InvalidDeviceQueue = CL_INVALID_DEVICE_QUEUE,
    InvalidSpecId = CL_INVALID_SPEC_ID,
    MaxSizeRestrictionExceeded = CL_MAX_SIZE_RESTRICTION_EXCEEDED,
    InvalidCommandBuffer = CL_INVALID_COMMAND_BUFFER_KHR,
    InvalidSyncPointWaitList = CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
    IncompatibleCommandQueue = CL_INCOMPATIBLE_COMMAND_QUEUE_KHR,
    InvalidMutableCommand = CL_INVALID_MUTABLE_COMMAND_KHR,
    ContextTerminated = CL_CONTEXT_TERMINATED_KHR,
    InvalidSemaphore = CL_INVALID_SEMAPHORE_KHR,
}

impl From<SizeError> for ClError {
    fn from(error: SizeError) -> Self {
        match error {
            SizeError::InvalidWorkDimension => ClError::InvalidWorkDimension,
            SizeError::InvalidGlobalOffset => ClError::InvalidGlobalOffset,
            SizeError::InvalidGlobalWorkSize => ClError::InvalidGlobalWorkSize,
            SizeError::InvalidWorkGroupSize => ClError::InvalidWorkGroupSize,
            SizeError::InvalidWorkItemSize => ClError::InvalidWorkItemSize,
        }
    }
}

impl From<std::collections::TryReserveError> for ClError {
    fn from(_: std::collections::TryReserveError) -> Self {
        Self::OutOfHostMemory
    }
}

/// `Err(error)` when a condition does not hold: the usual form of a check in `api/`.
pub fn ensure(holds: bool, error: ClError) -> ClResult<()> {
    if holds { Ok(()) } else { Err(error) }
}
