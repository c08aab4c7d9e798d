package workers

import (
	"slices"
	"strings"
	"syscall"
	"time"
)

// ways are the rows of the matrix, in its order.
var ways = named(slices.Concat(
	tight(appWays), serverWays, queueWays, tight(hardWays), tight(metWays), tight(foregrounds),
	tight(correctTraps), tight(knownWays), tight(commandOutputs)))

func named(ways []way) []way {
	return each(ways, func(w *way) { *w = w.readName() })
}

// tight gives the ways a grace whose last call comes after 9 s: the long job is over by
// then, and what is signalled by the last call only is signalled late, but in time.
func tight(ways []way) []way {
	return each(ways, func(w *way) { w.grace = 12 * time.Second })
}

// restless is how it goes with an application that runs all the time: nothing proves that it has
// received no signal, and where another process may have signalled it it waits for the last call.
type restless struct {
	tells  int  // how many processes drainit signals; not looked at if 0
	atOnce bool // no other process can have signalled it, or one has: the last call has nothing to do
}

func atOnce(tells int) *restless     { return &restless{tells, true} }
func inLastCall(tells int) *restless { return &restless{tells, false} }

const (
	once    = "TWICE=exit"             // the application is lost by a second signal
	patient = "PM2_KILL_TIMEOUT=20000" // PM2 gives it more time than its own 1.6 s
)

// appWays are the starts by the launchers of Node, by Go's own, by a shell, and by PM2, which
// tells its applications INT, and whose daemon is one of a session of its own.
var appWays = []way{
	{name: "`node app`", status: 7},
	{name: "`node app`, dies of its signal after the job", env: "STATUS=raise", status: 143},
	{name: "`exec npx tsx app` in a script", begin: prefer},
	{name: "`npx tsx app` in a script", status: 7, begin: prefer},
	{name: "`npm start`", status: 7, restless: atOnce(0)},
	{name: "`npm start`, its script execs",
		files: files{
			"package.json": `{"name": "app", "version": "1.0.0", "scripts": {"start": "exec node app.js"}}`}},
	{name: "`yarn start`", status: 1, restless: atOnce(0)},
	{name: "`pnpm start`", status: 143},
	{name: "`concurrently`", start: "concurrently 'node app.js'", status: 1},
	{name: "`go run`", start: "go run app.go", prepare: goCaches, begin: prefer, restless: atOnce(0)},

	{name: "INT alone handled, `TERM:INT`", start: "node app.js", env: "CATCH=SIGINT",
		flags: "--rewrite TERM:INT", dumbInit: "-r 15:2"},
	{name: "INT alone handled, behind bash, `TERM:INT`", script: "node app.js", env: "CATCH=SIGINT",
		flags: "--rewrite TERM:INT", dumbInit: "-r 15:2"},
	{name: "INT alone handled, behind npm, `TERM:INT`", start: "npm start", env: "CATCH=SIGINT",
		flags: "--rewrite TERM:INT", dumbInit: "-r 15:2"},
	{name: "INT to `bash start.sh`", script: "node app.js", env: "CATCH=SIGINT"},
	{name: "INT to `npm start`", env: "CATCH=SIGINT"},
	{name: "INT to `yarn start`", env: "CATCH=SIGINT", status: 1},

	{name: "`sh -c 'node app'`", status: 7},
	// Some shells exec the last command, and none this one.
	{name: "`sh -c 'node app; exit $?'`", status: 7, restless: atOnce(2)},
	{name: "bash with `trap 'kill $c' TERM; wait $c`", script: trapAndForward, status: 143,
		restless: atOnce(1)},
	{name: "bash with a trap that cleans up in the background", status: 5, uncounted: true,
		kept: noneSignalled,
		script: "trap 'bash clean-up.sh & exit 5' TERM\necho \"begin $EPOCHREALTIME\" >>\"$RECORD\"\nsleep " +
			"3600 &\nwait", uses: `sleep "$JOB"`},
	{name: "bash with a trap for EXIT", script: "trap 'rm -f pid' EXIT\nnode app.js\nexit $?", status: 7},
	{name: "`sh -c 'node app | tee log'`", env: "CHATTY=1", status: 7, restless: atOnce(0)},
	{name: "`timeout 300 sh -c 'node app; exit $?'`", status: 143, restless: atOnce(1)},
	{name: "INT to a bash with a trap for TERM", script: trapAndForward, status: 143},
	{name: "`while :; do node app; done`", script: "while :; do node app.js; done"},

	{name: "`pm2-runtime start`", start: "pm2-runtime start app.js", env: patient},
	{name: "`pm2-runtime start -i 2`", start: "pm2-runtime start app.js -i 2", env: patient, workers: 2},
	{name: "`npx pm2-runtime start`", start: "npx pm2-runtime start app.js", env: patient},
	{name: "`exec pm2 start` in a script, `--forking`", script: "exec pm2 start app.js", env: patient,
		flags: "--forking"},
	{name: "`pm2 start` and a loop with a trap", start: "bash boot-loop.sh", uses: "pm2 pgrep", env: patient,
		workers: 2, status: 143, waits: true},
	{name: "INT to `pm2 start` and a loop with a trap", start: "bash boot-loop.sh", uses: "pm2 pgrep",
		env: patient, workers: 2, waits: true},
}

