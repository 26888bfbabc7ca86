#!/bin/sh
# Turns an unpacked tree of Debian packages into what a sandbox needs.
# usage: trim.sh IMAGE_SH ROOT   (runs with the rights of the tree's owner)
set -eu

. "$1"
root=${2:?}

mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/work" "$root/etc"
finish "$root"

# Package management, and what only administrators use.
rm -rf "${root:?}/var" "$root/etc/apt" "$root/etc/dpkg" "$root/etc/cron.daily" "$root/etc/cron.d" \
    "$root/etc/logrotate.d" "$root/etc/init.d" "$root/etc/systemd" "$root/etc/pam.d" \
    "$root/etc/security" "$root/etc/default" "$root/etc/fstab" "$root/etc/hostname" \
    "$root/usr/lib/dpkg" "$root/usr/libexec/dpkg" "$root/usr/lib/mime" "$root/usr/lib/valgrind" \
    "$root"/usr/lib/*-linux-gnu/gconv "$root/usr/lib/apt" "$root/usr/lib/systemd" "$root/usr/lib/init" \
    "$root/usr/share/dpkg" "$root/usr/share/perl5" "$root/usr/share/debconf" \
    "$root/usr/share/polkit-1" "$root/usr/share/bash-completion" "$root/usr/share/zsh" \
    "$root/boot" "$root/home" "$root/media" "$root/mnt" "$root/opt" "$root/srv" \
    "$root/lib32" "$root/libx32" "$root/usr/lib32" "$root/usr/libx32" "$root/usr/games" \
    "$root/usr/include" "$root/usr/local" "$root/usr/src"
rm -f "$root"/usr/bin/dpkg* "$root"/usr/bin/dselect "$root"/usr/bin/apt* \
    "$root"/usr/sbin/* "$root"/usr/bin/update-alternatives "$root"/usr/bin/debconf* \
    "$root"/usr/bin/deb-* "$root"/usr/bin/chroot "$root"/usr/bin/mount "$root"/usr/bin/umount \
    "$root"/usr/bin/su "$root"/usr/bin/newgrp "$root"/usr/bin/passwd "$root"/usr/bin/ch[fs][nh]

# Documentation, except for the licences.
find "$root/usr/share/doc" -mindepth 1 ! -type d ! -name copyright -delete
find "$root/usr/share/doc" -mindepth 1 -type l -delete
find "$root/usr/share/doc" -depth -mindepth 1 -type d -empty -delete
rm -rf "$root/usr/share/man" "$root/usr/share/info" "$root/usr/share/locale" \
    "$root/usr/share/lintian" "$root/usr/share/bug" "$root/usr/share/doc-base" \
    "$root/usr/share/menu" "$root/usr/share/applications" "$root/usr/share/pixmaps" \
    "$root/usr/share/gdb" "$root/usr/share/binfmts" "$root/usr/share/readline"

find "$root/tmp" -mindepth 1 -delete
mkdir -p "$root/var/tmp"
ln -sfn ../run "$root/var/run"
mkdir -p "$root/run"
chmod 1777 "$root/tmp" "$root/var/tmp" "$root/work"
printf 'root:x:0:0:root:/:/nonexistent\ntool:x:10001:10001:tool:/tmp:/bin/sh\n' > "$root/etc/passwd"
printf 'root:x:0:\ntool:x:10001:\n' > "$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files\n' > "$root/etc/nsswitch.conf"
printf '127.0.0.1 localhost\n' > "$root/etc/hosts"
: > "$root/etc/resolv.conf"

# Nothing may gain rights by being started.
find "$root" -xdev -type f -perm /6000 -exec chmod u-s,g-s {} +
