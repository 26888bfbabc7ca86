# A POSIX shell with the usual text tools and jq.
NAME=shell
PACKAGES="dash,coreutils,grep,sed,mawk,findutils,gzip,jq"

finish() {
    root=$1
    ln -sf dash "$root/usr/bin/sh"
    ln -sf mawk "$root/usr/bin/awk"
}
