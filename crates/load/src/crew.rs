//! The resident threads of a worker: started once, waiting between slices, ended with the worker.
//! A thread that dies or whose I/O does not come back gives an error, never a hang; such a crew
//! runs no further slice, and its memory stays until the kernel lets go of it.

use crate::LoadError;
use crate::clock;
use crate::engine::Kind;
use crate::lane::{FlushResult, LaneResult, Resident, Setup, SliceOrder};
use crate::verify::{Back, BackOrder};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// An I/O that takes longer than this is given up: longer than the time-outs and retries with
/// which drivers save a slow one.
pub(crate) const PATIENCE_NS: u64 = 120_000_000_000;

/// How often waiting looks for stuck threads.
const TICK: Duration = Duration::from_millis(100);

enum Order {
    Slice(SliceOrder),
    Flush,
    Settle,
    ReadBack(BackOrder),
}

enum Reply {
    Ready(io::Result<Vec<&'static str>>),
    Slice(io::Result<LaneResult>),
    Flushed(FlushResult),
    Settled(io::Result<()>),
    ReadBack(io::Result<Back>),
    Gone,
}

struct Member {
    orders: Sender<Order>,
    beat_ns: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

/// All threads of a worker.
pub(crate) struct Crew {
    members: Vec<Member>,
    replies: Receiver<(usize, Reply)>,
    patience_ns: u64,
    broken: Option<String>,
    /// What engines of some threads have to do without.
    pub(crate) lacks: BTreeSet<&'static str>,
}

type Start = fn(Setup) -> io::Result<Box<dyn Resident>>;

impl Crew {
    /// Starts a thread for each set-up and waits until all are ready.
    ///
    /// # Errors
    /// The first failure of a thread to prepare itself, behind the thread's number.
    pub(crate) fn start(kind: &Kind, setups: Vec<Setup>) -> Result<Crew, (usize, io::Error)> {
        Crew::start_with(kind.start, setups, PATIENCE_NS)
    }

    fn start_with(start: Start, setups: Vec<Setup>, patience_ns: u64) -> Result<Crew, (usize, io::Error)> {
        let (sender, replies) = channel();
        let (members, lacks) = (Vec::new(), BTreeSet::new());
        let mut crew = Crew { members, replies, patience_ns, broken: None, lacks };
        for (index, setup) in setups.into_iter().enumerate() {
            let member = Member::start(index, start, setup, sender.clone());
            crew.members.push(member.map_err(|error| (index, error))?);
        }
        drop(sender);
        let replies =
            crew.gather(crew.members.len(), &mut || ()).map_err(|why| (0, io::Error::other(why)))?;
        for (index, reply) in replies.into_iter().enumerate() {
            if let Reply::Ready(ready) = reply {
                crew.lacks.extend(ready.map_err(|error| (index, error))?);
            }
        }
        Ok(crew)
    }

    /// Threads.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Runs a slice: an order for each thread, a result from each.
    ///
    /// # Errors
    /// When a thread died, is stuck, or its engine failed, now or in an earlier slice.
    pub(crate) fn slice(&mut self, orders: Vec<SliceOrder>) -> Result<Vec<LaneResult>, LoadError> {
        let orders = orders.into_iter().map(Order::Slice).collect();
        self.ask(orders, &mut || (), "engine failed", |reply| match reply {
            Reply::Slice(result) => Some(result),
            _ => None,
        })
    }

    /// fsync by each of the first `threads` threads at once.
    ///
    /// # Errors
    /// When a thread died or is stuck; what fsync says is in the results.
    pub(crate) fn flush(&mut self, threads: usize) -> Result<Vec<FlushResult>, LoadError> {
        let orders = (0..threads).map(|_| Order::Flush).collect();
        self.ask(orders, &mut || (), "fsync", |reply| match reply {
            Reply::Flushed(result) => Some(Ok(result)),
            _ => None,
        })
    }

    /// fsync by each of the first `threads` threads, which then lets the page cache go.
    ///
    /// # Errors
    /// When a thread died or is stuck; what fsync says is in the results.
    pub(crate) fn settle(&mut self, threads: usize) -> Result<Vec<io::Result<()>>, LoadError> {
        let orders = (0..threads).map(|_| Order::Settle).collect();
        self.ask(orders, &mut || (), "fsync", |reply| match reply {
            Reply::Settled(result) => Some(Ok(result)),
            _ => None,
        })
    }

    /// Reads back: an order for each thread. `watch` is called now and then.
    ///
    /// # Errors
    /// When a thread died or is stuck, or has no memory.
    pub(crate) fn read_back(
        &mut self,
        orders: Vec<BackOrder>,
        watch: &mut dyn FnMut(),
    ) -> Result<Vec<Back>, LoadError> {
        let orders = orders.into_iter().map(Order::ReadBack).collect();
        self.ask(orders, watch, "what was written cannot be read back", |reply| match reply {
            Reply::ReadBack(result) => Some(result),
            _ => None,
        })
    }

