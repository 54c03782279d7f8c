//! Kernel tests: source, arguments, and the expected value of each element as a closure of its index.
//!
//! A [`Case`] is built once and launched with several local sizes: NULL, sizes that divide the global size and, if the device
//! supports non-uniform work-groups, sizes that do not. Every buffer is followed by a guard zone that the kernel must not change.
//! The expected values must not depend on the launch unless the case requests the [`Launch`].

use std::fmt::Debug;

use bytemuck::{AnyBitPattern, NoUninit};
use cl3::device::CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT;
use libtest_mimic::{Completion, Failed, Trial};
use opencl3::command_queue::CommandQueue;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE};
use opencl3::types::{CL_BLOCKING, cl_uchar};

use crate::session::{Session, session};
use crate::translator;

/// The default global size, which has many divisors and is not a multiple of 32.
pub const GLOBAL: usize = 240;

/// Number of guard bytes after each buffer.
const GUARD: usize = 256;
/// Content of guards and outputs before the launch.
const FILL: u8 = 0xA5;

/// Plain data that can be a buffer's element.
pub trait Element: NoUninit + AnyBitPattern + Debug + Send + Sync + 'static {}
impl<T: NoUninit + AnyBitPattern + Debug + Send + Sync + 'static> Element for T {}

/// One enqueue of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Global size; as many entries as dimensions.
    pub global: Vec<usize>,
    /// Local size, or `None` to let the driver choose.
    pub local: Option<Vec<usize>>,
    /// Global offset.
    pub offset: Vec<usize>,
}

impl Launch {
    /// Work-items in total.
    pub fn items(&self) -> usize {
        self.global.iter().product()
    }

    /// The local size along x; for cases whose sweep always states one.
    ///
    /// # Panics
    /// When the launch leaves it to the driver.
    pub fn local_x(&self) -> usize {
        self.local.as_ref().expect("a launch with a stated local size")[0]
    }

    /// The size of the work-group that item `i` of a one-dimensional launch is in.
    pub fn group_size_of(&self, i: usize) -> usize {
        let local = self.local_x();
        local.min(self.global[0] - i / local * local)
    }

    /// The index of the first item of that work-group.
    pub fn group_start_of(&self, i: usize) -> usize {
        i / self.local_x() * self.local_x()
    }

    fn is_uniform(&self) -> bool {
        self.local.as_ref().is_none_or(|local| self.global.iter().zip(local).all(|(global, local)| global % local == 0))
    }
}

type Init = Box<dyn Fn(&Launch) -> Vec<u8> + Send + Sync>;
type Check = Box<dyn Fn(&Launch, &[u8]) -> Result<(), String> + Send + Sync>;

enum Arg {
    Value(Vec<u8>),
    Local(Box<dyn Fn(&Launch) -> usize + Send + Sync>),
    Buffer { init: Init, check: Option<Check> },
}

/// Features that a case may need. Clift must have all of them; only other drivers may lack some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// `double`.
    Fp64,
    /// Work-groups of different sizes.
    NonUniform,
    /// 64-bit atomics.
    Int64Atomics,
    /// The generic address space.
    Generic,
    /// Program-scope variables.
    ProgramScope,
    /// Collective functions of work-groups.
    WorkGroupFunctions,
    /// Sub-groups, with shuffles, ballots and functions under conditions.
    SubGroups,
    /// OpenCL C 2.0 atomics beyond the relaxed ones.
    SeqCst,
    /// An extension.
    Extension(&'static str),
}

/// The features that [`Need::SubGroups`] requires in addition to sub-groups.
const SUB_GROUP_EXTENSIONS: [&str; 8] = [
    "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_clustered_reduce",
    "cl_khr_subgroup_extended_types",
    "cl_khr_subgroup_non_uniform_arithmetic",
    "cl_khr_subgroup_non_uniform_vote",
    "cl_khr_subgroup_rotate",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
];