const trapAndForward = `
node app.js & c=$!
trap 'kill $c' TERM
wait $c
exit`

// hardWays have a shell, launcher or manager between the init and the worker that
// neither dies of the signal at once nor passes it on as it should, or that does pass it on.
var hardWays = []way{
	// Scripts whose trap for TERM can't run while the shell waits for the command in its
	// foreground: the commonest fault of an entrypoint.
	{name: "`bash start.sh`: `trap cleanup TERM; node app`", status: 7, restless: atOnce(2)},
	{name: "`sh -c 'bash start.sh; exit $?'`: `trap cleanup TERM; node app`", status: 7, restless: atOnce(3)},
	{name: "`bash start.sh`: `trap cleanup TERM; bash job.sh`", uses: `sleep "$JOB"`,
		uncounted: true, tells: 1},
	{name: "`sh -c 'bash start.sh; exit $?'`: `trap cleanup TERM; bash job.sh`", uses: `sleep "$JOB"`,
		uncounted: true, tells: 2},
	{name: "`dash start.sh`: `trap cleanup TERM; node app`", status: 7, restless: atOnce(2)},
	{name: "`sh -c 'dash start.sh; exit $?'`: `trap cleanup TERM; node app`", status: 7, restless: atOnce(3)},
	{name: "`dash start.sh`: `trap cleanup TERM; bash job.sh`", uses: `sleep "$JOB"`,
		uncounted: true, tells: 1},
	{name: "`sh -c 'dash start.sh; exit $?'`: `trap cleanup TERM; bash job.sh`", uses: `sleep "$JOB"`,
		uncounted: true, tells: 2},
	{name: "`busybox sh start.sh`: `trap cleanup TERM; node app`", status: 7, restless: atOnce(2)},
	{name: "`sh -c 'busybox sh start.sh; exit $?'`: `trap cleanup TERM; node app`", status: 7},
	{name: "`busybox sh start.sh`: `trap cleanup TERM; bash job.sh`", uses: `sleep "$JOB"`,
		uncounted: true, tells: 1},
	{name: "`sh -c 'busybox sh start.sh; exit $?'`: `trap cleanup TERM; bash job.sh`", uses: `sleep "$JOB"`,
		uncounted: true, tells: 2},

	// Workers that can't act upon the signal: they ignore it, keep it blocked, handle it only when
	// their foreground command has ended, or are the init of a namespace of their own. mksh and
	// lksh have a handler for TERM without a trap, and die of it afterwards.
	{name: "`mksh -c 'node app; exit $?'`", status: 143, restless: atOnce(2)},
	{name: "`lksh start.sh` without a trap", start: "lksh start.sh", script: "node app.js", status: 143},
	{name: "`trap '' TERM; node app` in a script", status: 7, restless: atOnce(2)},
	mysqldSafeWay,
	{name: "`unshare --fork node app`", status: 7},
	{name: "`strace -f -o trace node app`", status: 7},
	// It has two processes. The outer one dies of TERM.
	{name: "`bwrap --unshare-pid … node app`",
		start: "bwrap --dev-bind / / --unshare-pid node app.js", status: 143},
	{name: "`unshare --pid --fork sh -c 'node app; exit $?'`", status: 7},

	// Programs of the user's own that exit on TERM while the application works on, or end the
	// group that they gave it. rake aborts: its sh ends with an exception.
	{name: "Python: `sys.exit` on TERM, `Popen(['node', 'app']).wait()`", start: "python3 exits.py",
		uses: "node app.js", restless: inLastCall(2)},
	{name: "node: `process.exit` on TERM, `spawn('node', ['app'])`", start: "node exits.js"},
	{name: "ruby: `exit` on TERM, `Process.wait spawn('node', 'app')`", start: "ruby exits.rb",
		uses: "node app.js"},
	{name: "`rake start`: `sh 'node app'`", start: "rake start",
		files: files{"Rakefile": "task(:start) { sh 'node app.js' }\n"}, uses: "node app.js", status: 1},
	{name: "Python: `Popen(…, shell=True, start_new_session=True)`, `killpg`",
		start: "python3 killpg.py 'node app.js; exit $?'", tells: 1, uses: "sh"},
	{name: "Python: `Popen('sh start.sh', shell=True, start_new_session=True)`, `killpg`",
		start: "python3 killpg.py 'sh start.sh; exit $?'", script: "node app.js", tells: 1},

	// Managers of several programs, and what runs the scripts of several packages: on the signal
	// some leave at once, some tell the groups of their children, and some tell a shell alone.
	// supervisord looks each second whether all are gone, and nx tells each process of its tasks
	// once, twice or more often: it walks the tree, and so does each nx in that tree.
	{name: "`supervisord`, one program behind `sh -c`", workers: 2, leaves: 1500 * time.Millisecond,
		start: "supervisord -c supervisord.conf", uses: "sh node app.js",
		files: supervisord("", "node app.js", behindShell)},
	{name: "`supervisord` with `stopasgroup`, behind `sh -c`", tells: 1, leaves: 1500 * time.Millisecond,
		start: "supervisord -c supervisord.conf", uses: "sh node app.js",
		files: supervisord("stopasgroup=true", behindShell)},
	{name: "`runsvdir`", start: "runsvdir services", uses: "node app.js", files: runitServices, workers: 2,
		restless: atOnce(4)},
	{name: "`runsvdir`, `--stop-signal HUP`", start: "runsvdir services", uses: "node app.js",
		files: runitServices, workers: 2, status: 111,
		signal: syscall.SIGHUP, flags: "--stop-signal HUP"},
	{name: "`nx start app`", status: 130, uncounted: true, tells: 1,
		files: files{"nx.json": `{"analytics": false}`,
			"package.json": `{"name": "app", "version": "1.0.0", ` +
				`"scripts": {"start": "node app.js"}, "nx": {}}`}},
	{name: "`lerna run start`", start: "lerna run start --stream", files: lerna(""), status: 130,
		uncounted: true, tells: 1},
	{name: "`lerna run start`, `useNx: false`", start: "lerna run start --stream",
		files: lerna(`, "useNx": false`), status: 143},
	{name: "`lerna exec -- node app`", start: "lerna exec --stream -- node ../../app.js",
		files: lerna(""), status: 143},

	// A reader of the application's output that handles the signal itself. One that leaves first
	// costs the application its job, by SIGPIPE or EPIPE.
	{name: "`sh -c 'node app | pino-pretty'`", env: "CHATTY=1", status: 7},
	{name: "`mkfifo f; perl reader <f & node app >f` in a script",
		script: "mkfifo f\nperl reader.pl <f &\nnode app.js >f", env: "CHATTY=1", status: 7},

	// One more program that passes the signal on: to the child alone or to its group, by its flags
	// and environment and not by its name.
	{name: "`timeout --foreground 300 sh -c 'node app; exit $?'`", status: 143, long: true,
		restless: atOnce(2)},
	{name: "`sh -c 'timeout --foreground 300 node app; exit $?'`", status: 7},
	{name: "`dumb-init -c sh -c 'node app; exit $?'`", status: 143},
	{name: "`sh -c 'dumb-init -c node app; exit $?'`", status: 7},
	{name: "`env DUMB_INIT_SETSID=0 dumb-init sh -c 'node app; exit $?'`", status: 143},
	// The worker's successor is tini, whose own child is a shell that dies, or the application if
	// that tini has left before drainit looks: both end with this status.
	{name: "`sh -c 'tini -sg -- sh -c \"node app; exit $?\"; exit $?'`", env: "STATUS=143", status: 143,
		start: `sh -c 'tini -sg -- sh -c "node app.js; exit \$?"; exit $?'`},
	{name: "`env TINI_KILL_PROCESS_GROUP=1 tini -s -- sh -c 'node app; exit $?'`", status: 143},
	{name: "`catatonit -g -- sh -c 'node app; exit $?'`", status: 143},

	// Another user than the init's, of whose processes it may not look at the files, descriptors
	// and system calls without SYS_PTRACE.
	{name: "`setpriv --reuid=nobody … sh -c 'node app | tee log'`, no SYS_PTRACE",
		env: "CHATTY=1", status: 7},
	{name: "`setpriv --reuid=nobody … timeout 300 sh -c 'node app; exit $?'`, no SYS_PTRACE", status: 143},
	{name: "INT to `setpriv --reuid=nobody … ./start.sh`, a bash, no SYS_PTRACE",
		start: asNobody + "./start.sh", script: "#!/bin/bash\nnode app.js", status: 7},
	{name: "`setpriv --reuid=nobody … bash start.sh`: `trap cleanup TERM; node app`, no SYS_PTRACE",
		status: 7},

	// Another user, and a terminal of one's own. What changes the user and stays ends its child's
	// work after 2 s: here that child is a shell, which is dead by then.
	{name: "`setpriv --reuid=nobody … sh -c 'node app; exit $?'`", status: 7},
	{name: "`runuser -u nobody -- sh -c 'node app; exit $?'`", status: 143, restless: atOnce(2)},
	{name: "`su nobody -s /bin/sh -c 'node app; exit $?'`", status: 143, long: true},
	scriptWay,
	{name: "`unbuffer node app`, HUP handled", env: "IGNORE=SIGHUP", status: 143},

	// A worker whose main thread has ended while others live: the kernel calls it a zombie.
	{name: "`python3 threads.py`, its main thread has ended"},
	{name: "`python3 threads.py`, its main thread has ended, stopped", begin: stopThreads},

	// Starts that articles on graceful shutdown advise, or warn of.
	{name: "INT to `npx tsx app` in a script", status: 7, begin: prefer},
	{name: "`exec tsx app` in a script", begin: prefer},
	{name: "INT to `pm2-runtime start`", start: "pm2-runtime start app.js", env: patient},
	{name: "INT to `npx pm2-runtime start`", start: "npx pm2-runtime start app.js", env: patient},
	{name: "`pm2-runtime start` with `wait_ready`, `listen_timeout`",
		start: "pm2-runtime start ecosystem.config.js", env: "READY=1"},
	{name: "`node app & disown -h %1` in a script, `--forking`", flags: "--forking"},
	{name: "`node app & disown; sleep infinity` in a script", status: 7},
	// The server is signalled when the worker has gone. It has nothing to do then.
	{name: "`node server & exec node app` in a script", script: "JOB=0 node app.js &\nexec node app.js",
		status: 7, workers: 2, inTurn: true, tells: 2},
	{name: "`python3 server.py & exec node app` in a script", script: "python3 server.py &\nexec node app.js",
		status: 7, workers: 2, inTurn: true, tells: 2},
}

