package workers

import (
	"strings"
	"testing"

	"drainit/test/harness"
)

// knownWays are starts by programs that are known to signal their own children alone, or no process
// (internal/program). The application runs all the time, so that nothing else proves that it has received no
// signal.
var knownWays = each([]way{
	{name: "INT to `npm start`, busy", status: 7},
	{name: "`sh -c 'npm start; exit $?'`, busy", status: 7},
	{name: "`npm start` in a script, busy", status: 7},
	{name: "`npm start`, whose script is a chain, busy", status: 7,
		files: npmScript("true && node app.js && true")},
	{name: "`npm start`, whose script is `npm run app`, busy", status: 7, files: npmScript("npm run app")},
	{name: "`npm start` in `npm start`, in a script, busy", status: 7, start: "bash start.sh",
		script: "npm run app\nexit $?", files: npmScript("npm start")},
	{name: "`npx -c 'node app; exit $?'`, busy", status: 7},
	{name: "`npx pm2-runtime start app` in a script, busy", script: "npx pm2-runtime start app.js",
		env: "CHATTY=1 " + patient},
	{name: "`yarn app`: `node app; exit $?`, busy", start: "yarn app", status: 1,
		files: npmScript("node app.js")},
	{name: "`cross-env A=1 sh -c 'node app; exit $?'`, busy", status: 1},
	{name: "`run-p app`: `node app; exit $?`, busy", start: "run-p app",
		files: npmScript("node app.js"), status: 143},
	{name: "`just run`: `node app; exit $?`, busy", start: "node_modules/rust-just-linux-x64/bin/just run",
		uses: "cross-env", files: files{"justfile": "run:\n  node app.js; exit $?\n"}, status: 143},
	{name: "`foreman start`: `node app; exit $?`, busy", start: "foreman start",
		files: files{"Procfile": "web: node app.js; exit $?\n"}},
	{name: "`s6-svscan services`, behind a shell, busy", start: "s6-svscan services",
		files: files{"services/app/run": "#!/bin/sh\ncd ../..\nnode app.js\nexit $?\n"}},
	{name: "bash: `trap 'sv stop ./services/*; kill $r; wait $r; exit' TERM`, `runsvdir services & r=$!; " +
		"wait`, busy",
		start:  "bash start.sh",
		script: "runsvdir services & r=$!\ntrap 'sv stop ./services/*; kill $r; wait $r; exit' TERM\nwait",
		uses:   "node app.js", files: files{"services/app/run": runitServices["services/direct/run"]}},
	// The command is still at work when it has started its daemon.
	{name: "`exec pm2 start app --attach` in a script, busy", script: "exec pm2 start app.js --attach",
		env: patient, status: 143},
	{name: "`exec pm2 start app --attach` in a script, `--forking`, busy",
		script: "exec pm2 start app.js --attach", env: patient, flags: "--forking", status: 143},
}, busily)

// commandOutputs are scripts that wait for the output of their application.
var commandOutputs = each([]way{
	{name: "bash: `trap cleanup TERM; x=$(node app)`, busy", status: 7},
	{name: "dash: `trap cleanup TERM; x=$(node app)`, busy", status: 7},
	{name: "busybox sh: `trap cleanup TERM; x=$(node app)`, busy", status: 7},
	{name: "bash: `trap cleanup TERM; echo \"$(true; node app)\"`, busy"},
	{name: "dash: `trap cleanup TERM; f() { x=$(true; node app; true); }; f`, busy"},
}, busily)

func busily(w *way) { w.env = strings.TrimSpace(w.env + " " + once + " TICK=20") }

// npmScript is a package with a script for start and one named app.
func npmScript(start string) files {
	return files{
		"package.json": `{"name": "app", "version": "1.0.0", "private": true, "scripts": {"start": "` +
			start + `", "app": "node app.js; exit $?"}}`}
}

// The standard input that drainit was given has no writer below it: what the worker leaves with that is no
// reader that ends when its writer does.
func TestDrainitsInputIsNoPipeOfTheTree(t *testing.T) {
	t.Parallel()
	harness.Need(t, "perl", "setsid")
	given, _ := harness.Pipe(t)
	busy := `$SIG{TERM} = sub { print "told\n"; exit }; open my $f, ">", "ready";
		select undef, undef, undef, 0.02 while 1`
	p := harness.Run(t, harness.Launch{Stdin: given, Dir: t.TempDir(), Args: harness.Line([]string{"-v"},
		"sh", "-c", `setsid -f perl -e "$0"; until [ -e ready ]; do sleep 0.1; done`, busy)})
	p.WaitErr(`sent SIGTERM to perl\[\d+\]: `)
	p.WaitOut("told")
	p.WantExit(0)
	p.WantLogged(`sent SIGTERM to perl\[\d+\]: the worker exited by itself`, 1)
}