impl Need {
    fn is_offered(self, session: &Session) -> bool {
        match self {
            Self::Fp64 => session.has_extension("cl_khr_fp64"),
            Self::NonUniform => session.device_u32(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT) != 0,
            Self::Int64Atomics => {
                session.has_extension("cl_khr_int64_base_atomics")
                    && session.has_extension("cl_khr_int64_extended_atomics")
            }
            Self::Generic => session.device_u32(cl3::device::CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT) != 0,
            Self::ProgramScope => session.device_u32(cl3::device::CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE) != 0,
            Self::WorkGroupFunctions => {
                session.device_u32(cl3::device::CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT) != 0
            }
            Self::SubGroups => {
                session.device_u32(cl3::device::CL_DEVICE_MAX_NUM_SUB_GROUPS) != 0
                    && SUB_GROUP_EXTENSIONS.iter().all(|name| session.has_extension(name))
            }
            // CL_DEVICE_ATOMIC_ORDER_SEQ_CST
            Self::SeqCst => session.device_u32(cl3::device::CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES) & 4 != 0,
            Self::Extension(name) => session.has_extension(name),
        }
    }
}

/// A kernel test. The kernel's name is `t`.
pub struct Case {
    name: String,
    source: String,
    options: String,
    args: Vec<Arg>,
    global: Vec<usize>,
    offset: Vec<usize>,
    /// Local sizes to sweep; `None` is the driver's choice.
    locals: Vec<Option<Vec<usize>>>,
    needs: Vec<Need>,
    clift_only: Option<&'static str>,
    source_only: Option<&'static str>,
}

impl Case {
    /// A case over [`GLOBAL`] work-items in one dimension.
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Self {
        let sizes = [1, 2, 3, 5, 8, 16, 48, 60, GLOBAL, 7, 64, 100];
        Self {
            name: name.into(),
            source: source.into(),
            options: "-cl-std=CL3.0".to_owned(),
            args: Vec::new(),
            global: vec![GLOBAL],
            offset: Vec::new(),
            locals: std::iter::once(None).chain(sizes.map(|size| Some(vec![size]))).collect(),
            needs: Vec::new(),
            clift_only: None,
            source_only: None,
        }
    }

    /// The same under another name, for another sweep.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// The next argument: data by value.
    #[must_use]
    pub fn value<T: Element>(mut self, value: T) -> Self {
        self.args.push(Arg::Value(bytemuck::bytes_of(&value).to_vec()));
        self
    }

    /// The next argument: local memory of so many bytes.
    #[must_use]
    pub fn local_memory(mut self, bytes: impl Fn(&Launch) -> usize + Send + Sync + 'static) -> Self {
        self.args.push(Arg::Local(Box::new(bytes)));
        self
    }

    /// The next argument: a buffer of one element per work-item that the kernel only reads.
    #[must_use]
    pub fn input<T: Element>(self, value: impl Fn(usize) -> T + Send + Sync + 'static) -> Self {
        self.input_of(None, value)
    }

    /// The next argument: a buffer of `len` elements that the kernel only reads.
    #[must_use]
    pub fn input_n<T: Element>(self, len: usize, value: impl Fn(usize) -> T + Send + Sync + 'static) -> Self {
        self.input_of(Some(len), value)
    }

    fn input_of<T: Element>(mut self, len: Option<usize>, value: impl Fn(usize) -> T + Send + Sync + 'static) -> Self {
        let init: Init = Box::new(move |launch| bytes_of(len.unwrap_or(launch.items()), &value));
        // The kernel must leave it as it was.
        self.args.push(Arg::Buffer { init, check: None });
        self
    }

    /// The next argument: an output buffer of one element per work-item, each of which must get the expected bits.
    #[must_use]
    pub fn expect<T: Element>(self, expected: impl Fn(usize) -> T + Send + Sync + 'static) -> Self {
        self.output(None, move |_, i| Some(expected(i)), same_bits)
    }

