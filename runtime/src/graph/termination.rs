//! Terminating the commands of a context, of all its queues together.
//!
//! A command that has not started ends at once, without having run. A running launch is stopped like one that exceeds the time
//! limit ([`crate::fault`]); another running command ends by itself. All of them end with [`status::CONTEXT_TERMINATED`].
//!
//! A command starts only if termination has not begun, and the command's lock orders the two: termination ends a command that has
//! not started, or sees it running.

use std::sync::{Arc, Weak};

use super::node::Node;
use super::settle::{self, Ended, SettleStep};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering, fence};
use crate::{fault, status};

/// What the queues of a context that can be terminated have in common.
#[derive(Debug, Default)]
pub struct Termination {
    has_begun: AtomicBool,
    commands: Mutex<Commands>,
}

/// Commands that may not have ended.
#[derive(Debug, Default)]
struct Commands {
    list: Vec<Weak<Node>>,
    /// Length of `list` at which ended commands are removed.
    prune_at: usize,
}

/// Smallest length of the list at which ended commands are removed.
const PRUNE_AT_LEAST: usize = 64;

impl Termination {
    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::SeqCst)
    }

    /// Adds a command that is being submitted.
    pub(crate) fn add(&self, node: &Arc<Node>) {
        let mut commands = self.commands.lock();
        if !self.has_begun() {
            if commands.list.len() >= commands.prune_at {
                commands.list.retain(|node| node.strong_count() > 0);
                commands.prune_at = (2 * commands.list.len()).max(PRUNE_AT_LEAST);
            }
            commands.list.push(Arc::downgrade(node));
            return;
        }
        drop(commands);
        end_unless_running(node);
    }

    /// Ends all commands; false if that has been done before.
    pub fn begin(self: &Arc<Self>) -> bool {
        let commands = {
            let mut commands = self.commands.lock();
            if self.has_begun.swap(true, Ordering::SeqCst) {
                return false;
            }
            core::mem::take(&mut commands.list)
        };
        for node in commands.iter().filter_map(Weak::upgrade) {
            end_unless_running(&node);
        }
        // A thread that works on a launch either sees that this has begun, or is seen here.
        fence(Ordering::SeqCst);
        fault::stop_terminated(self);
        true
    }
}

fn end_unless_running(node: &Arc<Node>) {
    if !node.is_running() {
        let ended = Ended { node: node.clone(), status: status::CONTEXT_TERMINATED, retired: None };
        settle::run(SettleStep::End(ended), |_| false);
    }
}
