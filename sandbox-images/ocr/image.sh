# Tesseract with English and simplified Chinese, and our program that speaks JSON for it. No shell.
NAME=ocr
PROGRAM=ocr
PACKAGES="tesseract-ocr,tesseract-ocr-eng,tesseract-ocr-chi-sim"

# Keeps the program with the libraries that it is linked to and its data, and nothing else.
finish() {
    root=$1
    keep=$(mktemp -d "$root/keep.XXXXXX")
    loader=$(cd "$root" && echo usr/lib/*-linux-gnu/ld-linux*.so.*)
    data=$(cd "$root" && echo usr/share/tesseract-ocr/*/tessdata)
    {
        # As the loader finds them, and the files that those links stand for.
        chroot "$root" "/$loader" --list /usr/bin/tesseract \
            | sed -n 's|.*=> /\(usr/\)\{0,1\}\([^ ]*\) .*|usr/\2|p'
        echo "$loader"
        (cd "$root" && ls usr/lib64/ld-linux*.so.* 2> /dev/null)
        echo usr/bin/tesseract
        echo "$data/eng.traineddata"
        echo "$data/chi_sim.traineddata"
        echo "$data/configs/tsv"
    } | while read -r file; do
        while :; do
            mkdir -p "$keep/$(dirname "$file")"
            cp -a "$root/$file" "$keep/$file"
            [ -L "$root/$file" ] || break
            link=$(readlink "$root/$file")
            case $link in
                /usr/*) file=${link#/} ;;
                /*) file=usr$link ;;
                *) file=$(dirname "$file")/$link ;;
            esac
        done
    done
    cp -a "$root/usr/share/doc" "$keep/usr/share/doc"
    rm -rf "${root:?}/usr"
    mv "$keep/usr" "$root/usr"
    rm -rf "$keep"
}
