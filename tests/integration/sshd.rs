//! A real sshd on loopback with keys of its own; it ends when dropped.

use crate::rig::{Rig, can, is_root, wait};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Reached as `ssh:elsewhere` with [`Sshd::config`].
pub struct Sshd {
    children: Vec<Child>,
    pub config: PathBuf,
}

/// A host beside `elsewhere`, with a `/tmp` of its own.
pub const OTHER: &str = "other";

impl Sshd {
    /// `instead`: a script of sh that is run instead of every command, which is in its `$SSH_ORIGINAL_COMMAND`.
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
        let alone = "mount -t tmpfs none /tmp && exec /usr/sbin/sshd \"$@\"";
        self.serve(OTHER, None, &["unshare", "--mount", "sh", "-c", alone, "sshd"]);
    }

    fn serve(&mut self, host: &str, instead: Option<&str>, program: &[&str]) {
        let folder = self.config.parent().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = folder.display();
        let mut server = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized\n\
             PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
        );
        if let Some(script) = instead {
            std::fs::write(folder.join("instead"), script).unwrap();
            server += &format!("ForceCommand sh {at}/instead\n");
        }
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
        append(
            "config",
            &format!(
                "Host {host}\n HostName 127.0.0.1\n Port {port}\n User {user}\n IdentityFile {at}/user\n \
                 IdentitiesOnly yes\n UserKnownHostsFile {at}/known\n"
            ),
        );
        let log = std::fs::File::create(folder.join(format!("log-{host}"))).unwrap();
        let (program, before) = program.split_first().unwrap();
        let child =
            Command::new(program).args(before).args(["-D", "-e", "-f"]).arg(config).stderr(log).spawn();
        self.children.push(child.unwrap());
        wait(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok(), 10, "sshd");
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
