package workers

import (
	"os/exec"
	"testing"

	"drainit/test/harness"
)

// attacks are starts on which a verdict may be wrong: those that lose their job, and those that look as if they did.
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
	{"Go without a handler", either, false, false, bare("./bare-go")},
	{"Java without a handler", either, false, false, bare("java Bare.java")},
	{"Ruby without a handler, below a shell", either, false, false, bare("sh -c 'ruby bare.rb; exit $?'")},
	{"Node without a handler, below npm", either, false, false, bare("npm start")},
	{"Ruby with a slow ensure", either, false, false, bare("ruby ensures.rb")},
	{"a trap ends Perl without a handler", loses, false, false, trapped("perl bare.pl")},
	{"a trap ends Ruby without a handler", arrive, false, false, trapped("ruby bare.rb")},
	{"a trap ends Node without a handler", arrive, false, false, trapped("node bare.js")},
	{"terminate() ends Perl without a handler", arrive, false, false, managed("p.terminate(); p.wait()", `"perl", "bare.pl"`)},
	{"a trap lets Perl without a handler work on", either, true, true, way{script: "perl bare.pl & p=$!\ntrap 'wait $p; exit 0' TERM\nwait $p", uncounted: true, files: bares}},
	{"Python with a handler, which dies of its signal", arrive, true, true, bare("python3 raises.py")},
	{"Ruby with a trap, which dies of its signal", either, true, true, bare("ruby raises.rb")},
	{"Node with a handler, which dies of its signal", either, true, true, way{start: "node app.js", env: "STATUS=raise", status: 143}},
	// A handler that drops the job.
	{"Python drops its job", arrive, false, false, bare("python3 drops.py")},
	{"Java with a hook that does not wait", either, false, false, bare("java Hook.java")},
	// A manager that does not let its job end.
	{"a manager signals twice", arrive, false, false, way{script: "node app.js & p=$!\ntrap 'kill $p; sleep 1; kill $p; wait $p; exit 0' TERM\nwait $p", env: once}},
	{"a manager kills its job", arrive, false, false, managed("p.kill(); p.wait()", `"node", "app.js"`)},
	{"subprocess.run kills its job", arrive, false, false, way{start: "python3 run.py", files: files{"run.py": "import signal, subprocess, sys\n" +
		"signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n" + `subprocess.run(["node", "app.js"])` + "\n"}}},
	{"a manager kills its job after a second", either, false, false, managed("p.terminate()\n  try: p.wait(1)\n  except subprocess.TimeoutExpired: p.kill()", `"node", "app.js"`)},
	{"PM2 kills its job after 1.6 s", either, false, false, way{start: "pm2-runtime start app.js"}},
	{"su kills its job after two seconds", either, false, false, way{start: "su nobody -s /bin/sh -c 'exec node app.js'"}},
	{"a manager leaves its job", either, true, true, way{start: "python3 leaves.py", flags: "--grace 16s", files: files{"leaves.py": "import signal, subprocess, sys\n" +
		`p = subprocess.Popen(["node", "app.js"])` + "\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nwhile True: signal.pause()\n"}}},
	{"a manager signals its job late", either, true, true, managed("time.sleep(2); p.terminate(); p.wait()", `"node", "app.js"`)},
	{"a trap and the group are signalled", arrive, false, false, way{script: "node app.js & p=$!\ntrap 'sleep 1; kill $p; wait $p; exit 0' TERM\nwait $p", env: once, flags: "--forward group"}},
	{"a server ends before its worker", arrive, false, false, way{script: "perl serve.pl & export SERVER=$!\nperl asks.pl\nexit 0", uncounted: true, files: files{
		"serve.pl": `$SIG{TERM} = sub { exit 0 }; sleep 1 while 1;`,
		"asks.pl":  perlNote + `my $stop; $SIG{TERM} = sub { $stop = 1 }; note("begin"); my $end = time + ($ENV{JOB} || 0); select undef, undef, undef, .05 while time < $end; note("done") if kill 0 => $ENV{SERVER}; select undef, undef, undef, .05 until $stop;`}}},
	// drainit's own settings.
	{"the worker alone is signalled", loses, false, false, way{start: "sh -c 'node app.js; exit $?'", flags: "--forward worker", status: 143}},
	{"the worker alone is signalled, by -c", loses, false, false, way{start: "sh -c 'node app.js; exit $?'", flags: "-c", status: 143}},
	{"the grace period is too short", either, false, false, way{start: "node app.js", flags: "--grace 1s"}},
	{"the job is told in the last call", loses, false, true, way{script: "trap 'wait' TERM\nnode app.js &\nwait", flags: "--grace 12s", status: 143}},
	{"it ignores the signal", loses, false, false, way{start: "node app.js", env: "CATCH=SIGINT IGNORE=SIGTERM", flags: "--grace 2s"}},
	// A job that fails, or whose output is lost.
	{"one of two jobs fails", arrive, true, true, way{start: "sh -c 'STATUS=3 node app.js & node app.js & wait'", workers: 2, status: 143}},
	{"the job fails below subprocess.run", arrive, true, true, way{start: "python3 run.py", env: "STATUS=3", status: 143, files: files{"run.py": "import subprocess\nsubprocess.run(['node', 'app.js'])\n"}}},
	{"the job fails below make", loses, false, true, way{start: "make -s run", env: "STATUS=3", files: makefile}},
	{"the job dies of SIGSEGV below subprocess.run", arrive, false, false, way{start: "python3 run.py", uncounted: true, status: 143, files: files{"run.py": "import subprocess\nsubprocess.run(['perl', 'faults.pl'])\n",
		"faults.pl": `$SIG{TERM} = sub { kill SEGV => $$; sleep 9 }; ` + perlNote + `note("begin"); sleep 1 while 1;`}}},
	{"the job writes to a pipe of subprocess.run", either, false, false, way{start: "python3 run.py", env: "CHATTY=1", uncounted: true, status: 143,
		files: files{"run.py": "import subprocess\nsubprocess.run(['node', 'app.js'], capture_output=True)\n"}}},
	// Starts that keep their job.
	{"`npm start`", arrive, true, true, way{start: "npm start"}},
	{"a trap that waits", arrive, true, true, way{script: "node app.js & p=$!\ntrap 'kill $p; wait $p; exit 0' TERM\nwait $p"}},
	{"`sh -c`, and a job in Ruby", arrive, true, true, way{start: "sh -c 'ruby worker.rb; exit $?'"}},
}