const asNobody = "setpriv --reuid=nobody --regid=nogroup --clear-groups "

// scriptWay has a terminal that goes with script: the kernel sends HUP to the application.
var scriptWay = way{name: "`script -qec 'node app; exit $?' /dev/null`, HUP handled",
	env: "IGNORE=SIGHUP SHELL=/bin/sh", late: true}

const behindShell = `sh -c "node app.js; exit $?"`

// correctTraps are the starts whose script or wrapper passes the signal on by itself, so that
// drainit must signal that alone: two signals that come at the same moment may be one to the
// application. A second signal ends it at once, and its job is lost. Where the program dies of the
// signal after it has passed it on, an init that ends with its child loses the job too.
var correctTraps = each(slices.Concat(signalling, watchLoops(), wrappers, guarded), func(w *way) {
	w.env, w.tells = once, 1
	// the application runs all the time, and can't be proven untouched
	if strings.HasSuffix(w.name, ", busy") {
		w.env += " TICK=20"
	}
})

// signalling are bashes whose script signals its jobs and waits for them: its last wait gives 0.
// One that dies of the signal has its job as its only successor, and the exit status is the job's.
var signalling = []way{
	{name: "`bash -c 'trap \"kill \\$(jobs -p)\" TERM; node app & node app & wait; wait'`", workers: 2},
	{name: "`bash -c 'trap \"kill \\$(jobs -p)\" TERM; node app & node app & node app & wait; wait'`",
		workers: 3},
	{name: "`bash -c 'trap \"kill \\$(jobs -p)\" TERM; node app & node app & node app & node app & wait; " +
		"wait'`", workers: 4},
	{name: "bash: `node app & a=$!`, `node app & b=$!`, `trap 'kill $a $b' TERM`, `wait; wait`", workers: 2},
	{name: "bash: `f() { node app & node app & wait; }`, `trap 'kill $(jobs -p)' TERM`, `f; wait`",
		workers: 2},
	{name: "bash: `trap 'kill $(jobs -p)' TERM`, `if true; then node app & node app & fi`, `wait; wait`",
		workers: 2},
	{name: "bash: `trap 'kill $(jobs -p)' TERM`, `for i in 1 2; do node app & done`, `wait; wait`",
		workers: 2},
	{name: "bash: `(trap 'kill $(jobs -p)' TERM; node app & node app & wait; wait) & s=$!`, " +
		"`trap 'kill $s' TERM`, `wait $s; wait $s`", workers: 2},
	{name: "bash: `trap 'kill $(jobs -p)' TERM`, `node app | cat & wait; wait`"},
	{name: "bash: `trap 'kill $(jobs -p)' TERM`, `node app & node app &`, `while [ -n \"$(jobs -pr)\" ]; " +
		"do wait -n; done`", workers: 2},
	{name: "bash: `trap \"trap - TERM; kill -- -$$\" INT TERM EXIT`, `node app & wait`", status: 7,
		restless: atOnce(1)},
	{name: "bash: `perl -e '$SIG{TERM} = sub { sleep 2; exit }; sleep 1 while 1' & s=$!`, " +
		"`node app & c=$!`, `trap 'kill $s; wait $s; kill $c' TERM`, `wait; wait`", long: true, waits: true},
	{name: "bash: `node app & c=$!`, `trap 'sleep 1; kill $c' TERM`, `wait $c; wait $c`", long: true,
		waits: true, restless: atOnce(1)},
}

