//! Against a real sshd on loopback with keys and configuration of its own. The agent that is copied
//! is this test program itself, made to run the test `agent_main`: what libtest prints first is
//! noise on stdout.

use super::*;
use iotax_drivers::agent_copy::is_ours;
use iotax_engines::serving::serve_stdio;
use iotax_engines::testing::{FakeHandler, spec, target};
use iotax_load::Job;
use iotax_wire::frame::{FrameError, PROTOCOL};
use iotax_wire::message::{Response, WireRequest};
use iotax_wire::peer::QUICK_LIMIT;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Instant;

const AGENT_MAIN: &str = "--ignored --exact ssh::tests::agent_main --nocapture --test-threads=1";

#[test]
#[ignore = "is the agent of the other tests, when copied by them"]
fn agent_main() {
    let exe = std::env::current_exe().unwrap();
    if exe.parent().is_some_and(is_ours) {
        serve_stdio(&mut FakeHandler::default()).unwrap();
    }
}

/// An sshd that dies with this value. What a client may do depends on the alias that it uses.
struct Sshd {
    process: Child,
    dir: tempfile::TempDir,
    options: SshOptions,
}

/// Alias, and what sshd runs instead of the command that was asked for.
const ALIASES: [(&str, &str); 8] = [
    ("floods", "exec yes"),
    ("plain", ""),
    ("noisy", "echo Welcome to box; echo mind the gap >&2; exec sh -c \"$SSH_ORIGINAL_COMMAND\""),
    (
        "garbage",
        "case \"$SSH_ORIGINAL_COMMAND\" in *agent_main*) echo This account is closed; echo why >&2;; *) exec sh -c \"$SSH_ORIGINAL_COMMAND\";; esac",
    ),
    (
        "version",
        "case \"$SSH_ORIGINAL_COMMAND\" in *agent_main*) printf '\\n<IOTAX-AGENT>\\r\\nIOTX\\011\\000\\002\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000'; sleep 5;; *) exec sh -c \"$SSH_ORIGINAL_COMMAND\";; esac",
    ),
    ("arm", "PATH=DIR/arm:$PATH exec sh -c \"$SSH_ORIGINAL_COMMAND\""),
    (
        "noexec",
        "HOME=DIR/home exec unshare -m sh -c 'mount -t tmpfs -o noexec tmpfs /tmp && exec sh -c \"$SSH_ORIGINAL_COMMAND\"'",
    ),
    (
        "nowhere",
        "HOME=/proc exec unshare -m sh -c 'mount -t tmpfs -o ro tmpfs /tmp && exec sh -c \"$SSH_ORIGINAL_COMMAND\"'",
    ),
];

impl Drop for Sshd {
    fn drop(&mut self) {
        // Already dead in the test that kills it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(words: &[&str]) {
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn sshd() -> Option<Sshd> {
    let lacking = if !rustix::process::geteuid().is_root() {
        Some("root, for an sshd of its own")
    } else if !Path::new("/usr/sbin/sshd").exists() {
        Some("openssh-server")
    } else {
        None
    };
    if let Some(what) = lacking {
        println!("skipped: needs {what}");
        return None;
    }
    // sshd refuses to start without its empty folder, which systemd would make.
    std::fs::create_dir_all("/run/sshd").unwrap();
    // Not under /tmp: one alias hides that.
    let dir = tempfile::Builder::new().prefix("iotax-sshd-").tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    run(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &at("host")]);
    std::fs::create_dir_all(dir.path().join("home")).unwrap();
    fake_uname(dir.path());
    let config = client_config(dir.path(), port);
    std::fs::write(at("config"), config).unwrap();
    std::fs::write(
        at("sshd_config"),
        format!("ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nMaxStartups 50\n", at("host"), at("keys")),
    )
    .unwrap();
    let process = Command::new("/usr/sbin/sshd")
        .args(["-D", "-e", "-f", &at("sshd_config")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_port(port);
    let options = SshOptions {
        arguments: Vec::new(),
        config: Some(dir.path().join("config")),
        binary: Some(std::env::current_exe().unwrap()),
        limit: Duration::from_secs(60),
        shared: None,
        agent_words: AGENT_MAIN,
    };
    Some(Sshd { process, dir, options })
}

fn fake_uname(dir: &Path) {
    std::fs::create_dir(dir.join("arm")).unwrap();
    std::fs::write(dir.join("arm/uname"), "#!/bin/sh\n[ $1 = -s ] && echo Linux || echo aarch64\n")
        .unwrap();
    std::fs::set_permissions(dir.join("arm/uname"), PermissionsExt::from_mode(0o755)).unwrap();
}

/// Each alias has a key of its own, and the key has the alias's command.
fn client_config(dir: &Path, port: u16) -> String {
    let host_key = std::fs::read_to_string(dir.join("host.pub")).unwrap();
    std::fs::write(dir.join("known"), format!("[127.0.0.1]:{port} {host_key}")).unwrap();
    let mut keys = String::new();
    let mut config = String::new();
    for (alias, command) in ALIASES {
        let key = dir.join(format!("key-{alias}")).display().to_string();
        run(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &key]);
        let public = std::fs::read_to_string(format!("{key}.pub")).unwrap();
        if !command.is_empty() {
            let script = dir.join(format!("{alias}.sh"));
            std::fs::write(&script, command.replace("DIR", &dir.display().to_string())).unwrap();
            keys += &format!("command=\"sh {}\" ", script.display());
        }
        keys += &public;
        config += &format!(
            "Host {alias}\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {key}\n IdentitiesOnly yes\n UserKnownHostsFile {}\n StrictHostKeyChecking yes\n\n",
            dir.join("known").display()
        );
    }
    std::fs::write(dir.join("keys"), keys).unwrap();
    config + "Host closed\n HostName 127.0.0.1\n Port 1\n\nHost deaf\n ProxyCommand sleep 600\n"
}

fn wait_for_port(port: u16) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "sshd does not listen");
        thread::sleep(Duration::from_millis(20));
    }
}

