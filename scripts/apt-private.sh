# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # apt and apt_why are for the caller
# To be sourced. A private apt directory: finds and fetches packages of another suite and leaves
# the host's lists unchanged. Its sources are the host's main one, with other suites.

# The archive that this release's packages come from, or nothing.
apt_private_uri() { # CODENAME
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(CODENAME)' 'Created-By: Packages' \
		2>/dev/null |
		awk -v want="$1" '$2 == want || $3 == want {print $1; exit}'
}

# apt_private DIRECTORY LOG CODENAME SUITE ARCHITECTURES [deb-src]
# Makes or refreshes it. Then "${apt[@]}" holds the options of apt-get and apt-cache that use it,
# SUITE the release that they prefer. Fails with the reason in $apt_why.
apt_private() {
	local private=$1 log=$2 codename=$3 suite=$4 archs=$5 uri with
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	apt=()
	apt_why=
	uri=$(apt_private_uri "$codename")
	[ -n "$uri" ] || { apt_why="no source for $codename in the host's apt lists"; return 1; }
	[ -e "$keyring" ] || { apt_why="no $keyring to check the archive with"; return 1; }
	mkdir -p "$private/lists/partial" "$private/archives/partial" "$private/etc"
	printf '%s [signed-by=%s arch=%s] %s %s main\n' deb "$keyring" "$archs" "$uri" "$codename" \
		>"$private/etc/sources.list"
	for with in deb "${@:6}"; do
		[ "$with $suite" = "deb $codename" ] && continue
		printf '%s [signed-by=%s arch=%s] %s %s main\n' "$with" "$keyring" "$archs" "$uri" "$suite" \
			>>"$private/etc/sources.list"
	done
	apt=(-o "Dir::Etc::sourcelist=$private/etc/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o "Dir::State::lists=$private/lists" -o "Dir::Cache=$private"
		-o "Dir::Cache::archives=$private/archives" -o Dir::Etc::preferences=/dev/null
		-o Dir::Etc::preferencesparts=/dev/null -o "Dir::State::status=/var/lib/dpkg/status"
		-o "APT::Default-Release=$suite")
	apt-get "${apt[@]}" update >>"$log" 2>&1 || {
		apt_why="no package lists from $uri $suite ($(tail -n 1 "$log"))"
		return 1
	}
}
