//! What is asked about images, of which there are none. What would make or use one is in `gaps`.

use std::ptr::null_mut;

use super::cl::*;

#[test]
fn no_formats() {
    let setup = Setup::new();
    let c = setup.context;
    let mut count = 9;
    let flags = [0, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE | CL_MEM_KERNEL_READ_AND_WRITE, CL_MEM_KERNEL_READ_AND_WRITE];
    for (flags, ty) in flags
        .into_iter()
        .flat_map(|flags| (CL_MEM_OBJECT_IMAGE2D..=CL_MEM_OBJECT_IMAGE1D_BUFFER).map(move |ty| (flags, ty)))
    {
        assert_eq!(clGetSupportedImageFormats(c, flags, ty, 0, null_mut(), &mut count), CL_SUCCESS);
        assert_eq!(count, 0);
    }
    let flags = CL_MEM_READ_ONLY;
    let ty = CL_MEM_OBJECT_IMAGE2D;
    assert_eq!(clGetSupportedImageFormats(null_mut(), flags, ty, 0, null_mut(), &mut count), CL_INVALID_CONTEXT);
    for bad in [1 << 40, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY] {
        assert_eq!(clGetSupportedImageFormats(c, bad, ty, 0, null_mut(), &mut count), CL_INVALID_VALUE);
    }
    for bad in [0, CL_MEM_OBJECT_BUFFER, CL_MEM_OBJECT_PIPE] {
        assert_eq!(clGetSupportedImageFormats(c, flags, bad, 0, null_mut(), &mut count), CL_INVALID_VALUE);
    }
    let formats = (&raw mut count).cast();
    assert_eq!(clGetSupportedImageFormats(c, flags, ty, 0, formats, null_mut()), CL_INVALID_VALUE);
}