const (
	loses  = "loses_work"
	arrive = "signals_arrive"
	either = loses + " " + arrive // as the time tells that the runtime took to end

	perlNote = `sub note { open F, ">>", $ENV{RECORD}; syswrite F, "$_[0] " . time . "\n" } `
	rubyNote = `def note(w) = File.write(ENV["RECORD"], "#{w} #{Time.now.to_i}\n", mode: "a")` + "\n"
	pyNote   = "import os, signal, sys, time\ndef note(w): open(os.environ['RECORD'], 'a').write('%s %d\\n' % (w, time.time()))\n"
	pyJob    = "note('begin')\nend = time.time() + float(os.environ['JOB'])\nwhile time.time() < end: time.sleep(0.05)\nnote('done')\n"
	rubyJob  = "note('begin')\nsleep ENV['JOB'].to_f\nnote('done')\n"
	jobJava  = `static void note(String w) throws Exception { java.nio.file.Files.writeString(java.nio.file.Path.of(System.getenv("RECORD")), w + " " + System.currentTimeMillis() / 1000 + "\n", java.nio.file.StandardOpenOption.CREATE, java.nio.file.StandardOpenOption.APPEND); }
	static void job() throws Exception { note("begin"); Thread.sleep((long) (1000 * Double.parseDouble(System.getenv("JOB")))); note("done"); Thread.sleep(Long.MAX_VALUE); }`
)

