#!/bin/sh
# The 66 books of the King James Bible as text, a file per book, for the source `text`: 66 devices that write about
# different things. From Debian's packages bible-kjv and bible-kjv-text. Usage: examples/kjv.sh DIR
# A line is a verse; the files are 01-Ge.txt to 66-Rev.txt, 4.1 MB in all, and always the same bytes.
set -eu
export LC_ALL=C

out=${1:?usage: examples/kjv.sh DIR}
command -v bible >/dev/null ||
    { echo 'kjv.sh: there is no bible: apt-get install bible-kjv bible-kjv-text' >&2; exit 1; }
[ ! -e "$out" ] || { echo "kjv.sh: $out is there already; name a new directory" >&2; exit 1; }

# -f: a verse a line, behind its place, such as "1Sm1:1 Now there was a certain man ...".
# Only whole results get the name that was asked for.
part=$out.part
rm -rf "$part"
mkdir -p "$part"
bible -f Gen1:1-Rev22:21 </dev/null | awk -v dir="$part" '
    {
        place = $1
        sub(/[0-9]+:[0-9]+$/, "", place)
        if (place != book) {
            close(file)
            book = place
            file = sprintf("%s/%02d-%s.txt", dir, ++books, book)
        }
        print substr($0, length($1) + 2) > file
        verses++
    }
    END { exit !(books == 66 && verses == 31102) }' ||
    { rm -rf "$part"; echo 'kjv.sh: bible did not print the 31102 verses of 66 books' >&2; exit 1; }
mv "$part" "$out"
