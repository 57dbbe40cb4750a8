# SPDX-License-Identifier: BSD-2-Clause
# Peak memory of capture (goal: rings plus 32 MiB, however long the run) and of decode (256 MiB
# plus images, however large the file): the same program, run once and ten times as long.
. "$SRC/tests/cli/lib.sh"
peak() { # COMMAND...: peak resident kB of the largest process of its tree
	python3 - "$@" <<'PY'
import os, subprocess, sys, time
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
peaks = {}
def tree(pid):
    try:
        for tid in os.listdir(f"/proc/{pid}/task"):
            for child in open(f"/proc/{pid}/task/{tid}/children").read().split():
                yield int(child)
                yield from tree(int(child))
    except OSError:
        return
while p.poll() is None:
    for pid in [p.pid, *tree(p.pid)]:
        try:
            status = open(f"/proc/{pid}/status").read()
            name = status.split("\n", 1)[0].split()[1]
            for line in status.split("\n"):
                if line.startswith("RssAnon") or line.startswith("RssShmem"):
                    peaks.setdefault((pid, name), {}).setdefault(line.split(":")[0], 0)
                    key = line.split(":")[0]
                    peaks[(pid, name)][key] = max(peaks[(pid, name)][key], int(line.split()[1]))
        except (OSError, IndexError):
            pass
    time.sleep(0.02)
for (pid, name), kb in sorted(peaks.items()):
    if name.startswith("auxtap"):
        print(f"{name}-anon-kB: {kb.get('RssAnon', 0)}")
        print(f"{name}-shared-kB: {kb.get('RssShmem', 0)}")
PY
}
head -c 2000000 /dev/urandom | base64 >small
for i in 1 2 3 4 5 6 7 8 9 10; do cat small; done >large
for size in small large; do
	echo "-- capture, gzip of $(stat -c %s $size) bytes --"
	peak "$AUXTAP" record --source qemu -o data.$size -- gzip -c $size
	echo "trace-bytes: $(stat -c %s data.$size)"
	echo "-- decode of it --"
	peak "$AUXTAP" decode --summary data.$size
done
