# SPDX-License-Identifier: BSD-2-Clause
# In the guest, sourced: recordings that are read outside, see ../readers. The caller sets debug
# (the module's directory) and name (the case).
nr_readings=0
# to_readers FILE [STEPS]: a recording, and the steps that must be in it: by default the module's
# log
to_readers() {
	nr_readings=$((nr_readings + 1))
	reading=/out/reading$nr_readings
	mkdir $reading
	cp $1 $reading/data
	[ ! -e $1.vdso ] || cp $1.vdso $reading/data.vdso
	readlink -f $1 >$reading/path
	cat ${2:-$debug/steps} >$reading/steps
	echo "$name" >$reading/name
	: >$reading/expected
	# perf's copy of the vdso
	[ -d /out/.debug ] || [ ! -d /root/.debug ] || cp -a /root/.debug /out/
}
# expected ran TID | idle TID | least NR: of the last recording's threads, of its instructions
expected() {
	echo "$*" >>$reading/expected
}
