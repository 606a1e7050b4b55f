#!/bin/sh
# Makes in the folder $1 a small virtual machine in which the kernel's pppd answers on the second
# serial port: vmlinuz and ir.gz, of Debian's packages of its kernel, ppp and busybox-static. The
# test of windfall link with pppd boots it by qemu-system-x86 (no KVM needed).
set -eu
mkdir -p "$1"
cd "$1"
kernel=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p')
apt-get download -q "$kernel" ppp busybox-static
rm -rf packages root
for package in ./*.deb; do dpkg-deb -x "$package" packages; done
mkdir -p root/bin root/sbin root/modules root/dev root/proc root/sys root/run root/etc/ppp
cp packages/bin/busybox root/bin/
cp packages/usr/sbin/pppd root/sbin/
for library in $(ldd packages/usr/sbin/pppd | grep -o '/[^ ]*'); do
    mkdir -p "root$(dirname "$library")"
    cp -L "$library" "root$library"
done
find packages/lib/modules \( -name 'slhc.ko' -o -name 'ppp_generic.ko' -o -name 'ppp_async.ko' \
    -o -name 'crc-ccitt.ko' \) -exec cp {} root/modules/ \;
cat > root/init <<'END'
#!/bin/busybox sh
export PATH=/bin:/sbin
for name in mount insmod stty ping sleep poweroff; do busybox ln -s busybox /bin/$name; done
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in crc-ccitt slhc ppp_generic ppp_async; do
    if [ -e /modules/$module.ko ]; then insmod /modules/$module.ko; fi
done
stty -F /dev/ttyS1 115200 raw -echo
pppd /dev/ttyS1 115200 local noauth nodetach nocrtscts noccp persist logfd 1 \
    lcp-echo-interval 0 10.77.0.2:10.77.0.1 &
for i in 1 2 3 4 5 6 7 8 9 10; do
    for j in 1 2 3 4 5 6 7 8 9 10; do ping -c 1 -s 200 -W 1 10.77.0.1; sleep 1; done
done
poweroff -f
END
chmod +x root/init
(cd root && find . | ./bin/busybox cpio -o -H newc 2>/dev/null | gzip) > ir.gz
cp packages/boot/vmlinuz-* vmlinuz