fn run_id(tag: &str) -> String {
    format!("test-{tag}-{}", std::process::id())
}

fn folder_in_tmp(run_id: &str) -> PathBuf {
    PathBuf::from(format!("/tmp/iotax-{run_id}"))
}

fn wait_until_gone(folder: &Path) {
    let deadline = Instant::now() + Duration::from_secs(15);
    while folder.exists() {
        assert!(Instant::now() < deadline, "{} is still there", folder.display());
        thread::sleep(Duration::from_millis(20));
    }
}

fn refused(sshd: &Sshd, host: &str) -> WireError {
    let id = run_id(&host.replace('.', "-"));
    let start = Instant::now();
    let error = connect(host, &id, &sshd.options).err().expect("it must not connect");
    assert!(start.elapsed() < sshd.options.limit + Duration::from_secs(10));
    assert!(!folder_in_tmp(&id).exists(), "left behind: {error}");
    error
}

#[test]
fn measures_over_a_real_sshd_and_leaves_nothing() {
    let Some(sshd) = sshd() else { return };
    for host in ["plain", "noisy"] {
        let id = run_id(host);
        let mut peer = connect(host, &id, &sshd.options).unwrap();
        assert_eq!(peer.name(), format!("ssh:{host}"));
        let folder = folder_in_tmp(&id);
        let meta = std::fs::metadata(&folder).unwrap();
        assert_eq!((meta.mode() & 0o777, std::fs::read_dir(&folder).unwrap().count()), (0o700, 1));
        peer.prepare(1, &[target(false)], &[Job::default()], None, QUICK_LIMIT).unwrap();
        assert_eq!(peer.slice(1, &spec(), QUICK_LIMIT).unwrap().result.read.latency.count(), 100);
        let offset = peer.clock_offset().unwrap();
        assert!(offset.offset_ns.unsigned_abs() <= offset.round_trip_ns, "{offset:?}");
        let again = connect(host, &id, &sshd.options).err().expect("the folder exists");
        assert!(again.to_string().contains("already exists on the host"), "{again}");
        assert!(folder.exists(), "the second connection removed the first one's agent");
        drop(peer);
        wait_until_gone(&folder);
        assert!(!remove_remote(host, &id, &sshd.options).unwrap());
    }
}

