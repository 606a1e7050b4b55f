#!/bin/sh
# Prints how fast windfall serve and SAP are beside lighttpd over loopback, and beside iperf3 across
# an emulated path. Arguments: the program windfall, and the number of rounds (5). Needs lighttpd,
# curl, iperf3, root for namespaces or what `windfall doctor` asks for, and 1.1 GB in $TMPDIR; wrk
# for small files.
#
# Each round measures every way once, in turn; what counts is the median of the rounds' ratios.
set -eu
windfall=$(realpath "${1:-target/release/windfall}")
rounds=${2:-5}
folder=$(mktemp -d)
ended() { kill "$lighttpd" "$serve" 2>/dev/null || true; rm -rf "$folder"; }
trap ended EXIT
trap 'exit 130' INT TERM
mkdir "$folder/site"
head -c 2000000 /dev/urandom > "$folder/site/2MB.bin"
head -c 200000000 /dev/urandom > "$folder/site/200MB.bin"
for i in 1 2 3 4 5; do cat "$folder/site/200MB.bin"; done > "$folder/site/1GB.bin"
cat > "$folder/conf" <<END
server.document-root = "$folder/site"
server.port = 18091
server.bind = "127.0.0.1"
server.max-fds = 8192
server.max-keep-alive-requests = 1000000
END
lighttpd -D -f "$folder/conf" 2>/dev/null &
lighttpd=$!
"$windfall" serve -q --on 127.0.0.1 --port 18092 "$folder/site" 2>/dev/null &
serve=$!
sleep 1

# Seconds that a command takes.
seconds() {
    began=$(date +%s%N)
    "$@" > /dev/null 2>&1 || { echo "failed: $*" >&2; exit 1; }
    ended=$(date +%s%N)
    echo "$began $ended" | awk '{ printf "%.4f", ($2 - $1) / 1e9 }'
}
# Median, least and greatest of the lines of a file: column $2 over column $3.
ratio() {
    awk -v a="$2" -v b="$3" '{ print $a / $b }' "$1" | sort -g | awk '
        { all[NR] = $1 }
        END { printf "%.2f (%.2f to %.2f)\n", all[int((NR + 1) / 2)], all[1], all[NR] }'
}
get() { "$windfall" get -o /dev/null "$@"; }

for size in 2MB 1GB; do
    for _ in $(seq "$rounds"); do
        one=$(seconds curl -so /dev/null "http://127.0.0.1:18091/$size.bin")
        two=$(seconds curl -so /dev/null "http://127.0.0.1:18092/$size.bin")
        # SAP keeps at most 256 MiB of a body, so that a longer one goes in five.
        file=$size.bin
        [ $size = 2MB ] || file=200MB.bin
        at="http://127.0.0.1:18092/$file"
        tcp=$(seconds get "$at")
        sap=$(seconds get --client-opens --force-precise "$at")
        echo "$one $two $tcp $sap"
    done > "$folder/$size"
    echo "loopback, $size: serve to lighttpd $(ratio "$folder/$size" 1 2)"
    [ $size = 2MB ] || size="$size (SAP: 200MB)"
    echo "loopback, $size: precise SAP to get over TCP $(ratio "$folder/${size%% *}" 3 4)"
done

# Small files: requests a second of wrk, on connections that are kept, and on one for each.
head -c 1000 /dev/urandom > "$folder/site/1KB.bin"
rate() {
    wrk -t1 -d3s "$@" | awk '/Socket errors|Non-2xx/ { print "failed: " $0 > "/dev/stderr"; exit 1 }
        /Requests\/sec/ { print $2 }'
}
if command -v wrk > /dev/null; then
    for load in "64" "1500" "64 -H Connection:close"; do
        for _ in $(seq "$rounds"); do
            # shellcheck disable=SC2086 # the load is words
            echo "$(rate -c$load http://127.0.0.1:18091/1KB.bin)" \
                "$(rate -c$load http://127.0.0.1:18092/1KB.bin)"
        done > "$folder/small"
        echo "loopback, 1 KB, connections $load: serve to lighttpd $(ratio "$folder/small" 2 1)"
    done
else
    echo "wrk is missing: apt-get install wrk" >&2
fi

# Across the path: megabits a second of iperf3, and of 20 MB by each way.
head -c 20000000 "$folder/site/200MB.bin" > "$folder/site/20MB.bin"
cat > "$folder/near" <<END
iperf3 -c 10.77.0.2 -t 4 -f m | awk '/receiver/ { printf "%s ", \$7 }'
for way in "" "--client-opens --force-precise" "--client-opens --approx */*"; do
    began=\$(date +%s%N)
    set -f
    "$windfall" get \$way -o /dev/null http://10.77.0.2:8080/20MB.bin > /dev/null 2>&1 || exit 1
    ended=\$(date +%s%N)
    echo "\$began \$ended" | awk '{ printf "%.2f ", 160e9 / (\$2 - \$1) }'
done
echo
END
for _ in $(seq "$rounds"); do
    "$windfall" run -q --link wifi-g --rate 54Mbps --distance 4 --wait-port 8080 \
        --far "sh -c 'iperf3 -s -1 > /dev/null & exec $windfall serve -q $folder/site'" \
        -- sh "$folder/near" 2>/dev/null
done > "$folder/path"
echo "802.11g at 4 m: TCP to iperf3 $(ratio "$folder/path" 2 1)"
echo "802.11g at 4 m: precise SAP to iperf3 $(ratio "$folder/path" 3 1)"
echo "802.11g at 4 m: approximate SAP to iperf3 $(ratio "$folder/path" 4 1)"
