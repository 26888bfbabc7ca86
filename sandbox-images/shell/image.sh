# A POSIX shell with the usual text tools and jq.
NAME=shell
# libc-bin for the locale C.UTF-8: without it `wc -m`, `tr` and `sort` see bytes.
PACKAGES="dash,coreutils,libc-bin,grep,sed,mawk,findutils,gzip,jq"

finish() {
    root=$1
    ln -sf dash "$root/usr/bin/sh"
    ln -sf mawk "$root/usr/bin/awk"
}
