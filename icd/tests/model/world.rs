//! What a sequence of calls has made: objects with their reference counts and contexts, and how commands will end.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null_mut;

use arbtest::arbitrary::{Result, Unstructured};

use super::cl::*;

pub(crate) type Handle = *mut c_void;

/// A type of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Context,
    Queue,
    Mem,
    Event,
    Sampler,
    Kernel,
}

impl Kind {
    pub(crate) const ALL: [Kind; 6] = [Kind::Context, Kind::Queue, Kind::Mem, Kind::Event, Kind::Sampler, Kind::Kernel];

    /// The error for a handle that is none.
    pub(crate) fn invalid(self) -> cl_int {
        match self {
            Kind::Context => CL_INVALID_CONTEXT,
            Kind::Queue => CL_INVALID_COMMAND_QUEUE,
            Kind::Mem => CL_INVALID_MEM_OBJECT,
            Kind::Event => CL_INVALID_EVENT,
            Kind::Sampler => CL_INVALID_SAMPLER,
            Kind::Kernel => CL_INVALID_KERNEL,
        }
    }
}

/// A mapping of a buffer.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    pub(crate) pointer: usize,
    pub(crate) offset: usize,
    pub(crate) size: usize,
    pub(crate) writes: bool,
}

/// What a kernel's argument has been set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    Unset,
    Set,
    /// A memory object, by its number.
    Mem(u64),
}

/// What the model knows of an object besides its count and its context.
#[derive(Clone, Debug)]
pub(crate) enum Detail {
    Context,
    Queue,
    Buffer {
        size: usize,
        flags: cl_mem_flags,
        origin: usize,
        root: u64,
        maps: Vec<Mapping>,
    },
    /// The index of its fate.
    Event(usize),
    Sampler,
    Kernel([Arg; 4]),
}

/// A live object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) kind: Kind,
    /// Unique among all objects that a sequence makes; addresses are used again.
    pub(crate) number: u64,
    pub(crate) refs: u32,
    /// The number of its context.
    pub(crate) context: u64,
    pub(crate) detail: Detail,
}

/// How a command or a user event ends.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    /// A user event, whose handle may be gone, with its status once it is set.
    User(Handle, Option<cl_int>),
    /// A command that waits for these.
    Command(Vec<usize>),
}

/// The state of a sequence.
pub(crate) struct World {
    live: HashMap<usize, Object>,
    /// The live handles in the order of their creation, so that sequences repeat.
    handles: Vec<usize>,
    /// Released handles.
    pub(crate) dead: Vec<(Kind, usize)>,
    pub(crate) fates: Vec<Fate>,
    /// The calls so far.
    pub(crate) calls: Vec<String>,
    next: u64,
    /// The context that all sequences have in common, with a program.
    pub(crate) base: Handle,
    pub(crate) program: cl_program,
    pub(crate) scratch: *mut c_void,
}

impl World {
    pub(crate) fn new(base: Handle, program: cl_program, scratch: *mut c_void) -> Self {
        let mut world = Self {
            live: HashMap::new(),
            handles: Vec::new(),
            dead: Vec::new(),
            fates: Vec::new(),
            calls: Vec::new(),
            next: 0,
            base,
            program,
            scratch,
        };
        world.add(base, Kind::Context, None, Detail::Context);
        world
    }

    /// Adds a new object of a context; a new context is its own.
    pub(crate) fn add(&mut self, handle: Handle, kind: Kind, context: Option<u64>, detail: Detail) -> u64 {
        let number = self.next;
        self.next += 1;
        let address = handle.addr();
        self.dead.retain(|(_, other)| *other != address);
        let object = Object { kind, number, refs: 1, context: context.unwrap_or(number), detail };
        assert!(self.live.insert(address, object).is_none(), "a live object's handle is given to another");
        self.handles.push(address);
        handle.expose_provenance();
        number
    }

    /// The live object of a kind that has this handle.
    pub(crate) fn get(&self, kind: Kind, handle: Handle) -> Option<&Object> {
        self.live.get(&handle.addr()).filter(|object| object.kind == kind)
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> &mut Object {
        self.live.get_mut(&handle.addr()).expect("a live object")
    }

    /// The live object with a number.
    pub(crate) fn numbered(&self, number: u64) -> Option<&Object> {
        self.live.values().find(|object| object.number == number)
    }

    /// Takes an object's last reference away.
    pub(crate) fn remove(&mut self, handle: Handle) {
        let address = handle.addr();
        let object = self.live.remove(&address).expect("a live object");
        self.handles.retain(|other| *other != address);
        self.dead.push((object.kind, address));
    }

    /// The live handles of a kind.
    pub(crate) fn all(&self, kind: Kind) -> Vec<Handle> {
        let of_kind = self.handles.iter().filter(|address| self.live[address].kind == kind);
        of_kind.map(|address| std::ptr::with_exposed_provenance_mut(*address)).collect()
    }

    /// A handle, most often a live one of this kind.
    pub(crate) fn pick(&self, u: &mut Unstructured<'_>, kind: Kind) -> Result<Handle> {
        let chance = u.int_in_range(0..=31)?;
        let kind = if chance == 0 { *u.choose(&Kind::ALL)? } else { kind };
        let all = self.all(kind);
        Ok(match chance {
            1 => null_mut(),
            2 => std::ptr::without_provenance_mut(u.arbitrary::<usize>()? | 1),
            3 => device(),
            _ if all.is_empty() => null_mut(),
            _ if u.ratio(2, 3)? => *all.last().expect("not empty"),
            _ => *u.choose(&all)?,
        })
    }

    /// How an event ends; `None` if an unset user event decides.
    pub(crate) fn fate(&self, index: usize) -> Option<cl_int> {
        match &self.fates[index] {
            Fate::User(_, status) => *status,
            Fate::Command(waits) => {
                let ends: Option<Vec<cl_int>> = waits.iter().map(|wait| self.fate(*wait)).collect();
                ends.map(
                    |ends| {
                        if ends.iter().any(|end| *end < 0) { CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST } else { 0 }
                    },
                )
            }
        }
    }

    /// Sets all user events that are not set, so that nothing waits for the application.
    pub(crate) fn settle(&mut self) {
        for fate in &mut self.fates {
            if let Fate::User(handle, status @ None) = fate {
                assert_eq!(clSetUserEventStatus(*handle, CL_COMPLETE), CL_SUCCESS);
                *status = Some(CL_COMPLETE);
            }
        }
    }
}