    /// The next argument: an output buffer of `len` elements, with `None` for elements whose value is not specified.
    #[must_use]
    pub fn expect_n<T: Element>(
        self,
        len: usize,
        expected: impl Fn(usize) -> Option<T> + Send + Sync + 'static,
    ) -> Self {
        self.output(Some(len), move |_, i| expected(i), same_bits)
    }

    /// As [`expect`](Self::expect), for an expectation that depends on the launch.
    #[must_use]
    pub fn expect_in<T: Element>(self, expected: impl Fn(&Launch, usize) -> T + Send + Sync + 'static) -> Self {
        self.output(None, move |launch, i| Some(expected(launch, i)), same_bits)
    }

    /// As [`expect_n`](Self::expect_n), with a given comparison: `same(expected, got)`.
    #[must_use]
    pub fn expect_by<T: Element>(
        self,
        len: usize,
        expected: impl Fn(usize) -> Option<T> + Send + Sync + 'static,
        same: impl Fn(&T, &T) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.output(Some(len), move |_, i| expected(i), same)
    }

    fn output<T: Element>(
        mut self,
        len: Option<usize>,
        expected: impl Fn(&Launch, usize) -> Option<T> + Send + Sync + 'static,
        same: impl Fn(&T, &T) -> bool + Send + Sync + 'static,
    ) -> Self {
        let init: Init = Box::new(move |launch| vec![FILL; len.unwrap_or(launch.items()) * size_of::<T>()]);
        self.args.push(Arg::Buffer { init, check: Some(element_check(expected, same)) });
        self
    }

    /// The next argument: a buffer that the kernel changes.
    #[must_use]
    pub fn update<T: Element>(
        mut self,
        len: usize,
        value: impl Fn(usize) -> T + Send + Sync + 'static,
        expected: impl Fn(&Launch, usize) -> Option<T> + Send + Sync + 'static,
    ) -> Self {
        let init: Init = Box::new(move |_| bytes_of(len, &value));
        self.args.push(Arg::Buffer { init, check: Some(element_check(expected, same_bits)) });
        self
    }

    /// The next argument: a buffer of `len` elements that start as `value` and are checked as a whole.
    #[must_use]
    pub fn judge<T: Element>(
        mut self,
        len: usize,
        value: T,
        verdict: impl Fn(&Launch, &[T]) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let init: Init = Box::new(move |_| bytes_of(len, &|_| value));
        let check: Check = Box::new(move |launch, bytes| verdict(launch, &elements(bytes)));
        self.args.push(Arg::Buffer { init, check: Some(check) });
        self
    }

    /// Another NDRange, with the local sizes to sweep.
    #[must_use]
    pub fn range(mut self, global: &[usize], locals: &[&[usize]]) -> Self {
        self.global = global.to_vec();
        self.locals = std::iter::once(None).chain(locals.iter().map(|local| Some(local.to_vec()))).collect();
        self
    }

    /// A global offset.
    #[must_use]
    pub fn offset(mut self, offset: &[usize]) -> Self {
        self.offset = offset.to_vec();
        self
    }

    /// Only launches that state a local size: the kernel or its expectation needs to know it.
    #[must_use]
    pub fn stated_local(mut self) -> Self {
        self.locals.retain(Option::is_some);
        self
    }

    /// Only launches whose work-groups all have the same size.
    #[must_use]
    pub fn uniform(mut self) -> Self {
        let global = self.global.clone();
        self.locals
            .retain(|local| Launch { global: global.clone(), local: local.clone(), offset: vec![] }.is_uniform());
        self
    }

    /// Only launches as one work-group of all items.
    #[must_use]
    pub fn one_group(mut self) -> Self {
        self.locals = vec![Some(self.global.clone())];
        self
    }

    /// Other build options than `-cl-std=CL3.0`.
    #[must_use]
    pub fn options(mut self, options: &str) -> Self {
        options.clone_into(&mut self.options);
        self
    }

