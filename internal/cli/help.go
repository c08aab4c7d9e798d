package cli

// usage follows the error of a command line without a COMMAND.
const usage = `usage: drainit [flags] -- COMMAND [ARG...]
       drainit plan -- COMMAND | status | quiet | resume | stop [flags]
`

// help is the text of --help, also for the subcommands. It fits on a screen of 40 lines of 80 columns. The
// manual page has the rest.
const help = `drainit runs COMMAND as its worker and sees it through quiet, drain and stop.

` + usage + `Most used
  -t, --grace DUR           from the first stop signal to SIGKILL (default 35s)
      --stop-delay DUR      be quiet this long before the worker is signalled
      --second-stop WHAT    at a second stop signal: force (default) or ignore
  -r, --rewrite FROM:TO     send TO in place of FROM; 0 sends none; repeatable
  -g, --group               send signals to the worker's process group
  -e, --remap-exit CODE     report this exit status as 0; repeatable
      --forking             COMMAND daemonizes: run on in the processes it left
      --health-addr ADDR    serve /healthz and /readyz there, such as :8080
      --log-format FORMAT   json, text, or auto: text on a terminal (default)
  -v, --verbose             log each signal, and why a process is not signalled
Others
      --stop-signal SIG     also begins the stop, as TERM and INT do; repeatable
      --forward TO          auto (default), handlers, group, worker or none
  -c, --single-child        --forward worker
  -p, --parent-death-signal SIG  sent to drainit when its own parent dies
      --ready-port PORT     not ready until PORT on loopback accepts
      --log-level LEVEL     error, warn, info (default) or debug
  -w, --warn-reaped         no effect: tini has it
  -P, --pause               no COMMAND: reap until TERM or INT, as a pod's pause
  -s, --subreaper           no effect: drainit always adopts orphans
      --install DIR         no COMMAND: make DIR/drainit-runtime, for Kubernetes
  -h, --help                this page
  -V, --version             the version
Subcommands, for the drainit of this container, or the one with --pid N
  status [--ready] [--plan] [--json]  0: it lives; --ready: it takes work
  quiet [--sleep DUR]       send TSTP; return when quiet, or after DUR
  resume                    send CONT
  stop [--force] [--wait]   send TERM; --force kills; --wait waits for the end
  plan [--during CMD] [--check CMD] [--within DUR] [--json]
                            stop COMMAND once, and say whether that loses work
DUR is 25s or 25. In the environment --grace is DRAINIT_GRACE. More: man drainit
Exit status: the worker's, 128+n for signal n, 137 killed, 125 drainit failed.
`
