# SPDX-License-Identifier: BSD-2-Clause
# What the pictures of the hardware's faults say; the caller's says() looks for it in what it tests:
# says FAULT DRIVER REGEX...
says_of_faults() {
	for driver in intel_pt arm_spe trbe; do
		says interrupt-late $driver 'line up here; the interrupt reaches the driver [0-9.]+ ms later'
		says interrupt-lost $driver 'line up here: its interrupt never reaches the driver'
		says interrupt-doubled $driver 'a second interrupt for the same threshold'
		says interrupt-page-off $driver 'interrupt due here, comes 40.9[0-9]+ us'
		says past-limit $driver '[0-9]+ bytes written beyond the limit'
		says stale-status $driver 'the driver clears the status register, and it still says'
		says interrupt-while-stopping $driver 'interrupt here, while the unit is being switched off' \
			'due only here, [0-9]+ bytes further on'
	done
	says flag-missing intel_pt 'the status register does not say so \(Stopped is 0\)' 'no flag'
	says flag-missing trbe 'the status register does not say so \(WRAP is 0\)'
	says wrong-wrap intel_pt 'the area wraps: trace due at offset 0 is stored at offset 4096: 4096 bytes too far'
	says wrong-wrap trbe 'wrapped: the write pointer should be at offset 0, and is at 4096'
	says padding-missing arm_spe 'these 4095 bytes of padding, which the driver writes, were not filled'
	says padding-missing trbe 'these 4095 bytes of padding, which the driver writes, were not filled'
}
