# fish completion of drainit. Made by: go test ./internal/cli -run TestCompletion -update
set -l verbs status quiet resume stop 
complete -c drainit -x -n "not __fish_seen_subcommand_from $verbs plan" -a '(__fish_complete_subcommand -- -t --grace --stop-delay --second-stop -r --rewrite -e --remap-exit --health-addr --log-format --stop-signal --forward -p --parent-death-signal --ready-port --log-level --install --during --check --within)'
complete -c drainit -x -n "__fish_seen_subcommand_from plan" -a '(__fish_complete_subcommand --fcs-skip=2 -- -t --grace --stop-delay --second-stop -r --rewrite -e --remap-exit --health-addr --log-format --stop-signal --forward -p --parent-death-signal --ready-port --log-level --install --during --check --within)'
complete -c drainit -n __fish_is_first_token -a "$verbs plan"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s t -l grace -x -d "from the first stop signal to SIGKILL (default 35s)"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -l stop-delay -x -d "be quiet this long before the worker is signalled"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -l second-stop -x -a 'force ignore' -d "at a second stop signal: force (default) or ignore"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s r -l rewrite -x -d "send TO in place of FROM; 0 sends none; repeatable"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s g -l group -d "send signals to the worker's process group"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s e -l remap-exit -x -d "report this exit status as 0; repeatable"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -l forking -d "COMMAND daemonizes: run on in the processes it left"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -l health-addr -x -d "serve /healthz and /readyz there, such as :8080"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -l log-format -x -a 'auto json text' -d "json, text, or auto: text on a terminal (default)"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s v -l verbose -d "log each signal, and why a process is not signalled"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -l stop-signal -x -a 'QUIT HUP USR1 USR2 WINCH' -d "also begins the stop, as TERM and INT do; repeatable"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -l forward -x -a 'auto group worker none' -d "auto (default), handlers, group, worker or none"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s c -l single-child -d "--forward worker"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s p -l parent-death-signal -x -a 'TERM INT KILL' -d "sent to drainit when its own parent dies"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -l ready-port -x -d "not ready until PORT on loopback accepts"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -l log-level -x -a 'error warn info debug' -d "error, warn, info (default) or debug"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s w -l warn-reaped -d "no effect: tini has it"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s P -l pause -d "no COMMAND: reap until TERM or INT, as a pod's pause"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s s -l subreaper -d "no effect: drainit always adopts orphans"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -l install -x -d "no COMMAND: make DIR/drainit-runtime, for Kubernetes"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s h -l help -d "this page"
complete -c drainit -n "not __fish_seen_subcommand_from $verbs" -s V -l version -d "the version"
complete -c drainit -n "__fish_seen_subcommand_from status" -l ready
complete -c drainit -n "__fish_seen_subcommand_from status" -l plan
complete -c drainit -n "__fish_seen_subcommand_from status" -l json
complete -c drainit -n "__fish_seen_subcommand_from status" -l pid -x
complete -c drainit -n "__fish_seen_subcommand_from quiet" -l sleep -x
complete -c drainit -n "__fish_seen_subcommand_from quiet" -l pid -x
complete -c drainit -n "__fish_seen_subcommand_from resume" -l pid -x
complete -c drainit -n "__fish_seen_subcommand_from stop" -l force
complete -c drainit -n "__fish_seen_subcommand_from stop" -l wait
complete -c drainit -n "__fish_seen_subcommand_from stop" -l pid -x
complete -c drainit -n "__fish_seen_subcommand_from plan" -l during -x
complete -c drainit -n "__fish_seen_subcommand_from plan" -l check -x
complete -c drainit -n "__fish_seen_subcommand_from plan" -l within -x
complete -c drainit -n "__fish_seen_subcommand_from plan" -l json
complete -c drainit -n "__fish_seen_subcommand_from plan" -l pid -x
