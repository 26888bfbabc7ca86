# Python 3 with its standard library (json, ssl, sqlite3, urllib and the rest), compiled ahead.
NAME=python
PACKAGES="dash,coreutils,python3,ca-certificates"

finish() {
    root=$1
    ln -sf dash "$root/usr/bin/sh"
    # The packages' own scripts would do this; they do not run here.
    mkdir -p "$root/etc/ssl/certs"
    find "$root/usr/share/ca-certificates" -name '*.crt' | LC_ALL=C sort | xargs cat \
        > "$root/etc/ssl/certs/ca-certificates.crt"
    rm -rf "$root/usr/share/ca-certificates"
    for library in "$root"/usr/lib/python3.*; do
        rm -rf "$library/idlelib" "$library/lib2to3" "$library/pydoc_data" "$library/ensurepip" \
            "$library/turtledemo" "$library/tkinter" "$library/test" "$library"/config-*
    done
    # A read-only sandbox cannot keep compiled modules, so that each start would compile them.
    chroot "$root" /usr/bin/env -i PYTHONHASHSEED=0 /usr/bin/python3 -m compileall -q -j 1 \
        --invalidation-mode unchecked-hash /usr/lib/python3* >&2
}