// bares are workers without a handler, or with one of a kind.
var bares = files{
	"bare.pl":    perlNote + `note("begin"); sleep($ENV{JOB} || 3600); note("done");`,
	"bare.py":    pyNote + pyJob + "time.sleep(3600)\n",
	"drops.py":   pyNote + "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n" + pyJob + "time.sleep(3600)\n",
	"raises.py":  pyNote + "stop = []\nsignal.signal(signal.SIGTERM, lambda *_: stop.append(1))\n" + pyJob + "while not stop: time.sleep(0.05)\nsignal.signal(signal.SIGTERM, signal.SIG_DFL)\nos.kill(os.getpid(), signal.SIGTERM)\n",
	"bare.rb":    rubyNote + rubyJob + "sleep\n",
	"ensures.rb": rubyNote + "begin\n" + rubyJob + "sleep\nensure\nsleep 1\nend\n",
	"raises.rb": rubyNote + "$stop = false\ntrap('TERM') { $stop = true }\nnote('begin')\nends = Time.now + ENV['JOB'].to_f\nsleep 0.05 while Time.now < ends\nnote('done')\nsleep 0.05 until $stop\n" +
		"raise SignalException, 'SIGTERM'\n",
	"bare.php": `<?php function note($w) { file_put_contents(getenv("RECORD"), "$w " . time() . "\n", FILE_APPEND); } note("begin"); $end = microtime(true) + (float) getenv("JOB");
		while (microtime(true) < $end) usleep(50000); note("done"); while (true) sleep(3600);`,
	"bare.js": `const note = (w) => require("node:fs").appendFileSync(process.env.RECORD, w + " " + Math.floor(Date.now() / 1000) + "\n"); note("begin");
		setTimeout(() => note("done"), 1000 * process.env.JOB); setInterval(() => {}, 1e9);`,
	"bare.go": "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"strconv\"\n\t\"time\"\n)\n\nfunc note(w string) {\n\tf, _ := os.OpenFile(os.Getenv(\"RECORD\"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)\n" +
		"\tfmt.Fprintln(f, w, time.Now().Unix())\n}\n\nfunc main() {\n\tnote(\"begin\")\n\ts, _ := strconv.ParseFloat(os.Getenv(\"JOB\"), 64)\n\ttime.Sleep(time.Duration(s * 1e9))\n\tnote(\"done\")\n\tselect {\n\tcase <-time.After(time.Hour):\n\t}\n}\n",
	"Bare.java":    "public class Bare {\n" + jobJava + "\npublic static void main(String[] a) throws Exception { job(); } }\n",
	"Hook.java":    "public class Hook {\n" + jobJava + "\npublic static void main(String[] a) throws Exception { Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println(\"bye\"))); job(); } }\n",
	"package.json": `{"name": "app", "version": "1.0.0", "scripts": {"start": "node bare.js"}}`,
}

// bare is a start of one of bares, which can't count the runs of its handler.
func bare(start string) way {
	w := way{start: start, uncounted: true, files: bares, status: 143}
	if start == "./bare-go" {
		w.prepare = buildBare
	}
	return w
}

// trapped is a start whose trap signals the command and waits for it.
func trapped(command string) way {
	return way{script: command + " & p=$!\ntrap 'kill $p; wait $p; exit 0' TERM\nwait $p", uncounted: true, files: bares}
}

// managed is a start by a manager in Python, which ends its job by these commands.
func managed(ends, command string) way {
	all := files{"manages.py": "import signal, subprocess, sys, time\np = subprocess.Popen([" + command + "])\ndef end(*_):\n  " + ends + "\n  sys.exit(0)\n" +
		"signal.signal(signal.SIGTERM, end)\nwhile True: signal.pause()\n", "bare.pl": bares["bare.pl"]}
	return way{start: "python3 manages.py", uses: command, uncounted: true, files: all}
}

func buildBare(t *testing.T, s *scene) {
	t.Helper()
	s.write(t, "bare.go", bares["bare.go"])
	build := exec.Command("go", "build", "-o", "bare-go", "bare.go")
	build.Dir = s.dir
	harness.OutputOf(t, build)
}
