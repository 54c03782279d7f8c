//! All stages in order.

use std::path::PathBuf;

use crate::diagnostics::render;
use crate::options::Options;
use crate::preprocess::{Session, preprocess, print};
use crate::tree::Kernel;
use crate::{emit, limits, semantics, syntax};

/// The result of a compilation.
#[derive(Debug, Default)]
pub struct Output {
    /// The SPIR-V module; `None` if there were errors.
    pub words: Option<Vec<u32>>,
    /// The kernels and what they declare.
    pub kernels: Vec<(String, Kernel)>,
    /// Files that were read, besides headers in memory.
    pub files: Vec<PathBuf>,
    /// Diagnostics as text; empty if there are none.
    pub log: String,
}

/// Compiles a source.
///
/// The work is done on a thread with a stack that is large enough for everything within [`limits`].
pub fn compile(source: &[u8], options: &Options) -> Output {
    on_thread(|| stages(source, options)).unwrap_or_else(|log| Output { log, ..Output::default() })
}

/// The typed tree of a source as text, if there were no errors, and diagnostics. For tests and for people.
pub fn tree_to_text(source: &[u8], options: &Options) -> (Option<String>, String) {
    let text = || {
        let mut session = Session::new(options);
        let input = preprocess(&mut session, source);
        let unit = syntax::parse(&mut session, &input);
        let module = semantics::check(&mut session, &unit);
        let text = (!session.diagnostics.has_errors()).then(|| crate::tree::print(&module, &session.names));
        (text, render(&session.diagnostics, &session.sources, &session.names))
    };
    on_thread(text).unwrap_or_else(|log| (None, log))
}

/// Does something on a thread with a large stack. The error is a diagnostic.
fn on_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("clift-clc".to_owned()).stack_size(limits::STACK);
        match thread.spawn_scoped(scope, work).map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(_)) => Err("error: internal error of Clift's OpenCL C front end\n".to_owned()),
            Err(error) => Err(format!("error: cannot start a thread to compile on: {error}\n")),
        }
    })
}

/// Only preprocesses a source: its text as `-E` shows it, with or without line markers, and diagnostics.
pub fn preprocess_to_text(source: &[u8], options: &Options, line_markers: bool) -> (Vec<u8>, String) {
    let text = || {
        let mut session = Session::new(options);
        let input = preprocess(&mut session, source);
        let text = print(&session, &input, line_markers);
        (text, render(&session.diagnostics, &session.sources, &session.names))
    };
    on_thread(text).unwrap_or_else(|log| (Vec::new(), log))
}

fn stages(source: &[u8], options: &Options) -> Output {
    let mut session = Session::new(options);
    let mut output = Output::default();
    let input = preprocess(&mut session, source);
    let unit = syntax::parse(&mut session, &input);
    output.files = input.files;
    if !session.diagnostics.is_full() {
        let module = semantics::check(&mut session, &unit);
        if !session.diagnostics.has_errors() {
            match emit::emit(&session, &module) {
                Ok(words) => output.words = Some(words),
                Err((span, text)) => session.diagnostics.error(span, text),
            }
            for function in &module.functions {
                if let (Some(kernel), Some(_)) = (&function.kernel, &function.body) {
                    output.kernels.push((function.link_name.clone(), kernel.clone()));
                }
            }
        }
    }
    output.log = render(&session.diagnostics, &session.sources, &session.names);
    output
}
