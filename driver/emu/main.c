// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
int main(void);
int main(void) { return 3; }
