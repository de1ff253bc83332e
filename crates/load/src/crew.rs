//! Load threads that stay between slices: started once, waiting for orders, ended when the last
//! worker that uses them is dropped. A thread that dies, or whose I/O does not come back, gives an
//! error, never a hang. The crew then runs no further slice, and a stuck thread keeps its memory
//! until its I/O ends.

use crate::LoadError;
use crate::clock;
use crate::engine::family::EngineFamily;
use crate::lane::{FlushResult, LaneResult, LaneShort, Resident, Setup, ShortOrder, SliceOrder};
use crate::seat::Seat;
use crate::spec::SliceResult;
use crate::transient::Transient;
use crate::verify::{BackOrder, ReadBackPass};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time after which an I/O is given up: longer than the time-outs and retries with which drivers
/// save a slow one.
pub(crate) const PATIENCE_NS: u64 = 120_000_000_000;

/// Interval at which a waiting crew looks for stuck threads.
const TICK: Duration = Duration::from_millis(100);

enum CrewOrder {
    Join(LaneJoin),
    Leave,
    Slice(SliceOrder),
    BeginSeries(u64),
    Series(Vec<(u32, ShortOrder)>),
    EndSeries,
    Flush,
    Settle,
    ReadBack(BackOrder),
}

/// Order to a thread to make a lane: the engine, memory and counts of one worker in this thread.
struct LaneJoin {
    start: CrewStart,
    setup: Box<Setup>,
}

