//! A child process to its end, or to its limit, with all that it wrote.

use iotax_sys::child::ended_within;
use std::process::{Child, Output};
use std::time::Duration;

/// Waits for a child; at the limit it is killed and there is `None`. Threads drain its output meanwhile: a report is
/// larger than a pipe's buffer.
///
/// # Errors
/// When it cannot be waited for.
pub fn wait_within(mut child: Child, limit: Duration) -> std::io::Result<Option<Output>> {
    let readers = (child.stdout.take().map(drain), child.stderr.take().map(drain));
    let Some(status) = ended_within(&mut child, limit)? else {
        // Both fail only if it has just ended by itself.
        let _ = child.kill();
        let _ = child.wait();
        return Ok(None);
    };
    let [stdout, stderr] =
        [readers.0, readers.1].map(|reader| reader.and_then(|reader| reader.join().ok()).unwrap_or_default());
    Ok(Some(Output { status, stdout, stderr }))
}

fn drain(mut pipe: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is all there is to show.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    #[test]
    fn one_that_hangs_is_killed() {
        let child =
            Command::new("sleep").arg("60").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        assert!(wait_within(child, Duration::from_millis(100)).unwrap().is_none());
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
