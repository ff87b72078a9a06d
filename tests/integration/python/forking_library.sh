#!/bin/sh
# Build the library in a folder of its own.  usage: forking_library.sh STAMP FOLDER SOURCES OPTION...
set -eu
stamp=$1 folder=$2 sources=$3
shift 3
[ -e "$folder/build.ninja" ] ||
    meson setup "$folder" "$sources" -Dcli=false -Dtests=false -Dbench=false -Ddemo=false "$@" >/dev/null
ninja --quiet -C "$folder" library
touch "$stamp"
