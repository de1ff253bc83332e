# Makes the image of what was fetched: an unpacked root, the kernel's modules, ZFS's if there are some. Runs as root, or as
# root of a user namespace, in the build's folder with root.tar. KERNEL is the kernel's release, MODULES its
# /lib/modules/KERNEL, LEFT_OUT folders below MODULES/kernel that no lab has a device for. Leaves root.ext4 and packages.
set -eu
rm -rf root root.ext4
mkdir root
# The guest mounts its own /dev.
tar -C root --numeric-owner --exclude='./dev/*' -xf root.tar
rm root.tar
modules=root/lib/modules/$KERNEL
mkdir -p "$modules"
set --
for folder in $LEFT_OUT; do set -- "$@" "--exclude=./kernel/$folder"; done
# build and source are links to headers.
tar -C "$MODULES" --exclude=./build --exclude=./source "$@" -cf - . | tar -C "$modules" --no-same-owner -xf -
if [ -e zfs.tar ]; then
    mkdir -p "$modules/extra"
    tar -C "$modules/extra" --no-same-owner --exclude=./version -xf zfs.tar
fi
depmod -b root "$KERNEL"
# Arrays are put together by whoever asks, not by udev as soon as a member appears.
mkdir -p root/etc/mdadm root/etc/target
echo 'AUTO -all' >>root/etc/mdadm/mdadm.conf
echo lab >root/etc/hostname
echo '127.0.0.1 localhost lab' >root/etc/hosts
dpkg-query --admindir=root/var/lib/dpkg -W -f '${Package} ${Version}\n' >packages
# Room for what is written in a lab, which is gone with it.
size=$(($(du -sm root | cut -f 1) * 5 / 4 + 512))
mkfs.ext4 -q -F -L iotax-lab -d root root.ext4 "${size}M"
rm -rf root
