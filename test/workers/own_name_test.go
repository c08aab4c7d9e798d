package workers

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// ownPrograms are one's own programs with the names of known ones (internal/program), by what runs them. A
// program in perl is a copy of perl with that name. "start" and the like are arguments that a row of the
// table asks for.
var ownPrograms = map[string]string{
	"perl": "make|just|go " +
		"run|pnpm|runsvdir|runsv|s6-svscan|s6-supervise|runuser|su|script|unshare|strace|timeout|" +
		"timeout --foreground|dumb-init|dumb-init -c",
	"perl ":   "parallel.pl",
	"python3": "supervisord.py|supervisord|honcho.py|gunicorn.py|celery.py",
	"ruby":    "foreman.rb|puma.rb",
	"php":     "composer.php",
	"node": "npm.js|npm|yarn.js|pnpm.js|run-p.js|cross-env.js|dotenv.js|env-cmd.js|nf.js|lerna.js " +
		"exec|pm2.js start|" +
		"-r ./node_modules/dotenv manager.js",
}

// steps are managers that stop a shell, wait for it, and then stop the job that it leaves, by its pid;
// interrupted are workers that handle INT alone. PHP is known for its own handlers of INT.
var (
	steps = map[string]string{
		"perl": `use Time::HiRes "usleep"; $s = fork or exec @ARGV;
			$SIG{TERM} = sub {
				kill TERM => $s; waitpid $s, 0; usleep 300_000; open F, "pid"; $j = <F>;
				kill TERM => $j; usleep 50_000 while kill 0, $j; exit
			};
			usleep 50_000 while 1`,
		"python3": `import os, signal, subprocess, sys, time
s = subprocess.Popen(sys.argv[-3:])
def stop(*_):
    s.terminate(); s.wait(); time.sleep(0.3)
    j = int(open("pid").read()); os.kill(j, signal.SIGTERM)
    while os.path.exists(f"/proc/{j}"): time.sleep(0.05)
    os._exit(0)
signal.signal(signal.SIGTERM, stop)
while True: time.sleep(0.05)`,
		"ruby": `s = spawn(*ARGV)
stop = false; trap("TERM") { stop = true }
sleep 0.05 until stop
Process.kill "TERM", s; Process.wait s; sleep 0.3
j = File.read("pid").to_i; Process.kill "TERM", j
sleep 0.05 while File.exist? "/proc/#{j}"`,
		"php": `<?php $s = proc_open(array_slice($argv, -3), [], $pipes);
			$pid = proc_get_status($s)["pid"]; $stop = false;
			pcntl_async_signals(true); pcntl_signal(SIGTERM, function () { global $stop; $stop = true; });
			while (!$stop) usleep(50000);
			posix_kill($pid, SIGTERM); pcntl_waitpid($pid, $status); usleep(300000);
			$j = (int) file_get_contents("pid"); posix_kill($j, SIGTERM);
			while (posix_kill($j, 0)) usleep(50000);`,
		"node": `const fs = require("fs"), {spawn} = require("child_process")
			const s = spawn("sh", process.argv.slice(-2), {stdio: "inherit"})
			process.on("SIGTERM", () => s.kill())
			s.on("exit", () => setTimeout(() => {
				const j = +fs.readFileSync("pid"); process.kill(j)
				setInterval(() => fs.existsSync("/proc/" + j) || process.exit(), 50)
			}, 300))`,
	}
	interrupted = map[string]string{
		"perl": `use Time::HiRes "usleep"; $| = 1; $SIG{INT} = sub { usleep 300_000; print "done\n"; exit };
			print "ready\n"; usleep 50_000 while 1`,
		"python3": "import signal, time\nsignal.signal(signal.SIGINT, lambda *_: (time.sleep(0.3), " +
			"print('done', flush=True), exit()))\nprint('ready', flush=True)\nwhile True: time.sleep(0.05)",
		"ruby": `$stdout.sync = true; stop = false; trap("INT") { stop = true }; puts "ready"
			sleep 0.05 until stop; sleep 0.3; puts "done"`,
		"node": `process.on("SIGINT", () => setTimeout(() => { console.log("done"); process.exit() }, 300))
			setInterval(() => {}, 50); console.log("ready")`,
	}
)

// ownJob is never at rest, so that nothing but the processes above it shows whether it was signalled.
const ownJob = `use Time::HiRes "time"; $| = 1; $SIG{TERM} = sub { print "told\n"; $end ||= time + 0.7 };
	open my $f, ">", "pid"; print $f $$; close $f; print "ready\n";
	select undef, undef, undef, 0.02 until $end && time > $end; print "done\n"`

// A name alone makes no program known: a job below one's own manager gets one signal, and one's own worker
// that handles INT alone gets INT.
func TestOwnProgramsWithKnownNames(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for runtime, names := range ownPrograms {
		for name := range strings.SplitSeq(names, "|") {
			if !harness.Row(name) {
				continue
			}
			t.Run(runtime+" "+name+" in steps", func(t *testing.T) {
				t.Parallel()
				runOwn(t, syscall.SIGTERM, runtime, name, steps, "sh", "-c", "perl job.pl; exit $?")
			})
			if runtime == "php" {
				continue
			}
			t.Run("INT to "+runtime+" "+name, func(t *testing.T) {
				t.Parallel()
				runOwn(t, syscall.SIGINT, runtime, name, interrupted)
			})
		}
	}
}

func runOwn(t *testing.T, sig syscall.Signal, runtime, name string, texts map[string]string, args ...string) {
	runtime, isScript := strings.CutSuffix(runtime, " ")
	isScript = isScript || runtime != "perl"
	harness.Need(t, runtime, "perl")
	dir, words := t.TempDir(), strings.Fields(name)
	harness.WriteFile(t, filepath.Join(dir, "job.pl"), ownJob)
	harness.Must(t, os.MkdirAll(filepath.Join(dir, "node_modules/dotenv"), 0o755))
	harness.WriteFile(t, filepath.Join(dir, "node_modules/dotenv/index.js"), "")
	text, file := texts[runtime], words[0]
	switch {
	case !isScript:
		harness.WriteProgram(t, dir, file, 0o755, harness.TextOf(t, harness.PathOf(t, "perl")))
		words[0] = "./" + words[0]
		if file == "go" { // whose verb is the script
			file = "run"
		} else {
			file, words = "script.pl", append(words[:1], "script.pl")
		}
	case words[0] == "-r":
		words, file = append([]string{runtime}, words...), words[2]
	default:
		words = append([]string{runtime}, words...)
	}
	harness.WriteFile(t, filepath.Join(dir, file), text)
	p := harness.Run(t, harness.Launch{
		Dir: dir, Args: harness.Line([]string{"-v"}, append(words, args...)...)})
	p.WaitOut("ready")
	p.WaitTitle("drainit:run")
	p.Signal(sig)
	p.WantExit(0)
	if told := strings.Count(p.Out(), "told\n"); len(args) > 0 && told != 1 ||
		!strings.Contains(p.Out(), "done\n") {
		t.Errorf("told %d times, and printed %q", told, p.Out())
	}
}
