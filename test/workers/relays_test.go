package workers

import (
	"syscall"
	"testing"

	"drainit/test/harness"
)

// deafWays are the starts whose worker can't act upon the signal: it ignores it, keeps it
// blocked, handles it only when its foreground command has ended, or is the init of a
// namespace of its own.
var deafWays = []way{
	// These shells have a handler for TERM without a trap, and die of it afterwards.
	{name: "`mksh -c 'node app; exit $?'`", programs: []string{"node", "mksh"}, status: 143,
		prepare: app(nil, nil, "mksh", "-c", "node app.js; exit $?")},
	{name: "`lksh start.sh` without a trap", programs: []string{"node", "lksh"}, status: 143,
		prepare: app(nil, files{"start.sh": "node app.js\n"}, "lksh", "start.sh")},
	{name: "`trap '' TERM; node app` in a script", programs: []string{"node", "bash"}, status: 7,
		prepare: app(env{"STATUS": "7"}, files{"start.sh": "trap '' TERM\nnode app.js\n"}, "bash", "start.sh")},
	mysqldSafeWay,
	{name: "`unshare --fork node app`", programs: []string{"node", "unshare"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "unshare", "--fork", "node", "app.js")},
	{name: "`strace -f -o trace node app`", programs: []string{"node", "strace"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "strace", "-f", "-o", "trace", "node", "app.js")},
	// It has two processes. The outer one dies of TERM.
	{name: "`bwrap --unshare-pid … node app`", programs: []string{"node", "bwrap"}, status: 143,
		prepare: app(nil, nil, "bwrap", "--dev-bind", "/", "/", "--unshare-pid", "node", "app.js")},
	{name: "`unshare --pid --fork sh -c 'node app; exit $?'`", programs: []string{"node", "unshare", "sh"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "unshare", "--pid", "--fork", "sh", "-c", "node app.js; exit $?")},
}

// pipeWays are the starts where a reader of the application's output handles the signal
// itself. A reader that leaves first costs the application its job, by SIGPIPE or EPIPE.
var pipeWays = []way{
	{name: "`sh -c 'node app | pino-pretty'`", npm: true, programs: []string{"sh"}, status: 7,
		prepare: app(env{"STATUS": "7", "CHATTY": "1"}, nil, "sh", "-c", "node app.js | pino-pretty")},
	{name: "`mkfifo f; perl reader <f & node app >f` in a script", programs: []string{"node", "bash", "perl", "mkfifo"}, status: 7,
		prepare: app(env{"STATUS": "7", "CHATTY": "1"}, files{
			"start.sh":  "mkfifo f\nperl reader.pl <f &\nnode app.js >f\n",
			"reader.pl": "$SIG{TERM} = sub { exit };\nprint while <STDIN>;\n",
		}, "bash", "start.sh")},
}

// relayWays are the starts with one more program that passes the signal on: to the child
// alone or to its group, by its flags and environment and not by its name.
var relayWays = []way{
	{name: "`timeout --foreground 300 sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "timeout"}, status: 143,
		prepare: app(nil, nil, "timeout", "--foreground", "300", "sh", "-c", "node app.js; exit $?")},
	{name: "`sh -c 'timeout --foreground 300 node app; exit $?'`", programs: []string{"node", "sh", "timeout"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "sh", "-c", "timeout --foreground 300 node app.js; exit $?")},
	{name: "`dumb-init -c sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "dumb-init"}, status: 143,
		prepare: app(nil, nil, "dumb-init", "-c", "sh", "-c", "node app.js; exit $?")},
	{name: "`sh -c 'dumb-init -c node app; exit $?'`", programs: []string{"node", "sh", "dumb-init"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "sh", "-c", "dumb-init -c node app.js; exit $?")},
	{name: "`env DUMB_INIT_SETSID=0 dumb-init sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "dumb-init"}, status: 143,
		prepare: app(nil, nil, "env", "DUMB_INIT_SETSID=0", "dumb-init", "sh", "-c", "node app.js; exit $?")},
	// The worker's successor is tini, whose own child is a shell that dies, or the application if
	// that tini has left before drainit looks: both end with this status.
	{name: "`sh -c 'tini -sg -- sh -c \"node app; exit $?\"; exit $?'`", programs: []string{"node", "sh", "tini"}, status: 143,
		prepare: app(env{"STATUS": "143"}, nil, "sh", "-c", `tini -sg -- sh -c "node app.js; exit \$?"; exit $?`)},
	{name: "`env TINI_KILL_PROCESS_GROUP=1 tini -s -- sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "tini"}, status: 143,
		prepare: app(nil, nil, "env", "TINI_KILL_PROCESS_GROUP=1", "tini", "-s", "--", "sh", "-c", "node app.js; exit $?")},
	{name: "`catatonit -g -- sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "catatonit"}, status: 143,
		prepare: app(nil, nil, "catatonit", "-g", "--", "sh", "-c", "node app.js; exit $?")},
}

// threadWays are the starts of a worker whose main thread has ended while others live: the
// kernel calls it a zombie.
var threadWays = []way{
	{name: "`python3 threads.py`, its main thread has ended", programs: []string{"python3"},
		prepare: headless},
	{name: "`python3 threads.py`, its main thread has ended, stopped", programs: []string{"python3"}, begin: stopThreads,
		prepare: headless},
}

// headless prepares a start of testdata/matrix/threads.py.
func headless(t *testing.T, s *scene) []string {
	s.python(t)
	return []string{"python3", testdata(t, "threads.py")}
}

// stopThreads stops the worker when its job has begun.
func stopThreads(t *testing.T, s *scene) {
	t.Helper()
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") == 1 })
	worker := s.init.FirstChild()
	harness.WaitUntil(t, "the main thread has ended", func() bool { return harness.StateOf(worker) == 'Z' })
	harness.Kill(t, worker, syscall.SIGSTOP)
}
