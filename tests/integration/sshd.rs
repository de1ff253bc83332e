//! A real sshd on loopback with keys of its own; it ends when dropped.

use crate::rig::{Rig, can, is_root, wait};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Reached as `ssh:elsewhere` with [`Sshd::config`].
pub struct Sshd {
    child: Child,
    pub config: PathBuf,
}

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
        std::fs::write(folder.join("sshd_config"), server).unwrap();
        let public = std::fs::read_to_string(folder.join("host.pub")).unwrap();
        std::fs::write(folder.join("known"), format!("[127.0.0.1]:{port} {public}")).unwrap();
        let user = std::env::var("USER").unwrap_or_else(|_| "root".into());
        let client = format!(
            "Host elsewhere\n HostName 127.0.0.1\n Port {port}\n User {user}\n IdentityFile {at}/user\n \
             IdentitiesOnly yes\n UserKnownHostsFile {at}/known\n"
        );
        let config = folder.join("config");
        std::fs::write(&config, client).unwrap();
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let child = Command::new("/usr/sbin/sshd")
            .arg("-D")
            .arg("-e")
            .arg("-f")
            .arg(folder.join("sshd_config"))
            .stderr(log)
            .spawn();
        wait(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok(), 10, "sshd");
        Some(Sshd { child: child.unwrap(), config })
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
