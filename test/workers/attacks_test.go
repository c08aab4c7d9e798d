package workers

import (
	"os/exec"
	"testing"

	"drainit/test/harness"
)

// attacks are starts on which a verdict may be wrong: those that lose their job, and those that look as if
// they did.
var attacks = []struct {
	name     string
	verdicts string // without a check, one of these
	drains   bool   // with one
	kept     bool   // by the real stop
	way      way
}{
	// No handler of its own. A runtime may have one, by which the job is lost all the same.
	{"Perl without a handler", loses, false, false, bare("perl bare.pl")},
	{"Python without a handler", loses, false, false, bare("python3 bare.py")},
	{"Ruby without a handler", either, false, false, bare("ruby bare.rb")},
	{"PHP without a handler", either, false, false, bare("php bare.php")},
	{"Node without a handler", either, false, false, bare("node bare.js")},
	{"Go without a handler", either, false, false,
		way{start: "./bare-go", uncounted: true, status: 143, prepare: buildBare}},
	{"Java without a handler", either, false, false, bare("java Bare.java")},
	{"Ruby without a handler, below a shell", either, false, false, bare("sh -c 'ruby bare.rb; exit $?'")},
	{"Node without a handler, below npm", either, false, false,
		way{start: "npm start", uncounted: true, status: 143, files: npmScript("node bare.js")}},
	{"Ruby with a slow ensure", either, false, false, bare("ruby ensures.rb")},
	{"a trap ends Perl without a handler", loses, false, false, trapped("perl bare.pl")},
	{"a trap ends Ruby without a handler", arrive, false, false, trapped("ruby bare.rb")},
	{"a trap ends Node without a handler", arrive, false, false, trapped("node bare.js")},
	{"terminate() ends Perl without a handler", arrive, false, false,
		managed("p.terminate(); p.wait()", `"perl", "bare.pl"`)},
	{"a trap lets Perl without a handler work on", either, true, true,
		way{script: "perl bare.pl & p=$!\ntrap 'wait $p; exit 0' TERM\nwait $p", uncounted: true}},
	{"Python with a handler, which dies of its signal", arrive, true, true, bare("python3 raises.py")},
	{"Ruby with a trap, which dies of its signal", either, true, true, bare("ruby raises.rb")},
	{"Node with a handler, which dies of its signal", either, true, true,
		way{start: "node app.js", env: "STATUS=raise", status: 143}},
	// A handler that drops the job.
	{"Python drops its job", arrive, false, false, bare("python3 drops.py")},
	{"Java with a hook that does not wait", either, false, false, bare("java Hook.java")},
	// A manager that does not let its job end.
	{"a manager signals twice", arrive, false, false,
		way{script: "node app.js & p=$!\ntrap 'kill $p; sleep 1; kill $p; wait $p; exit 0' TERM\nwait $p",
			env: once}},
	{"a manager kills its job", arrive, false, false, managed("p.kill(); p.wait()", `"node", "app.js"`)},
	{"subprocess.run kills its job", arrive, false, false,
		way{start: "python3 run-exits.py", uses: "node app.js"}},
	{"a manager kills its job after a second", either, false, false,
		managed("p.terminate()\n  try: p.wait(1)\n  except subprocess.TimeoutExpired: p.kill()",
			`"node", "app.js"`)},
	{"PM2 kills its job after 1.6 s", either, false, false, way{start: "pm2-runtime start app.js"}},
	{"su kills its job after two seconds", either, false, false,
		way{start: "su nobody -s /bin/sh -c 'exec node app.js'"}},
	{"a manager leaves its job", either, true, true,
		way{start: "python3 leaves.py", flags: "--grace 16s", uses: "node app.js"}},
	{"a manager signals its job late", either, true, true,
		managed("time.sleep(2); p.terminate(); p.wait()", `"node", "app.js"`)},
	{"a trap and the group are signalled", arrive, false, false,
		way{script: "node app.js & p=$!\ntrap 'sleep 1; kill $p; wait $p; exit 0' TERM\nwait $p", env: once,
			flags: "--forward group"}},
	{"a server ends before its worker", arrive, false, false,
		way{script: "perl serve.pl & export SERVER=$!\nperl asks.pl\nexit 0", uncounted: true}},
	// drainit's own settings.
	{"the worker alone is signalled", loses, false, false,
		way{start: "sh -c 'node app.js; exit $?'", flags: "--forward worker", status: 143}},
	{"the worker alone is signalled, by -c", loses, false, false,
		way{start: "sh -c 'node app.js; exit $?'", flags: "-c", status: 143}},
	{"the grace period is too short", either, false, false, way{start: "node app.js", flags: "--grace 1s"}},
	{"the job is told in the last call", loses, false, true,
		way{script: "trap 'wait' TERM\nnode app.js &\nwait", flags: "--grace 12s", status: 143}},
	{"it ignores the signal", loses, false, false,
		way{start: "node app.js", env: "CATCH=SIGINT IGNORE=SIGTERM", flags: "--grace 2s"}},
	// A job that fails, or whose output is lost.
	{"one of two jobs fails", arrive, true, true,
		way{start: "sh -c 'STATUS=3 node app.js & node app.js & wait'", workers: 2, status: 143}},
	{"the job fails below subprocess.run", arrive, true, true,
		way{start: "python3 run.py", env: "STATUS=3", status: 143, uses: "node app.js"}},
	{"the job fails below make", loses, false, true,
		way{start: "make -s run", env: "STATUS=3", files: makefile}},
	{"the job dies of SIGSEGV below subprocess.run", arrive, false, false,
		way{start: "python3 run-faults.py", uncounted: true, status: 143, uses: "perl faults.pl"}},
	{"the job writes to a pipe of subprocess.run", either, false, false,
		way{start: "python3 run-reads.py", env: "CHATTY=1", uncounted: true, status: 143,
			uses: "node app.js"}},
	// Starts that keep their job.
	{"`npm start`", arrive, true, true, way{start: "npm start"}},
	{"a trap that waits", arrive, true, true,
		way{script: "node app.js & p=$!\ntrap 'kill $p; wait $p; exit 0' TERM\nwait $p"}},
	{"`sh -c`, and a job in Ruby", arrive, true, true, way{start: "sh -c 'ruby worker.rb; exit $?'"}},
}

const (
	loses  = "loses_work"
	arrive = "signals_arrive"
	either = loses + " " + arrive // as the time tells that the runtime took to end
)

// bare is a start of a worker that can't count the runs of its handler.
func bare(start string) way { return way{start: start, uncounted: true, status: 143} }

// trapped is a start whose trap signals the command and waits for it.
func trapped(command string) way {
	return way{script: command + " & p=$!\ntrap 'kill $p; wait $p; exit 0' TERM\nwait $p", uncounted: true}
}

// managed is a start by a manager in Python, which ends its job by these commands.
func managed(ends, command string) way {
	text := "import signal, subprocess, sys, time\np = subprocess.Popen([" + command + "])\n" +
		"def end(*_):\n  " + ends + "\n  sys.exit(0)\n" +
		"signal.signal(signal.SIGTERM, end)\nwhile True: signal.pause()\n"
	return way{start: "python3 manages.py", uses: command, uncounted: true, files: files{"manages.py": text}}
}

func buildBare(t *testing.T, s *scene) {
	t.Helper()
	from := harness.Repo("test/workers/testdata/matrix/bare.go")
	build := exec.Command("go", "build", "-o", "bare-go", from)
	build.Dir = s.dir
	harness.OutputOf(t, build)
}
