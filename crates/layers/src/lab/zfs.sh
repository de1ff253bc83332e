# Compiles ZFS's modules for one kernel, as root in a throw-away chroot that has the kernel's headers and a compiler.
# KERNEL is its release, SOURCE the package with ZFS's source. Leaves /zfs.tar with the modules and the file "version".
set -eu
mkdir -p /build/out
cd /build
apt-get -q download "$SOURCE"
dpkg-deb -f ./*.deb Version >out/version
dpkg-deb -x ./*.deb source
cd source/usr/src/zfs-*
headers=/usr/src/linux-headers-$KERNEL
# Debian has the sources of the headers in a folder of their own, which the Makefile of the others names.
common=$(sed -n 's/^include \(.*\)\/Makefile$/\1/p' "$headers/Makefile")
./configure --with-config=kernel --with-linux="${common:-$headers}" --with-linux-obj="$headers"
make -j"$(nproc)"
# The tests of ./configure leave modules, too.
find module -name '*.ko' -exec cp {} /build/out/ ';'
strip --strip-debug /build/out/*.ko
tar -C /build/out -cf /zfs.tar .