#[test]
fn a_killed_agent_and_a_dead_sshd_are_noticed_and_cleaned() {
    let Some(mut sshd) = sshd() else { return };
    let id = run_id("killed");
    let folder = folder_in_tmp(&id);
    let mut peer = connect("plain", &id, &sshd.options).unwrap();
    let Response::Hello(info) = peer.call(hello(&id), QUICK_LIMIT).unwrap() else {
        panic!("no hello")
    };
    let pid = rustix::process::Pid::from_raw(info.pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let dead = peer.call(WireRequest::Clock, QUICK_LIMIT).unwrap_err();
    assert!(matches!(dead.fault, WireFault::Frame(FrameError::Eof | FrameError::CutOff)), "{dead}");
    assert!(folder.exists());
    assert!(remove_remote("plain", &id, &sshd.options).unwrap());
    assert!(!folder.exists());

    let mut peer = connect("plain", &id, &sshd.options).unwrap();
    kill_sessions(&mut sshd.process);
    let cut = peer.call(WireRequest::Clock, QUICK_LIMIT).unwrap_err();
    assert!(!matches!(cut.fault, WireFault::Timeout { .. } | WireFault::Remote { .. }), "{cut}");
    let words = ["closed", "disconnect", "reset"];
    assert!(words.iter().any(|word| cut.last_words.contains(word)), "{cut}");
    wait_until_gone(&folder);
}

#[test]
fn an_agent_that_is_in_the_midst_of_a_step_is_waited_for() {
    let Some(sshd) = sshd() else { return };
    let id = run_id("busy");
    await_agents("plain", &id, &sshd.options).unwrap();
    let folder = folder_in_tmp(&format!("{id}-steps"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy("/bin/sleep", folder.join("iotax")).unwrap();
    let mut agent = Command::new(folder.join("iotax")).arg("2").spawn().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    await_agents("plain", &id, &sshd.options).unwrap();
    assert!(agent.try_wait().unwrap().is_some(), "it still runs");
}

/// Without this, iotax would wait three minutes in vain and without a message.
#[test]
fn an_agent_that_is_stopped_is_named_and_ended() {
    let Some(sshd) = sshd() else { return };
    let id = run_id("stopped");
    let mut peer = connect("plain", &id, &sshd.options).unwrap();
    let Response::Hello(info) = peer.call(hello(&id), QUICK_LIMIT).unwrap() else {
        panic!("no hello")
    };
    let pid = rustix::process::Pid::from_raw(info.pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let is_stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", info.pid)).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    iotax_drivers::wait::wait_until(Duration::from_secs(5), is_stopped).unwrap();
    let start = Instant::now();
    let silent = peer.call(WireRequest::Clock, QUICK_LIMIT).unwrap_err();
    assert!(matches!(silent.fault, WireFault::Silent(..)), "{silent}");
    assert!(start.elapsed() < Duration::from_secs(19), "{:?}", start.elapsed());
    drop(peer);
    let start = Instant::now();
    await_agents("plain", &id, &sshd.options).unwrap();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert!(!Path::new(&format!("/proc/{}/exe", info.pid)).exists(), "it is there still");
    assert!(remove_remote("plain", &id, &sshd.options).unwrap());
}

#[test]
fn a_host_that_says_something_without_end_is_cut_off() {
    let start = Instant::now();
    let words = StreamTail::keep_last(std::io::repeat(b'y'), 4096, None);
    iotax_drivers::wait::wait_until(Duration::from_secs(60), || words.heard().is_over).unwrap();
    assert_eq!(words.settled(), "y".repeat(4096));
    let Some(sshd) = sshd() else { return };
    let error = refused(&sshd, "floods");
    assert!(error.to_string().contains("did not run iotax's script to the end"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

fn hello(id: &str) -> WireRequest {
    WireRequest::Hello { protocol: PROTOCOL, iotax: "test".into(), run_id: id.into() }
}

/// Kills our sshd and the processes it made for its sessions, but not their agents.
fn kill_sessions(daemon: &mut Child) {
    let children = |pid: u32| -> Vec<u32> {
        let text =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let sessions = children(daemon.id());
    assert!(!sessions.is_empty());
    daemon.kill().unwrap();
    for pid in sessions {
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid as i32).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
    }
}

#[test]
fn hosts_that_cannot_serve_say_why() {
    let Some(sshd) = sshd() else { return };
    let closed = refused(&sshd, "closed");
    assert!(closed.to_string().contains("Connection refused"), "{closed}");
    assert!(closed.to_string().contains("hint: start sshd there"), "{closed}");
    let unknown = refused(&sshd, "no-such-host.invalid");
    assert!(unknown.to_string().contains("resolve hostname"), "{unknown}");
    assert!(unknown.to_string().contains("hint: check the name"), "{unknown}");
    let garbage = refused(&sshd, "garbage");
    assert!(garbage.to_string().contains("it wrote \"This account is closed\\n\""), "{garbage}");
    assert!(garbage.last_words.contains("why"), "{garbage}");
    let version = refused(&sshd, "version");
    assert!(
        matches!(
            version.fault,
            WireFault::Frame(FrameError::Version { theirs: 9, ours: PROTOCOL })
        ),
        "{version}"
    );
    let arm = refused(&sshd, "arm");
    assert!(
        arm.to_string().contains("it is a aarch64 machine, and this iotax is built for x86_64"),
        "{arm}"
    );
    assert!(arm.to_string().contains("agent=fio"), "{arm}");
}

#[test]
fn a_deaf_host_ends_at_the_limit() {
    let Some(mut sshd) = sshd() else { return };
    sshd.options.limit = Duration::from_millis(700);
    let deaf = refused(&sshd, "deaf");
    assert!(deaf.to_string().contains("killed at its time limit"), "{deaf}");
}

#[test]
fn where_tmp_forbids_execution_the_cache_is_used() {
    let Some(sshd) = sshd() else { return };
    let id = run_id("noexec");
    let folder = sshd.dir.path().join("home/.cache").join(format!("iotax-{id}"));
    let peer = connect("noexec", &id, &sshd.options).unwrap();
    assert!(folder.join("iotax").exists());
    drop(peer);
    wait_until_gone(&folder);
    let nowhere = refused(&sshd, "nowhere");
    assert!(nowhere.to_string().contains("no place for the agent"), "{nowhere}");
}

#[test]
fn destinations_and_ids_are_checked() {
    let options = SshOptions::default();
    for host in ["-oProxyCommand=reboot", "", "a b", "a\nb"] {
        let error = connect(host, "r1", &options).err().unwrap();
        assert_eq!(error.code, iotax_units::exit::BAD_INPUT);
        assert!(error.to_string().contains("is no ssh destination"), "{error}");
    }
    for id in ["", "a'b", "$(reboot)", "../x", "-x"] {
        assert!(remove_remote("h", id, &options).unwrap_err().to_string().contains("is no run id"));
    }
}

#[test]
fn a_configuration_that_another_user_could_have_written_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (config, ran) = (folder.path().join("config"), folder.path().join("ran"));
    std::fs::write(&config, format!("Host *\n ProxyCommand touch {}\n", ran.display())).unwrap();
    std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o666)).unwrap();
    let options =
        SshOptions { arguments: Vec::new(), config: Some(config.clone()), ..SshOptions::default() };
    let told = connect("h", "r1", &options).err().unwrap().to_string();
    let why = format!(
        "cannot start ssh: {} is not used: another user could have put a ProxyCommand there",
        config.display()
    );
    assert!(told.contains(&why) && told.contains("mode 0666"), "{told}");
    assert!(!ran.exists() && SharedSsh::start("h", &folder.path().join("s"), &options).is_none());
    std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(
        connect("h", "r1", &options).is_err() && ran.exists(),
        "the user's own may run what it likes"
    );
}

#[test]
fn scripts_pass_through_any_login_shell() {
    for script in [INSTALL, REMOVE] {
        assert!(!script.contains(['\'', '!', '\n']), "{script}");
    }
}

#[test]
fn cksum_is_that_of_posix() {
    // From cksum(1) itself.
    assert_eq!(cksum(&b""[..]).unwrap(), (4_294_967_295, 0));
    assert_eq!(cksum(&b"123456789"[..]).unwrap(), (930_766_865, 9));
    assert_eq!(cksum(&[7u8; 70_000][..]).unwrap(), (of_the_system(&[7u8; 70_000]), 70_000));
}

fn of_the_system(content: &[u8]) -> u32 {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    std::fs::write(&path, content).unwrap();
    let output = Command::new("cksum").stdin(File::open(path).unwrap()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn only_what_connect_made_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let [ours, open, foreign] = ["iotax-r1", "iotax-r2", "bin"].map(|name| dir.path().join(name));
    for (folder, mode) in [(&ours, 0o700), (&open, 0o755), (&foreign, 0o700)] {
        std::fs::create_dir(folder).unwrap();
        std::fs::set_permissions(folder, PermissionsExt::from_mode(mode)).unwrap();
    }
    assert!(is_ours(&ours) && !is_ours(&open) && !is_ours(&foreign));
}

#[test]
fn a_binary_that_is_not_run_there_leads_to_its_fio() {
    let error =
        |words: &str| with_hint(unreachable("h", "no greeting".into(), words.into())).to_string();
    assert!(
        error("sh: 1: /tmp/iotax-r/iotax: Exec format error").contains("ssh:HOST:/PATH,agent=fio")
    );
    assert!(!error("Connection reset by peer").contains("agent=fio"));
}

#[test]
fn a_host_that_ssh_does_not_reach_is_reported_with_what_to_do() {
    use std::os::unix::process::ExitStatusExt;
    let error = |stderr: &str| {
        let ended = Some(ExitStatus::from_raw(255 << 8));
        let said = ScriptOutput { stdout: String::new(), stderr: stderr.into(), ended };
        let error = said.error("db1", "its shell did not run our script to the end".into());
        assert!(matches!(error.fault, WireFault::Unreachable(_)), "{error}");
        assert_eq!(error.code, iotax_units::exit::UNMET_NEED);
        error.to_string()
    };
    let all = [
        "ssh: Could not resolve hostname db1: Name or service not known\n",
        "ssh: connect to host db1 port 22: Connection refused\n",
        "Warning: Permanently added 'db1' to the list of known hosts.\nroot@db1: Permission denied (publickey).\n",
        "No ED25519 host key is known for db1 and you have requested strict checking.\nHost key verification failed.\n",
        "",
    ];
    insta::assert_snapshot!(all.map(error).join("\n"));
    // Of a shell that was reached other things are wrong.
    let said = ScriptOutput {
        stdout: format!("{MARK} arch x86_64\n"),
        stderr: String::new(),
        ended: None,
    };
    assert!(matches!(said.error("db1", "cut".into()).fault, WireFault::NotStarted(_)));
}
