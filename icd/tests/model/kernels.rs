//! Kernels: their arguments, launches, and what they do to memory.

use std::ptr::{null, null_mut};

use arbtest::arbitrary::{Result, Unstructured};

use super::Violated;
use super::cl::*;
use super::contents::{Byte, Effect, Region};
use super::images::Image;
use super::world::{Detail, Handle, Kind, Memory, Place, VARIABLE, World};

/// The program, with kernels that use each kind of argument. `I` is the index of a work-item, for one to three dimensions.
pub(crate) const SOURCE: &str = "
#define I ((uint)((get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0)))
kernel void k(global int *p, uint n, local int *l, sampler_t s) { if (n == 77 && p && l) p[0] = n; }
kernel void add(global uint *p, uint n) {
    // So that a command that does not wait for this one comes too early.
    if (I % 8 == 0) for (volatile uint delay = n << 5; delay; delay--);
    p[I] += n + I;
}
kernel void combine(global const uint *a, global uint *b, uint n) { b[I] += a[I] * n; }
kernel void paint(write_only image2d_t t, uint4 c) {
    write_imageui(t, (int2)(get_global_id(0), get_global_id(1)), c + (uint4)(get_global_id(0), get_global_id(1), 0, 0));
}
kernel void texels(read_only image2d_t t, global uint4 *p) {
    p[I] = read_imageui(t, (int2)(get_global_id(0), get_global_id(1)));
}
global uint variable;
kernel void total(global uint *p, uint n) {
    if (I == 0) {
        variable = n & 1 ? n : variable + n;
        p[0] = variable;
    }
}
";

/// Options that the program is built with.
pub(crate) const OPTIONS: &std::ffi::CStr = c"-cl-std=CL3.0 -cl-uniform-work-group-size";

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parameter {
    Pointer,
    Number,
    Numbers,
    Local,
    Sampler,
    ReadImage,
    WriteImage,
}

/// The kernels, and their arguments.
const KERNELS: &[(&std::ffi::CStr, &[Parameter])] = {
    use Parameter::{Local, Number, Numbers, Pointer, ReadImage, Sampler, WriteImage};
    &[
        (c"k", &[Pointer, Number, Local, Sampler]),
        (c"add", &[Pointer, Number]),
        (c"combine", &[Pointer, Pointer, Number]),
        (c"paint", &[WriteImage, Numbers]),
        (c"texels", &[ReadImage, Pointer]),
        (c"total", &[Pointer, Number]),
    ]
};

/// Memory in an argument.
#[derive(Clone, Debug)]
pub(crate) struct ArgMemory {
    /// The number of the object, if it is one.
    object: Option<u64>,
    region: Region,
    flags: cl_mem_flags,
    image: Option<Image>,
}

/// What an argument has been set to.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    Unset,
    /// A value that the effects of kernels do not depend on.
    Set,
    Numbers([u32; 4]),
    Memory(ArgMemory),
}

/// A kernel object.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// Its row in the table.
    pub(crate) function: usize,
    pub(crate) args: Vec<Arg>,
}

impl Kernel {
    pub(crate) fn is_complete(&self) -> bool {
        self.args.iter().all(|arg| !matches!(arg, Arg::Unset))
    }
}

/// The sizes of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) dims: cl_uint,
    pub(crate) offset: Option<[usize; 3]>,
    pub(crate) global: Option<[usize; 3]>,
    pub(crate) local: Option<[usize; 3]>,
}

/// The value for an argument: as many bytes, where they are, and what they mean. NULL for local memory.
pub(crate) struct Value {
    pub(crate) size: usize,
    bytes: Vec<u64>,
    is_null: bool,
    arg: Arg,
}

impl Value {
    pub(crate) fn pointer(&self) -> *const std::ffi::c_void {
        if self.is_null { null() } else { self.bytes.as_ptr().cast() }
    }

    pub(crate) fn arg(&self) -> Arg {
        self.arg.clone()
    }
}

