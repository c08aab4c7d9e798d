# bash completion of drainit. Made by: go test ./internal/cli -run TestCompletion -update
_drainit() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
	[[ $cur == = ]] && cur=
	[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}
	for ((i = 1; i < COMP_CWORD; i++)); do
		case $i:${COMP_WORDS[i]} in
		1:status)
			mapfile -t COMPREPLY < <(compgen -W '--ready --plan --json --pid ' -- "$cur")
			return ;;
		1:quiet)
			mapfile -t COMPREPLY < <(compgen -W '--sleep --pid ' -- "$cur")
			return ;;
		1:resume)
			mapfile -t COMPREPLY < <(compgen -W '--pid ' -- "$cur")
			return ;;
		1:stop)
			mapfile -t COMPREPLY < <(compgen -W '--force --wait --pid ' -- "$cur")
			return ;;
		1:plan) ;;
		*:-t | *:--grace | *:--stop-delay | *:--second-stop | *:-r | *:--rewrite | *:-e | *:--remap-exit | *:--health-addr | *:--log-format | *:--stop-signal | *:--forward | *:-p | *:--parent-death-signal | *:--ready-port | *:--log-level | *:--install | *:--during | *:--check | *:--within)
			[[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
			((i++)) ;;
		*:--) ((i++)); break ;;
		*:-*) ;;
		*) break ;;
		esac
	done
	if ((i < COMP_CWORD)) || [[ $prev == -- ]]; then
		if declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		else
			mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
		fi
		return
	fi
	case $prev in
	-t | --grace) mapfile -t COMPREPLY < <(compgen -W '' -- "$cur") ;;
	--stop-delay) mapfile -t COMPREPLY < <(compgen -W '' -- "$cur") ;;
	--second-stop) mapfile -t COMPREPLY < <(compgen -W 'force ignore' -- "$cur") ;;
	-r | --rewrite) mapfile -t COMPREPLY < <(compgen -W '' -- "$cur") ;;
	-e | --remap-exit) mapfile -t COMPREPLY < <(compgen -W '' -- "$cur") ;;
	--health-addr) mapfile -t COMPREPLY < <(compgen -W '' -- "$cur") ;;
	--log-format) mapfile -t COMPREPLY < <(compgen -W 'auto json text' -- "$cur") ;;
	--stop-signal) mapfile -t COMPREPLY < <(compgen -W 'QUIT HUP USR1 USR2 WINCH' -- "$cur") ;;
	--forward) mapfile -t COMPREPLY < <(compgen -W 'auto group worker none' -- "$cur") ;;
	-p | --parent-death-signal) mapfile -t COMPREPLY < <(compgen -W 'TERM INT KILL' -- "$cur") ;;
	--ready-port) mapfile -t COMPREPLY < <(compgen -W '' -- "$cur") ;;
	--log-level) mapfile -t COMPREPLY < <(compgen -W 'error warn info debug' -- "$cur") ;;
	--install) mapfile -t COMPREPLY < <(compgen -W '' -- "$cur") ;;
	*)
		case $cur in
		-*)
			mapfile -t COMPREPLY < <(compgen -W '--grace --stop-delay --second-stop --rewrite --group --remap-exit --forking --health-addr --log-format --verbose --stop-signal --forward --single-child --parent-death-signal --ready-port --log-level --warn-reaped --pause --subreaper --install --help --version ' -- "$cur"
				[[ ${COMP_WORDS[1]} == plan ]] && compgen -W '--during --check --within --json ' -- "$cur") ;;
		*) mapfile -t COMPREPLY < <(compgen -c -- "$cur"; ((COMP_CWORD == 1)) && compgen -W 'status quiet resume stop plan ' -- "$cur") ;;
		esac ;;
	esac
}
complete -F _drainit drainit
