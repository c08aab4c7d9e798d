package workers

// guarded are programs that signal their jobs from a handler which first ignores or blocks the signal, that
// become another program in it, or that signal their whole group. Their application runs all the time, and is
// lost by a second signal.
var guarded = []way{
	{name: "bash: `trap 'trap \"\" TERM; kill $p; wait $p; exit $?' TERM`, `node app & p=$!; wait $p`, busy"},
	{name: "bash: `trap 'trap \"\" TERM; kill $p; wait $p; exit $?' TERM`, `node app & p=$!; wait $p`"},
	{name: "bash: `trap 'trap \"\" TERM; kill 0; wait $p; exit $?' TERM`, `node app & p=$!; wait $p`, busy"},
	{name: "bash: `trap 'trap \"\" TERM; kill $(jobs -p); wait' TERM`, `node app & node app & wait`, busy",
		workers: 2, status: 143},
	{name: "bash: `trap 'trap \"\" TERM; kill -- -$$; wait $p; exit $?' TERM`, `node app & p=$!; wait $p`, " +
		"busy"},
	{name: "bash: `trap 'trap \"\" TERM; kill $p; wait $p' EXIT`, `trap exit TERM`, `node app & p=$!; " +
		"wait $p`, busy", status: 143},
	{name: "dash: `trap 'trap \"\" TERM; kill $p; wait $p; exit $?' TERM`, `node app & p=$!; wait $p`, busy"},
	{name: "busybox sh: `trap 'trap \"\" TERM; kill $p; wait $p; exit $?' TERM`, `node app & p=$!; " +
		"wait $p`, busy"},
	{name: "bash: `trap 'trap \"\" TERM; kill $p; wait $p; exit $?' TERM`, `pnpm exec node app & p=$!; " +
		"wait $p`, busy"},
	{name: "bash: `trap 'exec python3 stops.py $p' TERM`, `node app & p=$!; wait $p`, busy"},
	{name: "Python: `SIG_IGN` and `terminate()` in the handler of TERM, `Popen(['node', 'app'])`, busy",
		start: "python3 guards.py ignore", uses: "node app.js"},
	{name: "Python: `pthread_sigmask` and `killpg(0)` in the handler of TERM, `Popen(['node', 'app'])`, busy",
		start: "python3 guards.py block", uses: "node app.js"},
	{name: "Python: `killpg(0)` in the handler of TERM, `Popen(['node', 'app'])`, busy",
		start: "python3 guards.py group", uses: "node app.js"},
}

// foregrounds are starts of which drainit signals the application itself, since none above it does: a command
// in the foreground of a shell, an orphan, a reader of a pipe that does not read. The application runs all
// the time.
var foregrounds = each([]way{
	{name: "bash: `trap cleanup TERM; node app`, busy", status: 7},
	{name: "`ksh93 start.sh`: `trap cleanup TERM; node app`, busy", status: 7},
	{name: "`mksh start.sh`: `trap cleanup TERM; node app`, busy", status: 7},
	{name: "`yash start.sh`: `trap cleanup TERM; node app`, busy", status: 7},
	// no mark is certain
	{name: "`zsh start.sh`: `trap cleanup TERM; python3 job.py`, busy", uses: "python3",
		status: 7, late: true},
	{name: "`mksh -c 'node app; exit $?'`, busy", status: 143},
	{name: "`lksh -c 'node app; exit $?'`, busy", status: 143},
	{name: "`posh -c 'node app; exit $?'`, busy", status: 143},
	{name: "`sh -c 'sh -c \"node app; exit $?\" & sh -c \"node app; exit $?\" & wait'`, busy", workers: 2,
		tells: 5, status: 143},
	{name: "`sh -c 'python3 manager.py; exit $?'`: jobs that use a `multiprocessing.Manager`",
		start: "sh -c 'python3 manager.py; exit $?'", tells: 4, status: 143},
	{name: "bash: `mkfifo f`, `trap 'echo >f; exit 0' TERM`, `python3 told.py & wait $!`, " +
		"which has no handler", tells: 1, uncounted: true},
	{name: "`tini -s -g -- python3 guards.py ignored`: around `bash -c 'python3 guards.py ignored; …'`",
		start: "tini -s -g -- python3 guards.py ignored bash", tells: 1},
}, func(w *way) { w.env = once + " TICK=20" })

// rarely are more of both kinds, whose application in Perl rests and then never rests: other shells and forms
// of a trap, and what changes the user.
var rarely = []way{
	{name: "dash: `trap 'trap \"\" TERM; kill 0; wait $p; exit $?' TERM`, `node app & p=$!; wait $p`",
		tells: 1, restless: atOnce(1)},
	{name: "dash: `trap 'trap \"\" TERM; kill $p; wait $p' EXIT`, `trap exit TERM`, `node app & p=$!; " +
		"wait $p`", tells: 1, status: 143, restless: atOnce(1)},
	{name: "busybox sh: `trap 'trap \"\" TERM; kill -- -$$; wait $p; exit $?' TERM`, `node app & p=$!; " +
		"wait $p`", tells: 1, restless: atOnce(1)},
	{name: "`sh -c 'bash start.sh; exit $?'`: `trap 'trap \"\" TERM; kill $p; wait $p; exit $?' TERM; " +
		"node app & p=$!; wait $p`", tells: 2, restless: atOnce(2)},
	{name: "`sh -c 'dash start.sh; exit $?'`: `trap 'trap \"\" TERM; kill 0; wait $p; exit $?' TERM; " +
		"node app & p=$!; wait $p`", tells: 2, restless: atOnce(2)},
	{name: "bash: `trap 'exec sh -c \"kill $p; sleep 0.5\"' TERM`, `node app & p=$!; wait $p`", tells: 1,
		restless: atOnce(1)},
	{name: "Python: `SIG_IGN` and `terminate()` in the handler of TERM, `Popen(['node', 'app'])`",
		start: "python3 guards.py ignore", uses: "node app.js",
		tells: 1, restless: atOnce(1)},
	{name: "Python: `pthread_sigmask` and `killpg(0)` in the handler of TERM, `Popen(['node', 'app'])`",
		start: "python3 guards.py block",
		uses:  "node app.js", tells: 1, restless: atOnce(1)},
	{name: "Python: `killpg(0)` in the handler of TERM, `Popen(['node', 'app'])`",
		start: "python3 guards.py group", uses: "node app.js",
		tells: 1, restless: atOnce(1)},

	{name: "`yash start.sh`: `trap cleanup TERM; node app`", status: 7, restless: atOnce(2)},
	{name: "`ksh93 start.sh`: `trap cleanup TERM; node app`", status: 7, restless: atOnce(2)},
	{name: "`posh -c 'node app; exit $?'`", status: 143, restless: atOnce(2)},
	{name: "`lksh -c 'node app; exit $?'`", status: 143, restless: atOnce(2)},

	{name: "`runuser -u nobody -- bash -c 'trap : TERM; node app; exit $?'`", status: 143,
		restless: inLastCall(2)},
	{name: "`su nobody -s /bin/bash -c 'trap : TERM; node app; exit $?'`", status: 143,
		restless: inLastCall(2)},
}