impl Sizes {
    /// Any sizes for a number of dimensions.
    pub(crate) fn any(u: &mut Unstructured<'_>) -> Result<Self> {
        let dims = if u.ratio(31, 32)? { u.int_in_range(1..=3)? } else { *u.choose(&[0, 4])? };
        let global: [usize; 3] = [u.int_in_range(1..=16)?, u.int_in_range(1..=4)?, u.int_in_range(1..=2)?];
        let mut local = [*u.choose(&[1, 1, 2, 4, 8, 0])?, *u.choose(&[1, 1, 2])?, 1];
        if local[0] != 0 && u.ratio(3, 4)? {
            local = [0, 1, 2].map(|d: usize| if global[d].is_multiple_of(local[d]) { local[d] } else { global[d] });
        }
        let offset = if u.ratio(1, 8)? { Some([u.int_in_range(0..=3)?, 0, 0]) } else { None };
        // Since OpenCL 2.1, a launch without a size succeeds and does nothing.
        let global = if u.ratio(63, 64)? { Some(global) } else { None };
        let local = if global.is_some() && u.arbitrary()? { Some(local) } else { None };
        Ok(Self { dims, offset, global, local })
    }

    /// Their rules.
    pub(crate) fn rules(&self, violated: &mut Violated) {
        violated.rule((1..=3).contains(&self.dims), CL_INVALID_WORK_DIMENSION);
        let dims = self.dims.clamp(1, 3) as usize;
        if let (Some(global), Some(local)) = (self.global, self.local) {
            let divides = (0..dims).all(|d| local[d] != 0 && global[d].is_multiple_of(local[d]));
            violated.rule(divides, CL_INVALID_WORK_GROUP_SIZE);
            violated.rule(local[..dims].iter().all(|size| *size != 0), CL_INVALID_WORK_ITEM_SIZE);
        }
    }

    pub(crate) fn pointers(&self) -> [*const usize; 3] {
        [&self.offset, &self.global, &self.local].map(|sizes| sizes.as_ref().map_or(null(), |sizes| sizes.as_ptr()))
    }
}

/// Applies a function to the numbers in bytes; an unknown byte makes its number unknown.
fn numbers(bytes: &[Byte]) -> Vec<Option<u32>> {
    let number =
        |bytes: &[Byte]| -> Option<u32> { Some(u32::from_le_bytes([bytes[0]?, bytes[1]?, bytes[2]?, bytes[3]?])) };
    bytes.chunks_exact(4).map(number).collect()
}

fn bytes(numbers: impl IntoIterator<Item = Option<u32>>) -> Vec<Byte> {
    numbers.into_iter().flat_map(|number| number.map_or([None; 4], |number| number.to_le_bytes().map(Some))).collect()
}

