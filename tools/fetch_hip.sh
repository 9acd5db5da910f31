#!/usr/bin/env bash
# AMD's real HIP runtime and its header, from Debian's packages, unpacked into a folder: nothing is installed, and nobody need be root.
#   tools/fetch_hip.sh FOLDER
# Says on one line why there is none, and succeeds, where packages cannot be downloaded: the tests that need it skip or fail then.
set -u
folder=${1:?a folder was expected}
none() {
    echo "AMD's HIP runtime is not here: $1"
    rm -rf "$folder"
    exit 0
}

for tool in apt-get dpkg-deb; do
    command -v "$tool" >/dev/null || none "there is no $tool, with which to fetch it"
done
[ "$(dpkg --print-architecture)" = amd64 ] || none "Debian has it for amd64 only"
mkdir -p "$folder/packages" && cd "$folder/packages" || exit 1

# What would have to be installed with it. The compiler (comgr) is loaded only to build kernels.
names=$(apt-get -qq -s install --no-install-recommends libamdhip64-5 2>/dev/null | awk '/^Inst/ && $2 != "libamd-comgr2" { print $2 }')
# shellcheck disable=SC2086
names=$(printf '%s\n' $names libamdhip64-5 libamdhip64-dev | sort -u)
# shellcheck disable=SC2086
apt-get -qq download $names >/dev/null 2>&1 || none "its packages ($(echo "$names" | tr '\n' ' ')) cannot be downloaded"
for package in *.deb; do
    dpkg-deb -x "$package" "$folder" || none "$package cannot be unpacked"
done
rm -rf "$folder/packages"
echo "AMD's HIP runtime is in $folder"