// watchLoops are scripts that look whether their job lives, each second or five times in one.
// The trap runs when the sleep in the foreground has ended.
func watchLoops() (ways []way) {
	for _, shell := range []string{"bash", "dash", "busybox sh"} {
		for _, pause := range []string{"1", "0.2"} {
			ways = append(ways, way{leaves: 1500 * time.Millisecond,
				name: shell +
					": `node app & a=$!`, `trap 'kill $a' TERM`, `while kill -0 $a 2>/dev/null; do sleep " +
					pause + "; done`"})
		}
	}
	return ways
}

// wrappers die of the signal after they have passed it on; and once more some whose application
// never rests.
var wrappers = []way{
	{name: "bash: `trap 'kill $p' EXIT`, `node app & p=$!; wait`", status: 7},
	{name: "bash: `trap 'kill 0' EXIT`, `node app & p=$!; wait`", status: 7},
	{name: "node: `c.kill('SIGTERM')` and `process.kill(process.pid, 'SIGTERM')` once on TERM, " +
		"`c = spawn('node', ['app'])`",
		start: "node signal-exit.js", status: 143},
	{name: "Python: `terminate()` of `Popen(['node', 'app'])` on TERM, " +
		"then `SIG_DFL` and `os.kill(os.getpid(), SIGTERM)`",
		start: "python3 signal-exit.py", uses: "node app.js", status: 143},
	{name: "`pnpm exec node app`", status: 7},
	{name: "`env-cmd node app`", files: files{".env": "A=1\n"}, status: 143},
	{name: "node: `await execa('node', ['app'])`", start: "node execa.mjs", uses: "execa", status: 143},

	{name: "`bash -c 'trap \"kill \\$(jobs -p)\" TERM; node app & node app & wait; wait'`, busy", workers: 2},
	{name: "bash: `node app & a=$!`, `node app & b=$!`, `trap 'kill $a $b' TERM`, `wait; wait`, busy",
		workers: 2},
	{name: "bash: `trap \"trap - TERM; kill -- -$$\" INT TERM EXIT`, `node app & wait`, busy", status: 7},
	{name: "node: `c.kill('SIGTERM')` and `process.kill(process.pid, 'SIGTERM')` once on TERM, " +
		"`c = spawn('node', ['app'])`, busy",
		start: "node signal-exit.js", status: 143},
	{name: "`pnpm exec node app`, busy", status: 7},
}

