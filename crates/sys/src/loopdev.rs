//! The file that a loop device is attached to, as the kernel knows it: sysfs shows only the path,
//! and no path of a file that was removed.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

const LOOP_GET_STATUS64: libc::Ioctl = 0x4c05;

/// `struct loop_info64` of linux/loop.h.
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// The file below a loop device: number of its file system's device and of its inode, as `stat`
/// gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backing {
    pub device: u64,
    pub inode: u64,
}

/// Returns the file to which an open loop device is attached.
///
/// # Errors
/// `ENXIO` if it is attached to nothing, `ENOTTY` if it is no loop device.
pub fn backing(device: &File) -> io::Result<Backing> {
    let mut info = LoopInfo64 {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        sizelimit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
    // SAFETY: the descriptor is open for the call; `info` has the layout and size (232 bytes) of
    // the struct that the kernel writes to for this request, and any bytes are valid in it. Another
    // kind of device answers ENOTTY and writes nothing.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) };
    match result {
        0 => Ok(Backing { device: info.device, inode: info.inode }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_struct_is_as_large_as_the_kernels_and_another_device_is_refused() {
        assert_eq!(size_of::<LoopInfo64>(), 232);
        assert!(backing(&File::open("/dev/null").unwrap()).is_err());
    }
}