    /// A feature that another driver may lack.
    #[must_use]
    pub fn needs(mut self, need: Need) -> Self {
        self.needs.push(need);
        self
    }

    /// Other drivers are known to get this wrong, for this reason.
    #[must_use]
    pub fn clift_only(mut self, reason: &'static str) -> Self {
        self.clift_only = Some(reason);
        self
    }

    /// The SPIR-V-LLVM translator is known to get this wrong, for this reason.
    #[must_use]
    pub fn source_only(mut self, reason: &'static str) -> Self {
        self.source_only = Some(reason);
        self
    }

    /// The case as a test.
    pub fn into_trial(self) -> Trial {
        Trial::ignorable_test(self.name.clone(), move || self.run(session()).map_err(Failed::from))
    }

    fn run(&self, session: &Session) -> Result<Completion, String> {
        if !session.driver.is_clift
            && (self.clift_only.is_some() || self.needs.iter().any(|need| !need.is_offered(session)))
        {
            return Ok(Completion::Completed);
        }
        if let Some(need) = self.needs.iter().find(|need| !need.is_offered(session)) {
            return Err(format!("the device does not offer {need:?}"));
        }
        let program = match translator::level() {
            None => session.build(&self.source, &self.options),
            Some(_) if let Some(reason) = self.source_only => return Ok(Completion::ignored_with(reason)),
            Some(level) => match translator::translate(&self.source, &self.options, &level) {
                Ok(il) => session.build_il(&il, &translator::module_options(&self.options)),
                Err(reason) => return Ok(Completion::ignored_with(reason)),
            },
        };
        let program = program.map_err(|log| format!("{log}\nsource:\n{}", self.source))?;
        let kernel = Kernel::create(&program, "t").map_err(|error| format!("no kernel t: {error}"))?;
        let queue = session.queue();
        for local in &self.locals {
            let launch = Launch { global: self.global.clone(), local: local.clone(), offset: self.offset.clone() };
            if !launch.is_uniform() && !Need::NonUniform.is_offered(session) {
                continue;
            }
            self.launch(session, &queue, &kernel, &launch)
                .map_err(|error| format!("{launch:?}: {error}\nsource:\n{}", self.source))?;
        }
        Ok(Completion::Completed)
    }

