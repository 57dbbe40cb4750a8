#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Compares what 'auxtap watermark live --reader full --format json' saw with an independent run of
'auxtap watermark sim'. Offsets, sizes and flags of all AUX records but the last, which ends where
the event was switched off, must be the same.
	live_against_sim.py AUXTAP DRIVER KERNEL RECORD LIVE.json
Prints how many configurations agree; exit 1 if one does not.
"""
import json, subprocess, sys

auxtap, driver, kernel, record, path = sys.argv[1:]
runs = json.load(open(path))
bad = nr_records = 0
for run in runs:
	seen = [(r["offset"], r["size"], r["flags"]) for r in run["records"]][:-1]
	command = [auxtap, "watermark", "sim", "--driver", driver, "--kernel", kernel,
			   "--record", record,
		   "--pages", str(run["pages"]), "--watermark", str(run["watermark"]),
		   "--irq-latency", "0", "--irq-jitter", "0", "--reader-latency", "1s",
		   "--reader-jitter", "0", "--reader-rate", "0", "--data-pages", "64",
		   "--bytes", "1T", "--transactions", str(len(seen) + 1), "--format", "json", "--events"]
	out = json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)
	due = [(e["offset"], e["size"], e["flags"])
	       for e in out[0]["events"] if e["event"] == "AUX"][:len(seen)]
	nr_records += len(seen)
	if seen != due or not seen:
		at = next((i for i, (a, b) in enumerate(zip(seen, due)) if a != b),
			  min(len(seen), len(due)))
		print(f"{' '.join(command)}: record {at}: seen {seen[at:at + 1]}, sim {due[at:at + 1]}")
		bad += 1
print(f"{len(runs) - bad} of {len(runs)} configurations, {nr_records} records")
sys.exit(bad != 0 or not runs)
