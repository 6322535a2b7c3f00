//! Model checks of the table: every interleaving of threads that activate, restart and stop one session.

use super::*;
use crate::sys::sync::atomic::{AtomicBool, Ordering};
use crate::sys::sync::check;
use loom::thread;
use std::sync::Weak;

/// An agent that only starts and ends.
struct Agent {
    cancel: Cancel,
    /// The agent that it replaces. Locked while this one ends, as the activation of a real agent is.
    before: Mutex<Option<Arc<Agent>>>,
    /// All agents that have to end before this one has ended.
    replaced: Vec<Arc<Agent>>,
    gone: AtomicBool,
    /// The threads of an agent may read the table until it has ended.
    world: Weak<World>,
}

impl Agent {
    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }
}

impl Lifecycle for Agent {
    fn is_ending(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn close(&self) {
        self.cancel.cancel();
        let mut before = lock(&self.before);
        if let Some(before) = before.take() {
            before.close();
        }
        if let Some(world) = self.world.upgrade() {
            world.table.get("s");
        }
        self.gone.store(true, Ordering::SeqCst);
    }
}

/// A table, and all agents that were ever in it.
struct World {
    table: AgentTable<Agent>,
    made: std::sync::Mutex<Vec<Arc<Agent>>>,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(World {
            table: AgentTable::new(Cancel::new()),
            made: std::sync::Mutex::default(),
        })
    }

    fn made(&self) -> Vec<Arc<Agent>> {
        crate::sys::lock(&self.made).clone()
    }

    fn enter(self: &Arc<Self>, running: IfRunning) -> Option<Arc<Agent>> {
        let entered = self.table.get_or_insert("s", running, |before, _| {
            let mut replaced = Vec::new();
            if let Some(before) = &before {
                replaced.clone_from(&before.replaced);
                replaced.push(before.clone());
            }
            for earlier in self.made() {
                let known = replaced.iter().any(|it| Arc::ptr_eq(it, &earlier));
                assert!(
                    known || earlier.is_gone(),
                    "two agents live at the same time"
                );
            }
            let agent = Arc::new(Agent {
                cancel: self.table.shutdown.child(),
                before: Mutex::new(before),
                replaced,
                gone: AtomicBool::new(false),
                world: Arc::downgrade(self),
            });
            crate::sys::lock(&self.made).push(agent.clone());
            Ok(agent)
        });
        entered.ok().map(|(agent, _)| agent)
    }

    /// Checks that, when no thread runs, each agent outside the table has ended, and then ends all.
    fn settle(&self) {
        let left = self.table.get("s");
        assert!(left.as_ref().is_none_or(|left| !left.is_ending()));
        for agent in self.made() {
            let is_live = left.as_ref().is_some_and(|left| {
                let replaced = |it: &Arc<Agent>| Arc::ptr_eq(it, &agent);
                replaced(left) || left.replaced.iter().any(replaced)
            });
            assert!(
                is_live || agent.is_gone(),
                "an agent left the table without having ended"
            );
        }
        self.table.stop("s");
        assert!(self.table.all().is_empty());
        assert!(self.made().iter().all(|agent| agent.is_gone()));
    }
}

fn with<T: 'static>(
    world: &Arc<World>,
    work: impl FnOnce(&Arc<World>) -> T + 'static,
) -> thread::JoinHandle<T> {
    let world = world.clone();
    thread::spawn(move || work(&world))
}

#[test]
fn all_who_activate_a_session_get_the_same_agent() {
    check(|| {
        let world = World::new();
        let others = [0, 1].map(|_| with(&world, |world| world.enter(IfRunning::Keep).unwrap()));
        let mine = world.enter(IfRunning::Keep).unwrap();
        for other in others {
            assert!(Arc::ptr_eq(&other.join().unwrap(), &mine));
        }
        assert_eq!(world.made().len(), 1);
        world.settle();
    });
}

#[test]
fn who_activates_while_it_is_stopped_gets_one_that_was_not() {
    check(|| {
        let world = World::new();
        let first = world.enter(IfRunning::Keep).unwrap();
        let stopper = with(&world, |world| world.table.stop("s"));
        let other = {
            let first = first.clone();
            with(&world, move |world| {
                let was_gone = first.is_gone();
                let found = world.table.running("s");
                assert!(!was_gone || found.is_none_or(|found| !Arc::ptr_eq(&found, &first)));
                world.enter(IfRunning::Keep);
            })
        };
        let was_gone = first.is_gone();
        let entered = world.enter(IfRunning::Keep).unwrap();
        assert!(!was_gone || !Arc::ptr_eq(&entered, &first));
        stopper.join().unwrap();
        other.join().unwrap();
        assert!(first.is_gone());
        world.settle();
    });
}

#[test]
fn stopping_and_restarting_at_once_lose_no_agent() {
    check(|| {
        let world = World::new();
        world.enter(IfRunning::Keep);
        let stopper = with(&world, |world| world.table.stop("s"));
        let restarter = with(&world, |world| world.enter(IfRunning::Replace));
        world.enter(IfRunning::Replace);
        stopper.join().unwrap();
        restarter.join().unwrap();
        world.settle();
    });
}

#[test]
fn each_of_two_who_stop_it_waits_until_it_is_gone() {
    check(|| {
        let world = World::new();
        let agent = world.enter(IfRunning::Keep).unwrap();
        let other = {
            let agent = agent.clone();
            with(&world, move |world| {
                world.table.stop("s");
                assert!(agent.is_gone());
            })
        };
        world.table.stop("s");
        assert!(agent.is_gone());
        other.join().unwrap();
        world.settle();
    });
}

#[test]
fn an_agent_that_is_put_away_is_not_in_use_and_is_made_again() {
    check(|| {
        let world = World::new();
        drop(world.enter(IfRunning::Keep));
        let user = with(&world, |world| {
            let agent = world.enter(IfRunning::KeepStarted).unwrap();
            assert!(!agent.is_ending(), "it was ended while it was in use");
        });
        for agent in world.table.all() {
            // The world's reference is one more than a real agent has.
            crate::sys::lock(&world.made).retain(|made| !Arc::ptr_eq(made, &agent));
            world.table.put_away("s", agent, |_| true);
        }
        user.join().unwrap();
        assert_eq!(world.table.len(), 1);
        world.table.stop("s");
        assert!(world.enter(IfRunning::KeepStarted).is_none());
    });
}

#[test]
fn nothing_begins_after_the_end_and_nothing_is_left() {
    check(|| {
        let world = World::new();
        let others = [IfRunning::Keep, IfRunning::Replace]
            .map(|running| with(&world, move |world| drop(world.enter(running))));
        for agent in world.table.shut_down() {
            agent.close();
        }
        for other in others {
            other.join().unwrap();
        }
        assert!(world.made().iter().all(|agent| agent.is_gone()));
        assert!(world.enter(IfRunning::Keep).is_none());
        assert!(world.table.all().is_empty());
    });
}