    fn launch(&self, session: &Session, queue: &CommandQueue, kernel: &Kernel, launch: &Launch) -> Result<(), String> {
        let mut buffers: Vec<Option<(Buffer<cl_uchar>, Vec<u8>)>> = Vec::new();
        for (index, arg) in self.args.iter().enumerate() {
            buffers.push(match arg {
                Arg::Value(bytes) => {
                    // SAFETY: size and address of the value; a wrong index or size is an error code, not undefined.
                    let status = unsafe {
                        cl3::kernel::set_kernel_arg(kernel.get(), index as u32, bytes.len(), bytes.as_ptr().cast())
                    };
                    status.map_err(|code| format!("argument {index}: {}", crate::session::error_name(code)))?;
                    None
                }
                Arg::Local(bytes) => {
                    // SAFETY: a local argument has a size and no value.
                    unsafe { kernel.set_arg_local_buffer(index as u32, bytes(launch)) }
                        .map_err(|error| format!("argument {index}: {error}"))?;
                    None
                }
                Arg::Buffer { init, .. } => {
                    let mut bytes = init(launch);
                    bytes.resize(bytes.len() + GUARD, FILL);
                    // SAFETY: the host memory is copied before the call returns.
                    let buffer = unsafe {
                        Buffer::<cl_uchar>::create(
                            &session.context,
                            CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                            bytes.len(),
                            bytes.as_mut_ptr().cast(),
                        )
                    }
                    .map_err(|error| format!("buffer {index}: {error}"))?;
                    // SAFETY: the argument is a buffer's handle.
                    unsafe { kernel.set_arg(index as u32, &buffer) }
                        .map_err(|error| format!("argument {index}: {error}"))?;
                    Some((buffer, bytes))
                }
            });
        }
        // SAFETY: every argument was set above; the buffers outlive the wait.
        let event = unsafe {
            cl3::command_queue::enqueue_nd_range_kernel(
                queue.get(),
                kernel.get(),
                launch.global.len() as u32,
                if launch.offset.is_empty() { std::ptr::null() } else { launch.offset.as_ptr() },
                launch.global.as_ptr(),
                launch.local.as_ref().map_or(std::ptr::null(), |local| local.as_ptr()),
                0,
                std::ptr::null(),
            )
        }
        .map_err(|code| format!("enqueue: {}", crate::session::error_name(code)))?;
        let event = opencl3::event::Event::new(event);
        let _watch = Watch::over(&self.name);
        event.wait().map_err(|error| format!("the launch failed: {error}"))?;
        for (index, (arg, buffer)) in self.args.iter().zip(&mut buffers).enumerate() {
            let (Arg::Buffer { check, .. }, Some((buffer, before))) = (arg, buffer) else { continue };
            let mut after = vec![0; before.len()];
            // SAFETY: a blocking read into memory of the buffer's size.
            unsafe { queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut after, &[]) }
                .map_err(|error| format!("reading buffer {index}: {error}"))?;
            let size = before.len() - GUARD;
            if let Some(at) = after[size..].iter().position(|byte| *byte != FILL) {
                return Err(format!("argument {index}: written {at} bytes behind its end"));
            }
            match check {
                Some(check) => {
                    check(launch, &after[..size]).map_err(|error| format!("argument {index}: {error}"))?;
                }
                None if before != &after => return Err(format!("argument {index}: an input was written to")),
                None => {}
            }
        }
        Ok(())
    }
}

/// A launch that does not end would block the driver's threads and thus all other tests, so it terminates the process.
struct Watch(Option<std::sync::mpsc::Sender<()>>);

/// Time limit of a launch in seconds.
const LONGEST_LAUNCH: u64 = 300;

impl Watch {
    fn over(name: &str) -> Self {
        let (ended, wait) = std::sync::mpsc::channel::<()>();
        let name = name.to_owned();
        std::thread::spawn(move || {
            let waited = wait.recv_timeout(std::time::Duration::from_secs(LONGEST_LAUNCH));
            if waited == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                println!("{name}: a launch has not ended in {LONGEST_LAUNCH} s: the tests end here");
                std::process::exit(101);
            }
        });
        Self(Some(ended))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The thread sees that the other end is gone.
        drop(self.0.take());
    }
}

fn element_check<T: Element>(
    expected: impl Fn(&Launch, usize) -> Option<T> + Send + Sync + 'static,
    same: impl Fn(&T, &T) -> bool + Send + Sync + 'static,
) -> Check {
    Box::new(move |launch, bytes| {
        let got = elements::<T>(bytes);
        let mut wrong = Vec::new();
        for (i, got) in got.iter().enumerate() {
            match expected(launch, i) {
                Some(want) if !same(&want, got) => wrong.push(format!("[{i}] want {want:?}, got {got:?}")),
                _ => {}
            }
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let shown = wrong.iter().take(8).cloned().collect::<Vec<_>>().join("; ");
        Err(format!("{} of {} elements wrong: {shown}", wrong.len(), got.len()))
    })
}

fn same_bits<T: Element>(want: &T, got: &T) -> bool {
    bytemuck::bytes_of(want) == bytemuck::bytes_of(got)
}

fn bytes_of<T: Element>(len: usize, value: &dyn Fn(usize) -> T) -> Vec<u8> {
    (0..len).flat_map(|i| bytemuck::bytes_of(&value(i)).to_vec()).collect()
}

fn elements<T: Element>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}
