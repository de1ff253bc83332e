//! A real sshd on loopback with keys of its own; it ends when dropped.

use crate::rig::{Rig, can, is_root, wait};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Reached as `ssh:elsewhere` with [`Sshd::config`].
pub struct Sshd {
    children: Vec<(String, Child)>,
    pub config: PathBuf,
}

/// A host beside `elsewhere`, with a `/tmp` of its own.
pub const OTHER: &str = "other";

impl Sshd {
    /// `instead`: a script of sh that is run instead of every command, which is in its
    /// `$SSH_ORIGINAL_COMMAND`.
    pub fn start(rig: &Rig, instead: Option<&str>) -> Option<Sshd> {
        if !can("root and openssh-server", is_root() && Path::new("/usr/sbin/sshd").exists()) {
            return None;
        }
        let folder = rig.path("ssh");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::create_dir_all("/run/sshd").unwrap();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.join(key))
                .status();
            assert!(made.unwrap().success());
        }
        std::fs::copy(folder.join("user.pub"), folder.join("authorized")).unwrap();
        let mut sshd = Sshd { children: Vec::new(), config: folder.join("config") };
        sshd.serve("elsewhere", instead, &["/usr/sbin/sshd"]);
        Some(sshd)
    }

    /// Makes [`OTHER`] a host.
    pub fn serve_other(&mut self) {
        self.serve_apart(OTHER);
    }

    /// Makes a host beside the others, with a `/tmp` and processes of its own.
    pub fn serve_apart(&mut self, host: &str) {
        let alone = "mount -t tmpfs none /tmp && exec /usr/sbin/sshd \"$@\"";
        let unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
        self.serve(host, None, &[&unshare[..], &["sh", "-c", alone, "sshd"]].concat());
    }

    /// Makes a host whose processes are in a control group, by its `cgroup.procs`.
    pub fn serve_in_group(&mut self, host: &str, procs: &Path) {
        let joined = format!("echo $$ > {} && exec /usr/sbin/sshd \"$@\"", procs.display());
        self.serve(host, None, &["sh", "-c", &joined, "sshd"]);
    }

    /// Makes a host whose commands have these variables in their environment.
    pub fn serve_with_environment(&mut self, host: &str, variables: &[(&str, &str)]) {
        let words: Vec<String> =
            variables.iter().map(|(name, value)| format!("\"{name}={value}\"")).collect();
        self.serve_configured(host, &format!("SetEnv {}\n", words.join(" ")), &["/usr/sbin/sshd"]);
    }

    /// Has a host ask for another key.
    pub fn refuse_key(&mut self, host: &str) {
        let entry = format!("Host {host}\n IdentityFile /dev/null\n");
        let before = std::fs::read_to_string(&self.config).unwrap();
        let own = format!("Host {host}\n");
        let at = before.find(&own).unwrap();
        let rest = before[at..].replacen(&own, &entry, 1);
        let rest = rest.replacen("/user\n", "/host\n", 1);
        std::fs::write(&self.config, before[..at].to_owned() + &rest).unwrap();
    }

    /// Ends all that works for us on a host, but not the host.
    pub fn end_agents(&self, host: &str) {
        let is_agent = |pid: &i32| {
            std::fs::read_link(format!("/proc/{pid}/exe"))
                .is_ok_and(|exe| exe.to_string_lossy().contains("/iotax-"))
        };
        let agents: Vec<i32> = self.processes(host).into_iter().filter(is_agent).collect();
        assert!(!agents.is_empty(), "{host} has no agent");
        agents.into_iter().for_each(end);
    }

    /// Ends a host with all that is on it.
    pub fn cut(&mut self, host: &str) {
        self.processes(host).into_iter().for_each(end);
        let at = self.children.iter().position(|(name, _)| name == host).unwrap();
        drop(self.children.remove(at).1.wait());
    }

    /// Of its server and all that descend from it.
    fn processes(&self, host: &str) -> Vec<i32> {
        let server = self.children.iter().find(|(name, _)| name == host).unwrap().1.id() as i32;
        let parent_of = |pid: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<i32>().ok()
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let is_of = |pid: &i32| {
            std::iter::successors(Some(*pid), |pid| parent_of(*pid)).any(|pid| pid == server)
        };
        all.filter(is_of).collect()
    }

    fn serve(&mut self, host: &str, instead: Option<&str>, program: &[&str]) {
        let mut further = String::new();
        if let Some(script) = instead {
            let folder = self.config.parent().unwrap();
            std::fs::write(folder.join("instead"), script).unwrap();
            further = format!("ForceCommand sh {}/instead\n", folder.display());
        }
        self.serve_configured(host, &further, program);
    }

    fn serve_configured(&mut self, host: &str, further: &str, program: &[&str]) {
        let folder = self.config.parent().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = folder.display();
        let server = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized\n\
             PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n{further}"
        );
        let config = folder.join(format!("sshd_config-{host}"));
        std::fs::write(&config, server).unwrap();
        let append = |name: &str, text: &str| {
            let mut options = std::fs::OpenOptions::new();
            options
                .create(true)
                .append(true)
                .open(folder.join(name))
                .unwrap()
                .write_all(text.as_bytes())
                .unwrap();
        };
        let public = std::fs::read_to_string(folder.join("host.pub")).unwrap();
        append("known", &format!("[127.0.0.1]:{port} {public}"));
        let user = std::env::var("USER").unwrap_or_else(|_| "root".into());
        // The first of several entries counts: a host that is served again has another port.
        let before = std::fs::read_to_string(&self.config).unwrap_or_default();
        let entry = format!(
            "Host {host}\n HostName 127.0.0.1\n Port {port}\n User {user}\n IdentityFile {at}/user\n \
             IdentitiesOnly yes\n UserKnownHostsFile {at}/known\n"
        );
        std::fs::write(&self.config, entry + &before).unwrap();
        let log = std::fs::File::create(folder.join(format!("log-{host}"))).unwrap();
        let (program, before) = program.split_first().unwrap();
        let child = Command::new(program)
            .args(before)
            .args(["-D", "-e", "-f"])
            .arg(config)
            .stderr(log)
            .spawn();
        self.children.push((host.to_owned(), child.unwrap()));
        wait(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok(), 10, "sshd");
    }
}

fn end(pid: i32) {
    // One that ended by itself meanwhile is as good.
    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}

impl Drop for Sshd {
    fn drop(&mut self) {
        for (_, child) in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
