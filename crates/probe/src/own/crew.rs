//! The resident threads of a probe: each sits on one processor, does batches of units of about a millisecond, and counts
//! those that began within the window. A batch that a stall draws out draws the window out too, so a rate is never too high.

use super::{Make, Work};
use crate::{Probe, ProbeError, ProbeSpec};
use iotax_load::cpu::Cpu;
use iotax_load::{Bound, Direction, Histogram, SliceResult, SliceSpec, clock};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The clock is read so seldom that reading it costs nothing, and so often that a slice ends in time.
const BATCH_NS: u64 = 1_000_000;
/// No unit takes so long; a thread that does not answer for longer is given up.
const PATIENCE: Duration = Duration::from_secs(120);
/// Threads begin together so long behind the order, each with time to wake.
const LEAD_NS: u64 = 300_000;

/// What a thread is asked for.
#[derive(Clone, Copy)]
enum Order {
    /// To get ready.
    Prepare,
    Run(Run),
}

/// A slice.
#[derive(Clone, Copy)]
struct Run {
    begin_ns: u64,
    discard_ns: u64,
    window_ns: u64,
}

/// What a thread did.
struct Share {
    start_ns: u64,
    window_ns: u64,
    units: u64,
    discarded: u64,
    times: Histogram,
    cpu: Cpu,
}

struct Member {
    orders: Sender<Order>,
    shares: Receiver<Result<Option<Share>, ProbeError>>,
    thread: Option<JoinHandle<()>>,
}

/// All threads of a probe.
pub(super) struct Crew {
    spec: ProbeSpec,
    bytes: u64,
    members: Vec<Member>,
}

impl Crew {
    /// Starts them, and waits until all are ready.
    ///
    /// # Errors
    /// When one cannot sit where it should, or its work cannot be made.
    pub(super) fn start(spec: &ProbeSpec, make: Make) -> Result<Crew, ProbeError> {
        let cpus = seats(spec)?;
        let mut crew = Crew { spec: spec.clone(), bytes: 0, members: Vec::new() };
        for thread in 0..spec.numjobs.max(1) as usize {
            let (member, ready) = Member::start(spec, cpus[thread % cpus.len()], make)?;
            crew.members.push(member);
            crew.bytes = ready.recv_timeout(PATIENCE).map_err(|_| gone())??;
        }
        Ok(crew)
    }

    /// All do it at once.
    fn all(&self, order: Order, limit: Duration) -> Result<Vec<Option<Share>>, ProbeError> {
        for member in &self.members {
            member.orders.send(order).map_err(|_| gone())?;
        }
        self.members.iter().map(|member| member.shares.recv_timeout(limit).map_err(|_| gone())?).collect()
    }
}

/// The processors that threads take in turn: those that were asked for, else all that this process may use, the last first: interrupts
/// are served by the first.
///
/// # Errors
/// When one is not there.
fn seats(spec: &ProbeSpec) -> Result<Vec<u32>, ProbeError> {
    let allowed =
        sched_getaffinity(None).map_err(|error| super::refused("read the allowed processors", error))?;
    let is_allowed = |cpu: u32| (cpu as usize) < CpuSet::MAX_CPU && allowed.is_set(cpu as usize);
    if let Some(cpu) = spec.cpus_allowed.iter().find(|cpu| !is_allowed(**cpu)) {
        return Err(ProbeError::Unfit(format!(
            "probe {spec}: processor {cpu} does not exist, or this process may not use it; hint: remove cpus_allowed, or name others"
        )));
    }
    match spec.cpus_allowed.is_empty() {
        true => Ok((0..CpuSet::MAX_CPU as u32).rev().filter(|cpu| is_allowed(*cpu)).collect()),
        false => Ok(spec.cpus_allowed.clone()),
    }
}

impl Member {
    /// Starts one; the receiver gets the bytes of a unit when its work is made.
    fn start(
        spec: &ProbeSpec,
        cpu: u32,
        make: Make,
    ) -> Result<(Member, Receiver<Result<u64, ProbeError>>), ProbeError> {
        let (orders, asked) = channel::<Order>();
        let (answer, shares) = channel();
        let (tell, ready) = channel();
        let spec = spec.clone();
        let body = move || {
            let made = sit(cpu).and_then(|()| make(&spec)).and_then(|mut work| {
                let batch = calibrated(&mut *work)?;
                Ok((work, batch))
            });
            let (mut work, batch) = match made {
                Ok(made) => made,
                Err(error) => return drop(tell.send(Err(error))),
            };
            if tell.send(Ok(work.bytes())).is_err() {
                return;
            }
            while let Ok(order) = asked.recv() {
                let done = match order {
                    Order::Prepare if work.lasts() => Ok(None),
                    Order::Prepare => make(&spec).map(|made| {
                        work = made;
                        None
                    }),
                    Order::Run(run) => slice(&mut *work, batch, run).map(Some),
                };
                if answer.send(done).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("probe".into()).spawn(body);
        let thread = thread.map_err(|error| super::refused("start a thread", error))?;
        Ok((Member { orders, shares, thread: Some(thread) }, ready))
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for Member { orders, shares, thread } in self.members.drain(..) {
            drop((orders, shares));
            // One that panicked has said so.
            let _ = thread.map(JoinHandle::join);
        }
    }
}

fn sit(cpu: u32) -> Result<(), ProbeError> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set).map_err(|error| super::refused(&format!("run on processor {cpu}"), error))
}