/// What a launch does; `None` if that is not defined.
pub(crate) fn effect(kernel: &Kernel, sizes: &Sizes) -> Option<Effect> {
    let Some(global) = sizes.global else {
        return Some(Effect::default());
    };
    let dims = sizes.dims.clamp(1, 3) as usize;
    let size = [0, 1, 2].map(|d| if d < dims { global[d] } else { 1 });
    let first = sizes.offset.map_or(0, |offset| offset[0]);
    let count: usize = size.iter().product();
    // The part of a pointer's memory with one element per work-item.
    let part = |at: usize, element: usize, reads: bool, writes: bool| {
        let Arg::Memory(memory) = &kernel.args[at] else {
            return None;
        };
        let ArgMemory { region, flags, .. } = memory;
        let fits = (first + count) * element <= region.size() && region.start.is_multiple_of(element);
        let may = (!reads || flags & CL_MEM_WRITE_ONLY == 0) && (!writes || flags & CL_MEM_READ_ONLY == 0);
        (fits && may).then(|| Region::linear(region.root, region.start + first * element, count * element))
    };
    let number = |at: usize| match kernel.args[at] {
        Arg::Numbers(numbers) => Some(numbers),
        _ => None,
    };
    // The elements of an image that the work-items access.
    let elements = |at: usize| {
        let Arg::Memory(ArgMemory { region, image: Some(image), .. }) = &kernel.args[at] else {
            return None;
        };
        let fits = first + size[0] <= image.size[0] && size[1] <= image.size[1] && image.is_unsigned();
        let part = image.region(region.root, region.start, [first, 0, 0], [size[0], size[1], 1]);
        fits.then(|| (image.clone(), part))
    };
    match KERNELS[kernel.function].0.to_bytes() {
        b"k" => Some(Effect::default()),
        b"add" => {
            let (region, [n, ..]) = (part(0, 4, true, true)?, number(1)?);
            let add = move |(i, old): (usize, Option<u32>)| Some(old?.wrapping_add(n).wrapping_add((first + i) as u32));
            let function = move |read: &[Vec<Byte>]| vec![bytes(numbers(&read[0]).into_iter().enumerate().map(add))];
            Some(Effect::of(vec![region.clone()], vec![region], function))
        }
        b"combine" => {
            let (a, b, [n, ..]) = (part(0, 4, true, false)?, part(1, 4, true, true)?, number(2)?);
            if a.touches(&b) && a != b {
                return None;
            }
            let function = move |read: &[Vec<Byte>]| {
                let (a, b) = (numbers(&read[0]), numbers(&read[1]));
                let combine = |(a, b): (Option<u32>, Option<u32>)| Some(b?.wrapping_add(a?.wrapping_mul(n)));
                vec![bytes(a.into_iter().zip(b).map(combine))]
            };
            Some(Effect::of(vec![a, b.clone()], vec![b], function))
        }
        b"paint" => {
            let ((image, region), c) = (elements(0)?, number(1)?);
            let [width, height, _] = size;
            let function = move |_: &[Vec<Byte>]| {
                let places = (0..height).flat_map(|y| (0..width).map(move |x| (first + x, y)));
                let colour =
                    |(x, y): (usize, usize)| [c[0].wrapping_add(x as u32), c[1].wrapping_add(y as u32), c[2], c[3]];
                vec![places.flat_map(|place| image.unsigned_element(colour(place))).map(Some).collect()]
            };
            Some(Effect::of(Vec::new(), vec![region], function))
        }
        b"texels" => {
            let ((image, from), to) = (elements(0)?, part(1, 16, false, true)?);
            if from.touches(&to) {
                return None;
            }
            let slices = size[2];
            let function = move |read: &[Vec<Byte>]| {
                let colours = read[0].chunks(image.element).map(|element| image.unsigned_colour(element));
                let slice: Vec<Byte> = bytes(colours.flat_map(|colour| match colour {
                    Some(colour) => colour.map(Some),
                    None => [None; 4],
                }));
                vec![slice.repeat(slices)]
            };
            Some(Effect::of(vec![from], vec![to], function))
        }
        b"total" => {
            let [n, ..] = number(1)?;
            if first != 0 {
                return Some(Effect::default());
            }
            let (all, variable) = (part(0, 4, false, true)?, Region::linear(VARIABLE, 0, 4));
            let region = Region::linear(all.root, all.start, 4);
            let function = move |read: &[Vec<Byte>]| {
                let old = numbers(&read[0])[0];
                let new = bytes([if n & 1 == 1 { Some(n) } else { old.map(|old| old.wrapping_add(n)) }]);
                vec![new.clone(), new]
            };
            Some(Effect::of(vec![variable.clone()], vec![variable, region], function))
        }
        other => unreachable!("{other:?} is in the table"),
    }
}

impl World {
    /// Creates a kernel, or copies one.
    pub(crate) fn create_kernel(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        let context = self.context_of(Kind::Context, self.common.base);
        let mut error = 1;
        if u.ratio(1, 4)? {
            let source = self.pick(u, Kind::Kernel)?;
            let object = self.get(Kind::Kernel, source).map(|object| object.detail.clone());
            violated.rule(object.is_some(), CL_INVALID_KERNEL);
            let made = clCloneKernel(source, &mut error);
            if self.check(format!("clCloneKernel({source:?}) = {made:?}"), &violated, error) {
                self.add(made, Kind::Kernel, context, object.expect("a kernel"));
            }
            return Ok(());
        }
        let function = u.int_in_range(0..=KERNELS.len() - 1)?;
        let (name, parameters) = if u.ratio(15, 16)? { KERNELS[function] } else { (c"other", &[] as &[_]) };
        violated.rule(name != c"other", CL_INVALID_KERNEL_NAME);
        let made = clCreateKernel(self.common.program, name.as_ptr(), &mut error);
        if self.check(format!("clCreateKernel({name:?}) = {made:?}"), &violated, error) {
            let detail = Detail::Kernel(Kernel { function, args: vec![Arg::Unset; parameters.len()] });
            self.add(made, Kind::Kernel, context, detail);
        }
        Ok(())
    }

    fn kernel(&self, handle: Handle) -> Option<&Kernel> {
        match self.get(Kind::Kernel, handle).map(|object| &object.detail) {
            Some(Detail::Kernel(kernel)) => Some(kernel),
            _ => None,
        }
    }