    /// An order for each of the first threads, and what `pick` takes out of their answers; an error that it finds there ends the crew, `failed` says
    /// of what.
    fn ask<T>(
        &mut self,
        orders: Vec<Order>,
        watch: &mut dyn FnMut(),
        failed: &str,
        pick: fn(Reply) -> Option<io::Result<T>>,
    ) -> Result<Vec<T>, LoadError> {
        self.check()?;
        let threads = orders.len();
        for (index, order) in orders.into_iter().enumerate() {
            self.tell(index, order);
        }
        let mut results = Vec::with_capacity(threads);
        for reply in self.gather(threads, watch).map_err(LoadError::Thread)? {
            match pick(reply) {
                Some(Ok(result)) => results.push(result),
                Some(Err(error)) => return Err(self.give_up(format!("{failed}: {error}"))),
                None => return Err(self.give_up("a thread answered another order".into())),
            }
        }
        Ok(results)
    }

    fn check(&self) -> Result<(), LoadError> {
        match &self.broken {
            Some(why) => Err(LoadError::Thread(why.clone())),
            None => Ok(()),
        }
    }

    fn give_up(&mut self, why: String) -> LoadError {
        self.broken = Some(why.clone());
        LoadError::Thread(why)
    }

    fn tell(&self, index: usize, order: Order) {
        let member = &self.members[index];
        member.beat_ns.store(clock::now(), Ordering::Relaxed);
        // A thread that is gone has said so, and gather hears it.
        let _ = member.orders.send(order);
    }

    /// One reply of each of the first `threads` threads, in their order; `watch` looks on.
    fn gather(&mut self, threads: usize, watch: &mut dyn FnMut()) -> Result<Vec<Reply>, String> {
        let mut replies: Vec<Option<Reply>> = (0..threads).map(|_| None).collect();
        while replies.iter().any(Option::is_none) {
            match self.replies.recv_timeout(TICK) {
                Ok((index, reply)) => self.note(index, reply, &mut replies)?,
                Err(RecvTimeoutError::Timeout) => {
                    watch();
                    self.check_beats(&replies)?;
                }
                Err(RecvTimeoutError::Disconnected) => self.lost("all threads ended".into())?,
            }
        }
        Ok(replies.into_iter().flatten().collect())
    }

    fn note(&mut self, index: usize, reply: Reply, replies: &mut [Option<Reply>]) -> Result<(), String> {
        match (reply, replies.get_mut(index)) {
            // It ends after its answer when it could not prepare itself.
            (Reply::Gone, Some(Some(_))) => self.broken = Some(format!("thread {index} has ended")),
            (Reply::Gone, _) => self.lost(format!("thread {index} ended by a panic"))?,
            (reply, Some(place)) => *place = Some(reply),
            (_, None) => self.lost(format!("thread {index} answered unasked"))?,
        }
        Ok(())
    }

    fn check_beats(&mut self, replies: &[Option<Reply>]) -> Result<(), String> {
        let now_ns = clock::now();
        let waiting = self.members.iter().zip(replies).filter(|(_, reply)| reply.is_none());
        let mut beats = waiting.map(|(member, _)| member.beat_ns.load(Ordering::Relaxed));
        if beats.any(|beat_ns| beat_ns.saturating_add(self.patience_ns) < now_ns) {
            let seconds = self.patience_ns as f64 / 1e9;
            return self.lost(format!("no I/O came back for {seconds} s"));
        }
        Ok(())
    }