/// Units that take about a batch's time: a power of two, so that the two places of a comparison mostly take the same.
fn calibrated(work: &mut dyn Work) -> Result<u64, ProbeError> {
    let mut units = 1;
    loop {
        let began = clock::now();
        work.batch(units, &mut Histogram::new())?;
        if clock::now() - began >= BATCH_NS * 7 / 10 || units >= 1 << 28 {
            return Ok(units);
        }
        units *= 2;
    }
}

fn slice(work: &mut dyn Work, batch: u64, order: Run) -> Result<Share, ProbeError> {
    let mut unused = Histogram::new();
    clock::wait_until(order.begin_ns);
    let cpu = Cpu::of_thread();
    let mut discarded = 0;
    while clock::now() < order.begin_ns + order.discard_ns {
        work.batch(batch, &mut unused)?;
        discarded += work.counted(batch);
    }
    let (start_ns, mut units, mut times) = (clock::now(), 0, Histogram::new());
    let mut before = start_ns;
    while before < start_ns + order.window_ns {
        work.batch(batch, &mut times)?;
        let now = clock::now();
        units += work.counted(batch);
        before = now;
    }
    Ok(Share {
        start_ns,
        window_ns: before - start_ns,
        units,
        discarded,
        times,
        cpu: Cpu::of_thread().since(cpu),
    })
}

impl Probe for Crew {
    fn name(&self) -> String {
        self.spec.to_string()
    }

    /// The window is that of the first thread; what others did in theirs counts in proportion.
    fn slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, ProbeError> {
        let Bound::Time { ns: window_ns } = spec.bound else {
            return Err(ProbeError::Unfit(format!("probe {} supports slices by time only", self.spec)));
        };
        self.all(Order::Prepare, PATIENCE)?;
        let begin_ns = spec.begin_ns.unwrap_or(clock::now() + LEAD_NS);
        let order = Run { begin_ns, discard_ns: spec.min_discard_ns, window_ns };
        let limit = Duration::from_nanos(spec.min_discard_ns + window_ns) + PATIENCE;
        let shares: Vec<Share> = self.all(Order::Run(order), limit)?.into_iter().flatten().collect();
        let window_ns = shares[0].window_ns;
        let mut result = SliceResult {
            window_start_ns: shares[0].start_ns,
            window_ns,
            discarded_ns: spec.min_discard_ns,
            ..SliceResult::default()
        };
        let mut read = Direction::default();
        for share in &shares {
            read.ios += (share.units as f64 * window_ns as f64 / share.window_ns as f64).round() as u64;
            read.latency.merge(&share.times);
            result.discarded_ios += share.discarded;
            result.cpu_user_ns += share.cpu.user_ns;
            result.cpu_system_ns += share.cpu.system_ns;
        }
        read.bytes = read.ios * self.bytes;
        result.read = read;
        Ok(result)
    }
}

fn gone() -> ProbeError {
    ProbeError::Failed("a thread of the probe stopped, or did not answer for two minutes".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    static MADE: AtomicU32 = AtomicU32::new(0);

    struct Idle {
        lasts: bool,
    }

    impl Work for Idle {
        fn batch(&mut self, _: u64, _: &mut Histogram) -> Result<(), ProbeError> {
            std::thread::sleep(Duration::from_millis(1));
            Ok(())
        }

        fn lasts(&self) -> bool {
            self.lasts
        }
    }

    /// How often it is made for three slices.
    fn made(make: Make) -> u32 {
        let before = MADE.load(Ordering::Relaxed);
        let mut crew = Crew::start(&ProbeSpec::parse("integer").unwrap(), make).unwrap();
        for _ in 0..3 {
            crew.slice(&SliceSpec::now(Bound::Time { ns: 2_000_000 }, 0, false)).unwrap();
        }
        MADE.load(Ordering::Relaxed) - before
    }

    #[test]
    fn work_is_made_anew_for_each_slice_unless_it_lasts() {
        fn idle(lasts: bool) -> Result<Box<dyn Work>, ProbeError> {
            MADE.fetch_add(1, Ordering::Relaxed);
            Ok(Box::new(Idle { lasts }))
        }
        assert_eq!(made(|_| idle(false)), 4);
        assert_eq!(made(|_| idle(true)), 1);
    }
}
