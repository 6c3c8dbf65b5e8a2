#!/usr/bin/env bash
# Runs test programs under the Bochs emulator, for CPU levels that this machine does not have.
#
#   tools/emulate.sh CPU PROGRAM...
#
# CPU       a CPU model of Bochs: corei7_skylake_x (avx512), tigerlake (avx512-vnni),
#           arrow_lake (avx-vnni); `bochs --help cpu` lists them.
# PROGRAM   a static test program, or a folder to be there under its own path as well. Variables
#           of the environment that begin with RECINTO_TEST_ or RUST_ reach the programs. Test
#           programs are built static, and named, by
#             RUSTFLAGS='-C target-feature=+crt-static' cargo test -p recinto-kernels --no-run \
#               --target x86_64-unknown-linux-gnu
#           An emulator is some hundred times slower than a CPU: RECINTO_TEST_LEVELS=avx512-vnni and
#           RECINTO_TEST_THREADS=1 leave out what silicon has already shown.
#
# BOCHS     the emulator (bochs), built with --enable-x86-64 --enable-avx --enable-evex
#           --with-nogui --enable-pci --disable-plugins; --enable-handlers-chaining makes it fast
# BXSHARE   its folder with BIOS-bochs-latest and VGABIOS-lgpl (its sources' bios/)
# KERNEL    a Linux kernel for x86-64 with a serial console (Debian's linux-image-*-cloud-amd64)
# ISOLINUX  folder with isolinux.bin and ldlinux.c32 (packages isolinux, syslinux-common)
# BUSYBOX   a static busybox (package busybox-static)
#
# Also needed: xorriso, cpio. Ends with 1 when a program failed, with 2 when nothing could be run.
set -euo pipefail

fail() { echo "emulate: error: $1" >&2; exit 2; }
[ $# -ge 2 ] || fail 'usage: tools/emulate.sh CPU PROGRAM...'
: "${BOCHS:=bochs}" "${BXSHARE:?}" "${KERNEL:?}" "${ISOLINUX:?}" "${BUSYBOX:?}"
for tool in "$BOCHS" xorriso cpio; do
  command -v "$tool" > /dev/null || fail "$tool is missing"
done
cpu=$1
shift

work=$(mktemp -d)
emulator=
trap '[ -z "$emulator" ] || kill "$emulator" 2> /dev/null || true; rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,programs} "$work/iso"
cp "$BUSYBOX" "$root/bin/busybox"

{
  echo '#!/bin/busybox sh'
  echo '/bin/busybox mount -t proc proc /proc'
  echo '/bin/busybox mount -t sysfs sys /sys'
  echo '/bin/busybox mount -t tmpfs tmp /tmp'
  echo '/bin/busybox mount -t devtmpfs dev /dev'
  while IFS='=' read -r name value; do
    case $name in RECINTO_TEST_* | RUST_*) printf "export %s='%s'\n" "$name" "$value" ;; esac
  done < <(env)
  echo 'cd /programs; failed=0'
  for program in "$@"; do
    if [ -d "$program" ]; then
      folder=$(cd -- "$program" && pwd)
      mkdir -p "$root$folder"
      cp -r "$folder/." "$root$folder/"
      continue
    fi
    [ -f "$program" ] || fail "$program is no file"
    name=$(basename "$program")
    strip -o "$root/programs/$name" "$program"
    printf 'echo "emulate: %s"; ./%s || failed=1\n' "$name" "$name"
  done
  # shellcheck disable=SC2016  # the other machine expands it
  echo 'echo "emulate: ended, failed=$failed"; while :; do /bin/busybox sleep 60; done'
} > "$root/init"
chmod +x "$root/init"

(cd "$root" && find . | cpio -o -H newc --quiet) > "$work/iso/initrd"
cp "$KERNEL" "$work/iso/kernel"
cp "$ISOLINUX/isolinux.bin" "$ISOLINUX/ldlinux.c32" "$work/iso/"
# Bochs has none of the switches for fast string moves, and a kernel that believes only one of the
# two (fsrm, bit 580) moves short strings for ever.
cat > "$work/iso/isolinux.cfg" << 'END'
default run
label run
 kernel kernel
 append initrd=initrd console=ttyS0,115200 quiet mitigations=off nokaslr clearcpuid=580
END
xorriso -as mkisofs -quiet -o "$work/boot.iso" -b isolinux.bin -c boot.cat -no-emul-boot \
  -boot-load-size 4 -boot-info-table "$work/iso" 2> "$work/iso.log" || fail 'xorriso failed'

cat > "$work/bochsrc" << END
cpu: model=$cpu, count=1, ips=50000000, ignore_bad_msrs=1
memory: guest=512, host=512
romimage: file=$BXSHARE/BIOS-bochs-latest, options=fastboot
vgaromimage: file=$BXSHARE/VGABIOS-lgpl/VGABIOS-lgpl-latest.bin
display_library: nogui
pci: enabled=1, chipset=i440fx
clock: sync=none
ata0-master: type=cdrom, path=$work/boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/serial
log: $work/log
panic: action=fatal
END
: > "$work/serial"
"$BOCHS" -q -f "$work/bochsrc" > "$work/out" 2>&1 < /dev/null &
emulator=$!
tail -f --pid=$emulator "$work/serial" &
while kill -0 "$emulator" 2> /dev/null && ! grep -q '^emulate: ended' "$work/serial"; do
  sleep 1
done
sleep 1
grep -q '^emulate: ended' "$work/serial" || { tail -3 "$work/log" >&2; fail 'the emulator ended'; }
grep -q '^emulate: ended, failed=0' "$work/serial"