    fn lost(&mut self, why: String) -> Result<(), String> {
        self.broken = Some(why.clone());
        Err(why)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let broken = self.broken.is_some();
        for member in self.members.drain(..) {
            drop(member.orders);
            // A stuck thread ends when its I/O does; waiting for it would hang.
            if !broken {
                let _ = member.thread.join();
            }
        }
    }
}

impl Member {
    fn start(
        index: usize,
        start: Start,
        setup: Setup,
        replies: Sender<(usize, Reply)>,
    ) -> io::Result<Member> {
        let (orders, inbox) = channel();
        let beat_ns = setup.beat_ns.clone();
        beat_ns.store(clock::now(), Ordering::Relaxed);
        let farewell = Farewell { index, replies };
        let thread = std::thread::Builder::new()
            .name(format!("iotax-load-{index}"))
            .spawn(move || serve(start, setup, &inbox, &farewell))?;
        Ok(Member { orders, beat_ns, thread })
    }
}

/// Says so when its thread ends, for whatever reason.
struct Farewell {
    index: usize,
    replies: Sender<(usize, Reply)>,
}

impl Farewell {
    fn reply(&self, reply: Reply) {
        // Nobody listens any more when the worker was dropped: then the thread ends too.
        let _ = self.replies.send((self.index, reply));
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        self.reply(Reply::Gone);
    }
}

/// The life of a thread: prepare, then slice by slice until the worker is dropped.
fn serve(start: Start, setup: Setup, inbox: &Receiver<Order>, farewell: &Farewell) {
    let mut lane = match setup.seat.take().and_then(|()| start(setup)) {
        Ok(lane) => lane,
        Err(error) => return farewell.reply(Reply::Ready(Err(error))),
    };
    farewell.reply(Reply::Ready(Ok(lane.lacks())));
    while let Ok(order) = inbox.recv() {
        match order {
            Order::Slice(order) => farewell.reply(Reply::Slice(lane.slice(&order))),
            Order::Flush => farewell.reply(Reply::Flushed(lane.flush())),
            Order::Settle => farewell.reply(Reply::Settled(lane.settle())),
            Order::ReadBack(order) => farewell.reply(Reply::ReadBack(lane.read_back(&order))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Completion, Engine, Io};
    use crate::gate::Gate;
    use crate::lane::{Lane, Stop};
    use crate::offsets::{Cursor, Region};
    use crate::seat::Seat;
    use crate::{Hold, Job};
    use std::sync::atomic::AtomicBool;

    static RELEASED: AtomicBool = AtomicBool::new(false);

    /// Never answers until it is told to.
    struct Stuck(Vec<Completion>);

    impl Engine for Stuck {
        unsafe fn submit(&mut self, io: &Io) {
            let (slot, result) = (io.slot, io.len as i32);
            self.0.push(Completion { slot, result });
        }

        fn reap(&mut self, _: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()> {
            while !RELEASED.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            done.append(&mut self.0);
            Ok(())
        }
    }

    struct Panicking;

    impl Engine for Panicking {
        unsafe fn submit(&mut self, _: &Io) {}

        fn reap(&mut self, _: Option<u64>, _: &mut Vec<Completion>) -> io::Result<()> {
            panic!("expected by a test");
        }
    }

    struct Broken;

    impl Engine for Broken {
        unsafe fn submit(&mut self, _: &Io) {}

        fn reap(&mut self, _: Option<u64>, _: &mut Vec<Completion>) -> io::Result<()> {
            Err(io::Error::from_raw_os_error(libc::EBADF))
        }
    }

    fn setup() -> Setup {
        let job = Job::default();
        let region = Region { offset: 0, bs: job.bs, blocks: 10 };
        Setup {
            job,
            file: tempfile::tempfile().unwrap(),
            region,
            cursor: Cursor::own(0),
            pace: None,
            hold: Hold::default(),
            seat: Seat::default(),
            ledger: None,
            depth: 1,
            stream: 0,
            beat_ns: Arc::default(),
        }
    }

    fn slice(crew: &mut Crew) -> Result<Vec<LaneResult>, LoadError> {
        let gate = Arc::new(Gate::new(crew.len(), None));
        let order = |_| SliceOrder { stop: Stop::Blocks(1), gate: gate.clone() };
        crew.slice((0..crew.len()).map(order).collect())
    }

    #[test]
    fn a_stuck_thread_is_given_up_and_the_crew_with_it() {
        let start: Start = |setup| Lane::boxed(setup, |_, _| Ok(Stuck(Vec::new())));
        let mut crew = Crew::start_with(start, vec![setup()], 50_000_000).unwrap();
        let words = slice(&mut crew).unwrap_err().to_string();
        assert_eq!(words, "a load thread stopped: no I/O came back for 0.05 s");
        assert_eq!(slice(&mut crew).unwrap_err().to_string(), words);
        drop(crew);
        RELEASED.store(true, Ordering::Relaxed);
    }

    #[test]
    fn a_panic_in_a_thread_is_an_error() {
        let start: Start = |setup| Lane::boxed(setup, |_, _| Ok(Panicking));
        let mut crew = Crew::start_with(start, vec![setup(), setup()], PATIENCE_NS).unwrap();
        let words = slice(&mut crew).unwrap_err().to_string();
        assert!(words.contains("ended by a panic"), "{words}");
    }

    #[test]
    fn an_engine_that_fails_is_an_error() {
        let start: Start = |setup| Lane::boxed(setup, |_, _| Ok(Broken));
        let mut crew = Crew::start_with(start, vec![setup()], PATIENCE_NS).unwrap();
        let words = slice(&mut crew).unwrap_err().to_string();
        assert!(words.contains("engine failed: Bad file descriptor"), "{words}");
        assert!(slice(&mut crew).is_err());
    }

    #[test]
    fn a_thread_that_cannot_prepare_itself_says_why() {
        let start: Start = |_| Err(io::Error::other("no memory for it"));
        let failed = Crew::start_with(start, vec![setup(), setup()], PATIENCE_NS);
        let (thread, error) = failed.err().unwrap();
        assert_eq!((thread, error.to_string()), (0, "no memory for it".into()));
    }
}