// metWays are starts that were met elsewhere: runners of tasks that pass nothing on, a pipeline into what
// works when its input has ended, job control in a script, and a daemon beside two applications.
var metWays = each([]way{
	{name: "bash: `set -m`, `trap cleanup TERM`, `node app & fg %1`", status: 7, restless: inLastCall(2)},
	{name: "`make run`: `node app; exit $?`", start: "make -s run", files: makefile, restless: atOnce(2)},
	{name: "INT to `make run`: `node app; exit $?`", start: "make -s run", files: makefile},
	{name: "`composer run-script app`: `node app`", start: "composer --no-interaction run-script app",
		files: composerFile, tells: 2},
	{name: "INT to `composer run-script app`: `node app`", start: "composer --no-interaction run-script app",
		files: composerFile, tells: 2},
	{name: "bash: `node app | sort >out`", env: "CHATTY=1", tells: 2, kept: gives("cat out")},
	{name: "`sh -c 'setsid -f perl daemon; node app & node app & wait'`", workers: 3, inTurn: true, tells: 4,
		status: 143, kept: daemonLast},
}, func(w *way) { w.env = strings.TrimSpace(w.env + " " + once) })

// foundWays are starts that once lost a job or had one signalled twice, and others that only
// one rule decides. Their application is the one in Perl, which stands where node does here. In
// some the foreground has a process group or session of its own, or the shell can't be read.
var foundWays = named(each(slices.Concat(rarely, []way{
	{name: "`sh -c 'sh -c \"node app; exit $?\"; exit $?'`",
		start: `sh -c 'sh -c "node app.js; exit \$?"; exit $?'`, status: 7, restless: atOnce(3)},
	{name: "`mksh start.sh`: `trap cleanup TERM; node app`", status: 7, restless: atOnce(2)},
	{name: "bash: `trap cleanup TERM; node app | tee log`", env: "CHATTY=1", late: true, long: true,
		restless: inLastCall(2)},
	{name: "bash: `trap 'exit 5' TERM`, `node app & wait`", status: 5, tells: 2, restless: inLastCall(2)},
	{name: "bash: `set -m`, `node app & c=$!`, `trap 'kill $c' TERM`, `wait $c; wait $c`", status: 7,
		tells: 1, restless: atOnce(1)},
	{name: "bash: `trap cleanup TERM; setsid -w node app`", status: 7, restless: inLastCall(2)},
	{name: "dash: `trap cleanup TERM; setsid -w node app`", status: 7, restless: atOnce(2)},
	{name: "`setpriv --reuid=nobody … ./bash start.sh` of mode 711: `trap cleanup TERM; node app`, " +
		"no SYS_PTRACE", status: 7, prepare: hiddenBash},

	// Programs above a shell or the application that handle the signal: some pass it on, to a shell
	// that dies of it or to each process below, and some signal none.
	{name: "perl: signals each process below it and exits, above `sh -c 'node app; exit $?'`",
		start: "perl tree-kill.pl", uses: "sh", tells: 1, restless: atOnce(1)},
	{name: "perl: passes TERM on, above `sh -c 'node app; exit $?'`", start: "perl passes-on.pl", uses: "sh",
		restless: inLastCall(2)},
	{name: "perl: a handler that signals no process around `system('node app')`",
		start: "perl signals-none.pl", status: 7, late: true, long: true},
	{name: "Python: a handler that signals no process around `subprocess.run(['node', 'app'])`",
		start:  "python3 signals-none.py",
		status: 7, late: true, long: true},
	{name: "node: a handler that signals no process around `execSync('node app')`",
		start: "sh -c 'exec node signals-none.js'", status: 7, late: true},
	{name: "Java without a hook: `new ProcessBuilder(\"node\", \"app\").start().waitFor()`",
		start: "$JAVA perl app.pl", uses: "java javac", status: 143,
		prepare: java("Launcher")},
	{name: "`python3 wait.py`: ignores TERM, blocks it and waits for it in `sigwait`",
		start: "python3 wait.py"},
	{name: "`sh -c 'python3 wait.py; exit $?'`: likewise", start: "sh -c 'python3 wait.py; exit $?'"},

	// The end of a pipeline, which still works when its input has ended.
	{name: "bash: `node app | tee log`", env: "CHATTY=1", tells: 2, kept: gives("cat log")},
	{name: "bash: `node app | gzip >out`", env: "CHATTY=1", tells: 2, kept: gives("gzip -dc out")},
	{name: "bash: `node app | xz >out`", env: "CHATTY=1", tells: 2, kept: gives("xz -dc out")},
	{name: "bash: `node app | pino-pretty >out`", env: "CHATTY=1", tells: 2, kept: gives("cat out")},
	{name: "bash: `sqlite3 db 'create table t(line)'`, `node app | sqlite3 db '.import /dev/stdin t'`",
		env: "CHATTY=1", tells: 2,
		kept: gives("sqlite3 db 'select * from t'")},
	{name: "`ksh93 start.sh`: `node app | cat | sort >out; exit $?`", env: "CHATTY=1",
		kept: gives("cat out")},
	{name: "node: `spawn('sort', {stdio: [app.stdout, …]})`", start: "node stdio.js", uses: "node app.js",
		env: "CHATTY=1", tells: 1, kept: gives("cat out")},
	{name: "`mkfifo f; sort <f >out & node app >f` in a script", env: "CHATTY=1",
		script: "mkfifo f\nsort <f >out &\nnode app.js >f\n:", kept: gives("cat out")},
	{name: "bash: `trap cleanup TERM; node app | sort >out`", env: "CHATTY=1", late: true, long: true},
	{name: "`exec node app > >(sort >out)` in a script", env: "CHATTY=1", kept: gives("cat out")},

	{name: "`sh -c 'python3 threads.py; exit $?'`, its main thread has ended", tells: 2},
	{name: "`bash start.sh`: `trap cleanup TERM; python3 threads.py`, its main thread has ended", tells: 2},

	// Several applications, some of which are to outlive others: the first handles these signals,
	// and runs when its job has ended.
	{name: "`sh -c 'node app & node app & wait'`", workers: 2, tells: 3, status: 143, restless: atOnce(3)},
	besideExec("SIGTERM", atOnce(2)),
	besideExec("SIGTERM,SIGINT", atOnce(2)),
	besideExec("SIGTERM,SIGINT,SIGQUIT", inLastCall(2)),
	{name: "`sh -c 'setsid -f perl daemon; node app; exit $?'`", workers: 2, inTurn: true, tells: 3,
		status: 7, kept: daemonLast, restless: atOnce(3)},
}), func(w *way) { w.env, w.grace = strings.TrimSpace(w.env+" "+once), busyGrace }))

var makefile = files{"Makefile": "run:\n\tnode app.js; exit $$?\n"}

var composerFile = files{"composer.json": `{"scripts": {"app": "node app.js"}}`}

// besideExec is a shell that starts one application and becomes another.
func besideExec(signals string, how *restless) way {
	return way{name: "`node app & exec node app`, the first handles " + signals,
		start:   "sh -c 'CATCH=" + signals + " node app.js & exec node app.js'",
		workers: 2, inTurn: true, tells: 2, status: 7, late: !how.atOnce, long: !how.atOnce, restless: how}
}
