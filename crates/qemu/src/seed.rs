//! Seed of a guest with its own system: a disk with this program and with instructions for
//! cloud-init, which starts the program as the agent. The disk is a FAT volume called cidata,
//! cloud-init's NoCloud source. Nothing is installed or downloaded, no user or password is created,
//! and the network leads nowhere.

use super::elf;
use anyhow::{Context, Result};
use fatfs::{FileSystem, FormatVolumeOptions, FsOptions, ReadWriteSeek};
use std::io::{Cursor, Write};
use std::path::Path;
use std::time::Duration;

pub const SERIAL: &str = "iotax-seed";

/// Volume label that cloud-init looks for, padded for FAT.
const LABEL: [u8; 11] = *b"cidata     ";

/// Bytes of the volume beyond the files' contents, for tables, directory and rounding.
const MARGIN: usize = 4 << 20;

/// Instructions for cloud-init. Only `bootcmd` is run; the modules that create users, host keys and
/// packages are left out, so that the image's own remain.
const USER_DATA: &str = include_str!("seed/user-data");

/// Placeholder in [`USER_DATA`] for the seconds that the agent waits for the guest's system.
const PATIENCE: &str = "@patience@";

/// Identity of the instance. It is new to the image, so that cloud-init ignores what it did for
/// another one.
const META_DATA: &str = "instance-id: iotax\n";

pub const MAC: &str = "52:54:00:69:6f:74";

/// Network configuration for cloud-init. Without a network card systemd waits two minutes for one
/// (Debian 12 with networkd), and some systems wait for an address. So there is a card that leads
/// nowhere, with an address reserved for documentation (RFC 5737).
const NETWORK_CONFIG: &str = "version: 2
ethernets:
  iotax:
    match: {macaddress: \"52:54:00:69:6f:74\"}
    set-name: eth0
    dhcp4: false
    dhcp6: false
    link-local: []
    addresses: [192.0.2.1/24]
";

/// Builds the image of a seed with this program (statically linked, since its libraries are not
/// there), which waits at most `patience` for the guest's system to start.
///
/// # Errors
/// The program cannot be read or is not a static 64-bit ELF file, or the file system cannot be
/// made.
pub fn seed(program: &Path, patience: Duration) -> Result<Vec<u8>> {
    let agent =
        std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let agent = elf::loadable(&agent)
        .with_context(|| format!("cannot use {} as an agent", program.display()))?;
    let user_data = USER_DATA.replace(PATIENCE, &patience.as_secs().to_string());
    let files: [(&str, &[u8]); 4] = [
        ("user-data", user_data.as_bytes()),
        ("meta-data", META_DATA.as_bytes()),
        ("network-config", NETWORK_CONFIG.as_bytes()),
        ("iotax", &agent),
    ];
    volume(&files).context("cannot write the seed's file system")
}

fn volume(files: &[(&str, &[u8])]) -> std::io::Result<Vec<u8>> {
    let content: usize = files.iter().map(|(_, content)| content.len()).sum();
    let mut image = Cursor::new(vec![0; (content + MARGIN).next_multiple_of(1 << 20)]);
    fatfs::format_volume(&mut image, FormatVolumeOptions::new().volume_label(LABEL))?;
    let system = FileSystem::new(&mut image, FsOptions::new())?;
    files.iter().try_for_each(|(name, content)| add(&system, name, content))?;
    system.unmount()?;
    Ok(image.into_inner())
}

fn add<T: ReadWriteSeek>(
    system: &FileSystem<T>,
    name: &str,
    content: &[u8],
) -> std::io::Result<()> {
    let mut file = system.root_dir().create_file(name)?;
    file.write_all(content)?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn the_seed_is_a_volume_called_cidata_with_what_cloud_init_reads() {
        let seed = seed(&std::env::current_exe().unwrap(), Duration::from_secs(150)).unwrap();
        let system = FileSystem::new(Cursor::new(seed), FsOptions::new()).unwrap();
        assert_eq!(system.read_volume_label_from_root_dir_as_bytes().unwrap(), Some(LABEL));
        let read = |name: &str| {
            let mut content = Vec::new();
            system.root_dir().open_file(name).unwrap().read_to_end(&mut content).unwrap();
            content
        };
        let user_data = String::from_utf8(read("user-data")).unwrap();
        assert!(user_data.starts_with("#cloud-config\n"));
        assert!(user_data.contains("\"$agent\" agent --port --patience 150 &"), "{user_data}");
        assert_eq!(read("meta-data"), META_DATA.as_bytes());
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(read("iotax") == elf::loadable(&own).unwrap());
    }

    #[test]
    fn the_words_of_the_seed_are_those_of_this_program() {
        assert!(USER_DATA.contains(&format!("= {SERIAL} ")));
        assert!(USER_DATA.contains("agent --port"));
        assert!(NETWORK_CONFIG.contains(MAC));
        for forbidden in ["passwd", "password", "ssh", "packages:"] {
            assert!(!USER_DATA.contains(forbidden), "{forbidden}");
        }
    }
}