    /// Sets an argument of a kernel, or launches it.
    pub(crate) fn kernel_step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=15)? {
            0..=5 => self.launch(u),
            6 | 7 => self.set_svm_arg(u),
            8 => self.set_exec_info(u),
            _ => {
                let kernel = self.pick(u, Kind::Kernel)?;
                self.set_arg(u, kernel)
            }
        }
    }

    /// A value for an argument of a kernel of this context. `None` if whether it is valid is not said.
    pub(crate) fn value(
        &self,
        u: &mut Unstructured<'_>,
        violated: &mut Violated,
        (kernel, context): (&Kernel, u64),
        index: usize,
    ) -> Result<Option<Value>> {
        let parameters = KERNELS[kernel.function].1;
        let value = |size: usize, bytes: Vec<u64>, arg| Value { size, bytes, is_null: false, arg };
        let Some(parameter) = parameters.get(index) else {
            violated.rule(false, CL_INVALID_ARG_INDEX);
            return Ok(Some(value(4, vec![0], Arg::Set)));
        };
        let mut value = match parameter {
            Parameter::Number | Parameter::Numbers => {
                let numbers = [5, u.int_in_range(0..=300)?, u.int_in_range(0..=70_000)?, u.arbitrary()?];
                let numbers = if *parameter == Parameter::Number { [numbers[1] & !0x40, 0, 0, 0] } else { numbers };
                let pair = |at: usize| u64::from(numbers[at]) | u64::from(numbers[at + 1]) << 32;
                let size = if *parameter == Parameter::Number { 4 } else { 16 };
                value(size, vec![pair(0), pair(2), 0], Arg::Numbers(numbers))
            }
            Parameter::Local => Value { size: 64, bytes: Vec::new(), is_null: true, arg: Arg::Set },
            Parameter::Sampler => {
                let sampler = self.pick_in(u, Kind::Sampler, Some(context))?;
                let own = self.context_of(Kind::Sampler, sampler);
                violated.rule(own.is_some(), CL_INVALID_SAMPLER);
                violated.rule(own.is_none_or(|own| own == context), CL_INVALID_CONTEXT);
                value(8, vec![sampler.addr() as u64, 0], Arg::Set)
            }
            Parameter::Pointer => {
                let mem = self.pick_buffer(u, Some(context))?;
                let memory = self.buffer(violated, mem, Some(context));
                let mut arg = memory.map(|memory| self.memory_arg(mem, &memory));
                if mem.is_null() {
                    // NULL is a pointer.
                    violated.forget(CL_INVALID_MEM_OBJECT);
                    arg = Some(Arg::Set);
                }
                value(8, vec![mem.addr() as u64, 0], arg.unwrap_or(Arg::Set))
            }
            Parameter::ReadImage | Parameter::WriteImage => {
                let mem = self.pick_mem(u, Some(context), |memory| {
                    memory.image.as_ref().is_some_and(|image| image.kind == CL_MEM_OBJECT_IMAGE2D)
                })?;
                let memory = self.memory(mem);
                let image = memory.and_then(|memory| memory.image.as_ref());
                let fits = image.is_some_and(|image| image.kind == CL_MEM_OBJECT_IMAGE2D);
                // Whether depth images have another type is said of kernels only.
                violated.allow(image.is_some_and(|image| image.order == CL_DEPTH), CL_INVALID_MEM_OBJECT);
                violated.rule(fits, CL_INVALID_MEM_OBJECT);
                let own = self.context_of(Kind::Mem, mem);
                violated.rule(own.is_none_or(|own| own == context), CL_INVALID_CONTEXT);
                let reads = *parameter == Parameter::ReadImage;
                let excluded = if reads { CL_MEM_WRITE_ONLY } else { CL_MEM_READ_ONLY };
                if let Some(memory) = memory {
                    violated.rule(!fits || memory.flags & excluded == 0, CL_INVALID_ARG_VALUE);
                }
                let arg = memory.map_or(Arg::Set, |memory| self.memory_arg(mem, memory));
                value(8, vec![mem.addr() as u64, 0], arg)
            }
        };
        if u.ratio(1, 32)? && *parameter != Parameter::Local {
            value.size += 1;
            violated.rule(false, CL_INVALID_ARG_SIZE);
        }
        Ok(Some(value))
    }

    fn memory_arg(&self, handle: Handle, memory: &Memory) -> Arg {
        let object = self.get(Kind::Mem, handle).map(|object| object.number);
        let region = memory.region(0, memory.size);
        Arg::Memory(ArgMemory { object, region, flags: memory.flags, image: memory.image.clone() })
    }

    fn set_arg(&mut self, u: &mut Unstructured<'_>, k: Handle) -> Result<()> {
        let mut violated = Violated::default();
        let kernel = self.get(Kind::Kernel, k).map(|object| object.context).zip(self.kernel(k).cloned());
        violated.rule(kernel.is_some(), CL_INVALID_KERNEL);
        let index = u.int_in_range(0..=4)?;
        let Some((context, kernel)) = kernel else {
            let status = clSetKernelArg(k, 0, 8, (&raw const k).cast());
            self.check(format!("clSetKernelArg({k:?}, 0)"), &violated, status);
            return Ok(());
        };
        let index = if index > kernel.args.len() { index - kernel.args.len() } else { index };
        let Some(value) = self.value(u, &mut violated, (&kernel, context), index)? else {
            return Ok(());
        };
        let status = clSetKernelArg(k, index as cl_uint, value.size, value.pointer());
        let call = format!("clSetKernelArg({k:?}, {index}, {}: {:x?})", value.size, value.bytes);
        if self.check(call, &violated, status) {
            self.set(k, index, value.arg());
        }
        Ok(())
    }

    fn set(&mut self, k: Handle, index: usize, arg: Arg) {
        match &mut self.get_mut(k).detail {
            Detail::Kernel(kernel) => kernel.args[index] = arg,
            other => unreachable!("{other:?} is not a kernel"),
        }
    }

    /// What an SVM pointer in an argument means.
    pub(crate) fn svm_arg(&self, u: &mut Unstructured<'_>, context: Option<u64>) -> Result<(Handle, Arg)> {
        let (pointer, region) = self.svm_argument(u, context)?;
        let arg = ArgMemory { object: None, region, flags: 0, image: None };
        Ok((pointer, if pointer.is_null() { Arg::Set } else { Arg::Memory(arg) }))
    }

    fn set_svm_arg(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let k = self.pick(u, Kind::Kernel)?;
        let mut violated = Violated::default();
        let kernel = self.kernel(k).cloned();
        violated.rule(kernel.is_some(), CL_INVALID_KERNEL);
        let index = u.int_in_range(0..=2)?;
        if let Some(kernel) = &kernel {
            let parameter = KERNELS[kernel.function].1.get(index);
            violated.rule(parameter.is_some(), CL_INVALID_ARG_INDEX);
            violated.rule(parameter.is_none_or(|parameter| *parameter == Parameter::Pointer), CL_INVALID_ARG_VALUE);
        }
        let (pointer, arg) = self.svm_arg(u, self.context_of(Kind::Kernel, k))?;
        let status = clSetKernelArgSVMPointer(k, index as cl_uint, pointer);
        if self.check(format!("clSetKernelArgSVMPointer({k:?}, {index}, {pointer:?})"), &violated, status) {
            self.set(k, index, arg);
        }
        Ok(())
    }

    fn set_exec_info(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let k = self.pick(u, Kind::Kernel)?;
        let mut violated = Violated::default();
        violated.rule(self.kernel(k).is_some(), CL_INVALID_KERNEL);
        let (pointer, _) = self.svm_argument(u, self.context_of(Kind::Kernel, k))?;
        let (pointers, flag) = ([pointer; 2], CL_TRUE);
        let (name, size, value): (_, usize, *const std::ffi::c_void) = match u.int_in_range(0..=3)? {
            0 => (CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, 4, (&raw const flag).cast()),
            1 => (0x11b9, 4, (&raw const flag).cast()),
            _ => (CL_KERNEL_EXEC_INFO_SVM_PTRS, 8 * u.int_in_range(1..=2)?, pointers.as_ptr().cast()),
        };
        let (mut size, mut value) = (size, value);
        match u.int_in_range(0..=15)? {
            0 => size -= 1,
            1 => value = null(),
            _ => {}
        }
        violated.rule(name != 0x11b9 && size.is_multiple_of(4) && !value.is_null(), CL_INVALID_VALUE);
        let status = clSetKernelExecInfo(k, name, size, value);
        self.check(format!("clSetKernelExecInfo({k:?}, {name:#x}, {size}, {value:?})"), &violated, status);
        Ok(())
    }

    /// Whether all memory in a kernel's arguments may be used, which the driver does not check.
    pub(crate) fn is_alive(&self, kernel: &Kernel) -> bool {
        kernel.args.iter().all(|arg| self.is_alive_arg(arg))
    }

    fn is_alive_arg(&self, arg: &Arg) -> bool {
        match arg {
            Arg::Memory(ArgMemory { object: Some(number), .. }) => self.is_live(*number),
            Arg::Memory(ArgMemory { region, .. }) => self.is_usable(region),
            Arg::Unset | Arg::Set | Arg::Numbers(_) => true,
        }
    }

    /// A kernel for a launch, with its rules.
    pub(crate) fn kernel_for(&self, violated: &mut Violated, k: Handle, context: Option<u64>) -> Option<Kernel> {
        let own = self.context_of(Kind::Kernel, k);
        violated.rule(own.is_some(), CL_INVALID_KERNEL);
        violated.rule(own.is_none() || context.is_none() || own == context, CL_INVALID_CONTEXT);
        self.kernel(k).cloned()
    }

    /// A kernel that adds a number to the elements of a buffer, slowly if the number is large.
    pub(crate) fn new_add(&mut self, u: &mut Unstructured<'_>, mem: Handle) -> Result<(Handle, Kernel)> {
        let number: u32 = u.int_in_range(1..=300)?;
        let handle = made(|e| clCreateKernel(self.common.program, c"add".as_ptr(), e));
        assert_eq!(clSetKernelArg(handle, 0, size_of::<cl_mem>(), (&raw const mem).cast()), CL_SUCCESS);
        assert_eq!(clSetKernelArg(handle, 1, 4, (&raw const number).cast()), CL_SUCCESS);
        let memory = self.memory(mem).expect("a buffer").clone();
        let args = vec![self.memory_arg(mem, &memory), Arg::Numbers([number, 0, 0, 0])];
        let function = KERNELS.iter().position(|(name, _)| *name == c"add").expect("it is in the table");
        let kernel = Kernel { function, args };
        let context = self.context_of(Kind::Context, self.common.base);
        self.add(handle, Kind::Kernel, context, Detail::Kernel(kernel.clone()));
        Ok((handle, kernel))
    }

    /// Sets the arguments of a kernel that are not set, or whose memory may not be used.
    pub(crate) fn complete(&mut self, u: &mut Unstructured<'_>, k: Handle) -> Result<()> {
        let Some((context, kernel)) = self.context_of(Kind::Kernel, k).zip(self.kernel(k).cloned()) else {
            return Ok(());
        };
        for (index, arg) in kernel.args.iter().enumerate() {
            if !matches!(arg, Arg::Unset) && self.is_alive_arg(arg) {
                continue;
            }
            let mut violated = Violated::default();
            let Some(value) = self.value(u, &mut violated, (&kernel, context), index)? else {
                return Ok(());
            };
            let status = clSetKernelArg(k, index as cl_uint, value.size, value.pointer());
            let call = format!("clSetKernelArg({k:?}, {index}, {}: {:x?})", value.size, value.bytes);
            if self.check(call, &violated, status) {
                self.set(k, index, value.arg());
            }
        }
        Ok(())
    }

    fn launch(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut violated = Violated::default();
        // Kernels are of the base context.
        let queue = if u.ratio(7, 8)? {
            self.pick_in(u, Kind::Queue, self.context_of(Kind::Context, self.common.base))?
        } else {
            self.pick(u, Kind::Queue)?
        };
        let ((q, context), waits) = self.target_queue(u, &mut violated, queue)?;
        let k = self.pick_in(u, Kind::Kernel, context)?;
        if u.ratio(15, 16)? {
            self.complete(u, k)?;
        }
        let kernel = self.kernel_for(&mut violated, k, context);
        let sizes = Sizes::any(u)?;
        sizes.rules(&mut violated);
        let mut result = Effect::default();
        if let Some(kernel) = kernel {
            violated.rule(kernel.is_complete(), CL_INVALID_KERNEL_ARGS);
            if !self.is_alive(&kernel) {
                return Ok(());
            }
            if violated.is_empty() {
                match effect(&kernel, &sizes) {
                    Some(effect) => result = effect,
                    None => return Ok(()),
                }
            }
        }
        let mut event: cl_event = null_mut();
        let out: *mut cl_event = if waits.wants_event { &mut event } else { null_mut() };
        let [o, g, l] = sizes.pointers();
        let status = clEnqueueNDRangeKernel(q, k, sizes.dims, o, g, l, waits.count, waits.list(), out);
        let call = format!("launch ({k:?}, {sizes:?})");
        self.enqueued(call, (&violated, status), (&waits, event), (q, context), (Place::Usual, result));
        Ok(())
    }
}