enum CrewReply {
    Joined(io::Result<Vec<&'static str>>),
    Done,
    Slice(io::Result<LaneResult>),
    Series(io::Result<Vec<LaneShort>>),
    Ended(Box<(SliceResult, Transient)>),
    Flushed(FlushResult),
    Settled(io::Result<()>),
    ReadBack(io::Result<ReadBackPass>),
    Gone,
}

struct CrewThread {
    orders: Sender<(u32, CrewOrder)>,
    seat: Seat,
    beat_ns: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

/// Load threads of one worker, or of several that share them. Each thread has a lane for every
/// worker that uses it. Where a thread runs and what its processor has in its caches is the same
/// for all these workers, so it makes no difference between them.
pub(crate) struct LoadCrew {
    members: Vec<CrewThread>,
    farewells: Sender<(usize, CrewReply)>,
    replies: Receiver<(usize, CrewReply)>,
    patience_ns: u64,
    broken: Option<String>,
    next_lane: u32,
}

/// Lanes of a worker that have joined a crew.
#[derive(Debug)]
pub(crate) struct JoinedLanes {
    /// Number by which each thread finds the worker's lane.
    pub(crate) lane: u32,
    /// Features that the engine of at least one thread has to do without, in words.
    pub(crate) lacks: BTreeSet<&'static str>,
}

type CrewStart = fn(Setup) -> io::Result<Box<dyn Resident>>;

/// Locks a crew, even if a thread panicked while it held the lock: no order is ever half given.
pub(crate) fn lock(crew: &Mutex<LoadCrew>) -> MutexGuard<'_, LoadCrew> {
    crew.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LoadCrew {
    pub(crate) fn new() -> LoadCrew {
        LoadCrew::with_patience(PATIENCE_NS)
    }

    fn with_patience(patience_ns: u64) -> LoadCrew {
        let (farewells, replies) = channel();
        LoadCrew {
            members: Vec::new(),
            farewells,
            replies,
            patience_ns,
            broken: None,
            next_lane: 0,
        }
    }

    /// Returns true if the crew is not broken and each set-up asks for the processors and I/O
    /// priority that the thread of the same index has. Set-ups beyond the last thread get new ones.
    pub(crate) fn suits(&self, setups: &[Setup]) -> bool {
        self.broken.is_none()
            && setups.iter().zip(&self.members).all(|(setup, member)| setup.seat == member.seat)
    }

    /// Makes a lane in each of the first threads, one per set-up, and starts missing threads. Waits
    /// until all lanes are ready.
    ///
    /// # Errors
    /// The index of a thread, and why it could not be started or make its lane; index 0 if the crew
    /// is broken. All lanes are dropped again, unless the crew is broken.
    pub(crate) fn join(
        &mut self,
        kind: &EngineFamily,
        setups: Vec<Setup>,
    ) -> Result<JoinedLanes, (usize, io::Error)> {
        self.join_with(kind.start, setups)
    }

    fn join_with(
        &mut self,
        start: CrewStart,
        setups: Vec<Setup>,
    ) -> Result<JoinedLanes, (usize, io::Error)> {
        let mut joined = JoinedLanes { lane: self.next_lane, lacks: BTreeSet::new() };
        self.next_lane += 1;
        let mut orders = Vec::with_capacity(setups.len());
        for (index, mut setup) in setups.into_iter().enumerate() {
            if index == self.members.len() {
                let member = CrewThread::start(index, setup.seat.clone(), self.farewells.clone());
                self.members.push(member.map_err(|error| (index, error))?);
            }
            setup.beat_ns = Arc::clone(&self.members[index].beat_ns);
            orders.push(CrewOrder::Join(LaneJoin { start, setup: Box::new(setup) }));
        }
        let threads = orders.len();
        let replies = self.replies_to(joined.lane, orders, &mut || ());
        let mut failed = None;
        for (index, reply) in
            replies.map_err(|error| (0, io::Error::other(error)))?.into_iter().enumerate()
        {
            match reply {
                CrewReply::Joined(Ok(lacks)) => joined.lacks.extend(lacks),
                CrewReply::Joined(Err(error)) => failed = failed.or(Some((index, error))),
                _ => {
                    failed = failed
                        .or(Some((index, io::Error::other("a thread answered another order"))))
                }
            }
        }
        if failed.is_some() {
            self.leave(joined.lane, threads);
        }
        failed.map_or(Ok(joined), Err)
    }

    /// Drops the lanes of this number in the first `threads` threads. In a broken crew they stay,
    /// because a thread may be stuck.
    pub(crate) fn leave(&mut self, lane: u32, threads: usize) {
        if self.broken.is_none() {
            // If the crew breaks now, the next order reports it.
            let _ =
                self.replies_to(lane, (0..threads).map(|_| CrewOrder::Leave).collect(), &mut || ());
        }
    }

    /// Runs a slice of the worker whose lanes have this number: takes an order for each thread, and
    /// returns a result from each.
    ///
    /// # Errors
    /// When a thread died, is stuck, or its engine failed, now or in an earlier slice.
    pub(crate) fn run_crew_slice(
        &mut self,
        lane: u32,
        orders: Vec<SliceOrder>,
    ) -> Result<Vec<LaneResult>, LoadError> {
        let orders = orders.into_iter().map(CrewOrder::Slice).collect();
        self.ask_threads(lane, orders, &mut || (), "engine failed", |reply| match reply {
            CrewReply::Slice(result) => Some(result),
            _ => None,
        })
    }

    /// Clears the counts of a worker's lanes, which are in the first `threads` threads, for a new
    /// series. The bins of its [`Transient`] are `bin_ns` wide.
    ///
    /// # Errors
    /// When a thread died or is stuck.
    pub(crate) fn begin_series(
        &mut self,
        lane: u32,
        threads: usize,
        bin_ns: u64,
    ) -> Result<(), LoadError> {
        let orders = (0..threads).map(|_| CrewOrder::BeginSeries(bin_ns)).collect();
        self.ask_threads(lane, orders, &mut || (), "series", |reply| {
            matches!(reply, CrewReply::Done).then_some(Ok(()))
        })?;
        Ok(())
    }

    /// Runs slices of several workers one after the other. `orders` has for each thread the slices
    /// that it takes part in, each with the number of the lane.
    ///
    /// # Errors
    /// The errors of [`LoadCrew::run_crew_slice`].
    pub(crate) fn series(
        &mut self,
        orders: Vec<Vec<(u32, ShortOrder)>>,
    ) -> Result<Vec<Vec<LaneShort>>, LoadError> {
        let orders = orders.into_iter().map(CrewOrder::Series).collect();
        self.ask_threads(0, orders, &mut || (), "engine failed", |reply| match reply {
            CrewReply::Series(result) => Some(result),
            _ => None,
        })
    }

    /// Returns, for each of the first `threads` threads, the counts of its lane since
    /// [`LoadCrew::begin_series`].
    ///
    /// # Errors
    /// When a thread died or is stuck.
    pub(crate) fn end_series(
        &mut self,
        lane: u32,
        threads: usize,
    ) -> Result<Vec<(SliceResult, Transient)>, LoadError> {
        let orders = (0..threads).map(|_| CrewOrder::EndSeries).collect();
        self.ask_threads(lane, orders, &mut || (), "series", |reply| match reply {
            CrewReply::Ended(ended) => Some(Ok(*ended)),
            _ => None,
        })
    }

    /// Calls fsync on the lane's file in the first `threads` threads, in all at once.
    ///
    /// # Errors
    /// When a thread died or is stuck; the errors of fsync are in the results.
    pub(crate) fn flush_lanes(
        &mut self,
        lane: u32,
        threads: usize,
    ) -> Result<Vec<FlushResult>, LoadError> {
        let orders = (0..threads).map(|_| CrewOrder::Flush).collect();
        self.ask_threads(lane, orders, &mut || (), "fsync", |reply| match reply {
            CrewReply::Flushed(result) => Some(Ok(result)),
            _ => None,
        })
    }

    /// Calls fsync on the lane's file in the first `threads` threads, each of which then drops the
    /// file's pages from the page cache.
    ///
    /// # Errors
    /// When a thread died or is stuck; other errors are in the results.
    pub(crate) fn settle_lanes(
        &mut self,
        lane: u32,
        threads: usize,
    ) -> Result<Vec<io::Result<()>>, LoadError> {
        let orders = (0..threads).map(|_| CrewOrder::Settle).collect();
        self.ask_threads(lane, orders, &mut || (), "fsync", |reply| match reply {
            CrewReply::Settled(result) => Some(Ok(result)),
            _ => None,
        })
    }

    /// Reads back written blocks, with an order for each thread. Calls `watch` after each [`TICK`]
    /// in which no thread was done.
    ///
    /// # Errors
    /// When a thread died, is stuck, or has no memory for the reads.
    pub(crate) fn read_back(
        &mut self,
        lane: u32,
        orders: Vec<BackOrder>,
        watch: &mut dyn FnMut(),
    ) -> Result<Vec<ReadBackPass>, LoadError> {
        let orders = orders.into_iter().map(CrewOrder::ReadBack).collect();
        self.ask_threads(lane, orders, watch, "what was written cannot be read back", |reply| {
            match reply {
                CrewReply::ReadBack(result) => Some(result),
                _ => None,
            }
        })
    }

    /// Sends one order to each of the first threads, and returns what `pick` takes out of their
    /// replies (`None`: the reply to another order). An error breaks the crew, and its text begins
    /// with `failed`.
    fn ask_threads<T>(
        &mut self,
        lane: u32,
        orders: Vec<CrewOrder>,
        watch: &mut dyn FnMut(),
        failed: &str,
        pick: fn(CrewReply) -> Option<io::Result<T>>,
    ) -> Result<Vec<T>, LoadError> {
        let mut results = Vec::with_capacity(orders.len());
        for reply in self.replies_to(lane, orders, watch)? {
            match pick(reply) {
                Some(Ok(result)) => results.push(result),
                Some(Err(error)) => return Err(self.give_up(format!("{failed}: {error}"))),
                None => return Err(self.give_up("a thread answered another order".into())),
            }
        }
        Ok(results)
    }

    fn replies_to(
        &mut self,
        lane: u32,
        orders: Vec<CrewOrder>,
        watch: &mut dyn FnMut(),
    ) -> Result<Vec<CrewReply>, LoadError> {
        self.check_unbroken()?;
        let threads = orders.len();
        for (index, order) in orders.into_iter().enumerate() {
            self.send(index, lane, order);
        }
        self.gather(threads, watch).map_err(LoadError::Thread)
    }

    fn check_unbroken(&self) -> Result<(), LoadError> {
        match &self.broken {
            Some(why) => Err(LoadError::Thread(why.clone())),
            None => Ok(()),
        }
    }

    fn give_up(&mut self, why: String) -> LoadError {
        self.broken = Some(why.clone());
        LoadError::Thread(why)
    }

    fn send(&self, index: usize, lane: u32, order: CrewOrder) {
        let member = &self.members[index];
        member.beat_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
        // A thread that has ended has reported that, and `gather` receives it.
        let _ = member.orders.send((lane, order));
    }

    /// Waits for one reply from each of the first `threads` threads, and returns them in the order
    /// of the threads. Calls `watch` after each [`TICK`] without a reply. If a thread has ended or
    /// is stuck, the crew is broken, and the reason is returned.
    fn gather(
        &mut self,
        threads: usize,
        watch: &mut dyn FnMut(),
    ) -> Result<Vec<CrewReply>, String> {
        let mut replies: Vec<Option<CrewReply>> = (0..threads).map(|_| None).collect();
        while replies.iter().any(Option::is_none) {
            match self.replies.recv_timeout(TICK) {
                Ok((index, reply)) => self.note_reply(index, reply, &mut replies)?,
                Err(RecvTimeoutError::Timeout) => {
                    watch();
                    self.check_beats(&replies)?;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.note_lost_thread("all threads ended".into())?
                }
            }
        }
        Ok(replies.into_iter().flatten().collect())
    }

    fn note_reply(
        &mut self,
        index: usize,
        reply: CrewReply,
        replies: &mut [Option<CrewReply>],
    ) -> Result<(), String> {
        match (reply, replies.get_mut(index)) {
            // A thread that could not take its seat ends after its answer.
            (CrewReply::Gone, Some(Some(_))) => {
                self.broken = Some(format!("thread {index} has ended"))
            }
            (CrewReply::Gone, _) => {
                self.note_lost_thread(format!("thread {index} ended by a panic"))?
            }
            (reply, Some(place)) => *place = Some(reply),
            (_, None) => self.note_lost_thread(format!("thread {index} answered unasked"))?,
        }
        Ok(())
    }

    fn check_beats(&mut self, replies: &[Option<CrewReply>]) -> Result<(), String> {
        let now_ns = clock::monotonic_ns();
        let waiting = self.members.iter().zip(replies).filter(|(_, reply)| reply.is_none());
        let mut beats = waiting.map(|(member, _)| member.beat_ns.load(Ordering::Relaxed));
        if beats.any(|beat_ns| beat_ns.saturating_add(self.patience_ns) < now_ns) {
            let seconds = self.patience_ns as f64 / 1e9;
            return self.note_lost_thread(format!("no I/O came back for {seconds} s"));
        }
        Ok(())
    }

    fn note_lost_thread(&mut self, why: String) -> Result<(), String> {
        self.broken = Some(why.clone());
        Err(why)
    }
}

impl Drop for LoadCrew {
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

impl CrewThread {
    fn start(
        index: usize,
        seat: Seat,
        replies: Sender<(usize, CrewReply)>,
    ) -> io::Result<CrewThread> {
        let (orders, inbox) = channel();
        let beat_ns = Arc::new(AtomicU64::new(clock::monotonic_ns()));
        let farewell = Farewell { index, replies };
        let sits = seat.clone();
        let thread = std::thread::Builder::new()
            .name(format!("iotax-load-{index}"))
            .spawn(move || serve(&sits, &inbox, &farewell))?;
        Ok(CrewThread { orders, seat, beat_ns, thread })
    }
}

/// Sends the replies of a thread and, when that ends for whatever reason, [`CrewReply::Gone`].
struct Farewell {
    index: usize,
    replies: Sender<(usize, CrewReply)>,
}

impl Farewell {
    fn reply(&self, reply: CrewReply) {
        // Nobody listens any more if the worker was dropped: then the thread ends too.
        let _ = self.replies.send((self.index, reply));
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        self.reply(CrewReply::Gone);
    }
}

/// Applies the seat to the calling thread, and serves orders until the crew is dropped. Ends at
/// once if the seat is refused.
fn serve(seat: &Seat, inbox: &Receiver<(u32, CrewOrder)>, farewell: &Farewell) {
    if let Err(error) = seat.take_seat() {
        return farewell.reply(CrewReply::Joined(Err(error)));
    }
    let mut lanes: BTreeMap<u32, Box<dyn Resident>> = BTreeMap::new();
    while let Ok((number, order)) = inbox.recv() {
        let reply = match (order, lanes.get_mut(&number)) {
            (CrewOrder::Join(LaneJoin { start, setup }), _) => {
                CrewReply::Joined(start(*setup).map(|lane| {
                    let lacks = lane.engine_lacks();
                    lanes.insert(number, lane);
                    lacks
                }))
            }
            (CrewOrder::Leave, _) => {
                lanes.remove(&number);
                CrewReply::Done
            }
            (CrewOrder::Series(orders), _) => CrewReply::Series(series(&mut lanes, &orders)),
            (CrewOrder::BeginSeries(bin_ns), Some(lane)) => {
                lane.begin_series(bin_ns);
                CrewReply::Done
            }
            (CrewOrder::EndSeries, Some(lane)) => CrewReply::Ended(Box::new(lane.end_series())),
            (CrewOrder::Slice(order), Some(lane)) => CrewReply::Slice(lane.run_lane_slice(&order)),
            (CrewOrder::Flush, Some(lane)) => CrewReply::Flushed(lane.flush_file()),
            (CrewOrder::Settle, Some(lane)) => CrewReply::Settled(lane.flush_and_drop_cache()),
            (CrewOrder::ReadBack(order), Some(lane)) => CrewReply::ReadBack(lane.read_back(&order)),
            (_, None) => CrewReply::Done,
        };
        farewell.reply(reply);
    }
}

/// Runs this thread's slices one after the other. All threads of a slice must pass its gate, even
/// one whose engine has failed: otherwise the others would wait forever.
fn series(
    lanes: &mut BTreeMap<u32, Box<dyn Resident>>,
    orders: &[(u32, ShortOrder)],
) -> io::Result<Vec<LaneShort>> {
    let mut done = Vec::with_capacity(orders.len());
    let mut failed = None;
    for (number, order) in orders {
        match lanes.get_mut(number).filter(|_| failed.is_none()).map(|lane| lane.short_slice(order))
        {
            Some(Ok(short)) => done.push(short),
            Some(Err(error)) => failed = Some(error),
            None => {
                order.gate.abort.store(true, Ordering::Relaxed);
                order.gate.pass();
            }
        }
    }
    failed.map_or(Ok(done), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::io::{Completion, Engine, Io};
    use crate::gate::StartGate;
    use crate::lane::{Lane, SliceStop};
    use crate::offsets::{Cursor, Region};
    use crate::seat::Seat;
    use crate::{Hold, Job};
    use std::sync::atomic::AtomicBool;

    static RELEASED: AtomicBool = AtomicBool::new(false);

    /// Engine that completes no I/O until it is released.
    struct Stuck(Vec<Completion>);

    impl Engine for Stuck {
        unsafe fn submit_io(&mut self, io: &Io) {
            let (slot, result) = (io.slot, io.len as i32);
            self.0.push(Completion { slot, result });
        }

        fn reap_completions(
            &mut self,
            _: Option<u64>,
            done: &mut Vec<Completion>,
        ) -> io::Result<()> {
            while !RELEASED.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            done.append(&mut self.0);
            Ok(())
        }
    }

    struct Panicking;

    impl Engine for Panicking {
        unsafe fn submit_io(&mut self, _: &Io) {}

        fn reap_completions(&mut self, _: Option<u64>, _: &mut Vec<Completion>) -> io::Result<()> {
            panic!("expected by a test");
        }
    }

    struct Broken;

    impl Engine for Broken {
        unsafe fn submit_io(&mut self, _: &Io) {}

        fn reap_completions(&mut self, _: Option<u64>, _: &mut Vec<Completion>) -> io::Result<()> {
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
            cursor: Cursor::start_own(0),
            pace: None,
            hold: Hold::default(),
            seat: Seat::default(),
            ledger: None,
            depth: 1,
            stream: 0,
            beat_ns: Arc::default(),
        }
    }

    fn slice(crew: &mut LoadCrew) -> Result<Vec<LaneResult>, LoadError> {
        let gate = Arc::new(StartGate::new(crew.members.len(), None));
        let order = |_| SliceOrder { stop: SliceStop::Blocks(1), gate: gate.clone() };
        crew.run_crew_slice(0, (0..crew.members.len()).map(order).collect())
    }

    #[test]
    fn a_stuck_thread_is_given_up_and_the_crew_with_it() {
        let start: CrewStart = |setup| Lane::boxed(setup, |_, _| Ok(Stuck(Vec::new())));
        let mut crew = LoadCrew::with_patience(50_000_000);
        crew.join_with(start, vec![setup()]).unwrap();
        let words = slice(&mut crew).unwrap_err().to_string();
        assert_eq!(words, "a load thread stopped: no I/O came back for 0.05 s");
        assert_eq!(slice(&mut crew).unwrap_err().to_string(), words);
        drop(crew);
        RELEASED.store(true, Ordering::Relaxed);
    }

    #[test]
    fn a_panic_in_a_thread_is_an_error() {
        let start: CrewStart = |setup| Lane::boxed(setup, |_, _| Ok(Panicking));
        let mut crew = LoadCrew::new();
        crew.join_with(start, vec![setup(), setup()]).unwrap();
        let words = slice(&mut crew).unwrap_err().to_string();
        assert!(words.contains("ended by a panic"), "{words}");
    }

    #[test]
    fn an_engine_that_fails_is_an_error() {
        let start: CrewStart = |setup| Lane::boxed(setup, |_, _| Ok(Broken));
        let mut crew = LoadCrew::new();
        crew.join_with(start, vec![setup()]).unwrap();
        let words = slice(&mut crew).unwrap_err().to_string();
        assert!(words.contains("engine failed: Bad file descriptor"), "{words}");
        assert!(slice(&mut crew).is_err());
    }

    #[test]
    fn a_thread_that_cannot_prepare_itself_says_why() {
        let start: CrewStart = |_| Err(io::Error::other("no memory for it"));
        let (thread, error) = LoadCrew::new().join_with(start, vec![setup(), setup()]).unwrap_err();
        assert_eq!((thread, error.to_string()), (0, "no memory for it".into()));
    }
}
