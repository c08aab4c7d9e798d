package cli

// usage follows the error of a command line without a COMMAND.
const usage = `usage: drainit [flags] -- COMMAND [ARG...]
       drainit status [--ready] [--json] [--pid N]
       drainit quiet [--sleep DUR] | resume | stop [--force] [--wait]  [--pid N]
       drainit --help
`

// help is the text of --help, of the verbs too.
const help = `drainit runs COMMAND as its worker and sees it, and all that it leaves behind,
through quiet, drain and stop. It is made to be PID 1 of a container.

` + usage + `
Stopping
  -t, --grace DUR           from the first stop signal to SIGKILL: 25s, 25 (seconds),
                            0 (kill at once) or infinity (default 30s)
      --stop-delay DUR      stay quiet this long before the worker is signalled; a part
                            of the grace period (default 0)
      --second-stop WHAT    a repeated stop signal: force kills at once (default), ignore
                            waits for the end of the grace period
      --stop-signal SIG     also begins the stop, besides TERM and INT; repeatable
  -e, --remap-exit CODE     report this exit status as 0; repeatable
      --forking             COMMAND daemonizes: run on until what it leaves is gone
  -p, --parent-death-signal SIG
                            sent to drainit when its own parent dies
Signals
  -r, --rewrite FROM:TO     deliver TO in place of FROM; FROM:0 drops it; repeatable
      --forward TO          auto: the first that handles it, from the worker down (default)
                            group: the worker's process group; worker: the worker alone
  -g, --group               --forward group
  -c, --single-child        --forward worker
Log, on stderr
      --log-format FORMAT   json, text, or auto: text on a terminal (default)
      --log-level LEVEL     error, warn, info or debug (default info)
  -v, --verbose             --log-level debug
  -w, --warn-reaped         log each reaped orphan
Seen from outside
      --health-addr ADDR    serve /healthz and /readyz there, such as :8080 (default off)
      --termination-log FILE
                            why it was killed or did not start, if FILE exists and is empty
                            (default /dev/termination-log; empty turns it off)
Verbs, which ask the drainit of this container
  status                    the phase, a stop and the processes; 0 while the worker lives
      --ready               the phase alone; 0 only while it is running, neither quiet nor
                            stopping
      --json                for programs
  quiet                     sends TSTP, and returns when drainit is quiet
      --sleep DUR           returns that much later, for a preStop hook
  resume                    sends CONT
  stop                      sends TERM, and in a drain nothing
      --force               kills
      --wait                returns when drainit has ended
      --pid N               of each verb: that drainit, where there are several
Other
  -P, --pause               no COMMAND: reap, and end at TERM or INT, as a pod's pause does
  -s, --subreaper           for tini's sake: drainit always adopts orphans
  -h, --help                this page
  -V, --version             the version

Each flag with a value can be set in the environment, --grace by DRAINIT_GRACE, and so can
--forking, by 1 or 0; repeatable ones take commas. A flag wins. An empty variable counts as
not set. Without either, the grace period is OJS_SHUTDOWN_GRACE_PERIOD, OJS_GRACE_PERIOD or
OJS_SHUTDOWN_TIMEOUT, plus 5s.
A COMMAND that has a verb's name, or is called help or version, goes after --, as in:
drainit -- status

Signals: TERM and INT stop, and a second one kills, if it comes 100 ms later or more; TSTP
quiets, CONT resumes; the others are forwarded.
Exit status: the worker's, or 128+n if it died of signal n; 137 if a process had to be
killed; 125: drainit failed, or no drainit was found; 126: COMMAND can't be executed;
127: COMMAND not found; 1: a verb's answer is no.
`
