package workers

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// foundWays are starts that once lost a job or had one signalled twice, and others that only
// one rule decides. Their application is the one in Perl, which plainApp puts where node stands.
var foundWays = slices.Concat(foundShells, foundParents, foundDaemons, foundLaunchers)

// foundShells are shells that die of the signal, wait with a trap, or pass the signal on. In
// some the foreground has a process group or session of its own, or the shell can't be read.
var foundShells = []way{
	{name: "`sh -c 'sh -c \"node app; exit $?\"; exit $?'`", programs: []string{"sh"}, status: 7,
		prepare: app(onceThen7, nil, "sh", "-c", `sh -c "node app.js; exit \$?"; exit $?`)},
	{name: "`mksh start.sh`: `trap cleanup TERM; node app`", programs: []string{"mksh"}, status: 7,
		prepare: app(onceThen7, files{"start.sh": trapAndWait + "node app.js\n"}, "mksh", "start.sh"), kept: cleanedUp},
	{name: "bash: `trap cleanup TERM; node app | tee log`", programs: []string{"bash", "tee"}, late: true,
		prepare: app(chatty, files{"start.sh": trapAndWait + "node app.js | tee log\n"}, "bash", "start.sh"), kept: cleanedUp},
	{name: "bash: `trap 'exit 5' TERM`, `node app & wait`", programs: []string{"bash"}, status: 5, tells: 2,
		prepare: app(once, files{"start.sh": "trap 'exit 5' TERM\nnode app.js & wait\n"}, "bash", "start.sh")},
	{name: "bash: `set -m`, `trap cleanup TERM`, `node app & fg %1`", programs: []string{"bash"}, status: 7,
		prepare: app(onceThen7, files{"start.sh": "set -m\n" + trapAndWait + "node app.js & fg %1\n"}, "bash", "start.sh"), kept: cleanedUp},
	{name: "bash: `set -m`, `node app & c=$!`, `trap 'kill $c' TERM`, `wait $c; wait $c`", programs: []string{"bash"}, status: 7, tells: 1,
		prepare: app(onceThen7, files{"start.sh": "set -m\nnode app.js & c=$!\ntrap 'kill $c' TERM\nwait $c; wait $c\n"}, "bash", "start.sh")},
	{name: "bash: `trap cleanup TERM; setsid -w node app`", programs: []string{"bash", "setsid"}, status: 7,
		prepare: app(onceThen7, files{"start.sh": trapAndWait + "setsid -w node app.js\n"}, "bash", "start.sh"), kept: cleanedUp},
	{name: "dash: `trap cleanup TERM; setsid -w node app`", programs: []string{"dash", "setsid"}, status: 7,
		prepare: app(onceThen7, files{"start.sh": trapAndWait + "setsid -w node app.js\n"}, "dash", "start.sh"), kept: cleanedUp},
	{name: "`setpriv --reuid=nobody … ./bash start.sh` of mode 711: `trap cleanup TERM; node app`, no SYS_PTRACE", programs: []string{"bash", "setpriv"}, status: 7, confined: true,
		prepare: hiddenShell, kept: cleanedUp},
}

// hiddenShell has a bash whose files and system calls another user may not read.
func hiddenShell(t *testing.T, s *scene) []string {
	b, err := os.ReadFile(harness.PathOf(t, "bash"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "bash"), b, 0o711); err != nil {
		t.Fatal(err)
	}
	return writable(app(onceThen7, files{"start.sh": trapAndWait + "node app.js\n"}, append(harness.AsNobody, "./bash", "start.sh")...))(t, s)
}

var chatty = env{"CHATTY": "1", "TWICE": "exit"}

// foundParents are programs above a shell or the application that handle the signal: some pass
// it on, to a shell that dies of it or to each process below, and some tell nobody.
var foundParents = []way{
	{name: "perl: signals each process below it and exits, above `sh -c 'node app; exit $?'`", programs: []string{"perl", "sh"}, tells: 1,
		prepare: app(once, files{"run.pl": treeKill}, "perl", "run.pl")},
	{name: "perl: passes TERM on, above `sh -c 'node app; exit $?'`", programs: []string{"perl", "sh"},
		prepare: app(once, files{"run.pl": passesOn}, "perl", "run.pl")},
	{name: "perl: a handler that tells nobody around `system('node app')`", programs: []string{"perl"}, status: 7, late: true, unsaid: true,
		prepare: app(onceThen7, files{"run.pl": tellsNobody}, "perl", "run.pl")},
	{name: "Python: a handler that tells nobody around `subprocess.run(['node', 'app'])`", programs: []string{"python3"}, status: 7, late: true, unsaid: true,
		prepare: debian(app(onceThen7, files{"run.py": tellsNobodyPython}, "python3", "run.py"))},
	{name: "node: a handler that tells nobody around `execSync('node app')`", programs: []string{"sh", "node"}, status: 7, late: true, unsaid: true,
		prepare: app(onceThen7, files{"run.js": execSync}, "sh", "-c", "exec node run.js")},
	{name: "Java without a hook: `new ProcessBuilder(\"node\", \"app\").start().waitFor()`", programs: []string{"java", "javac"}, status: 143,
		prepare: func(t *testing.T, s *scene) []string {
			return append(app(once, nil, harness.Java(t, "testdata/matrix/Launcher.java")...)(t, s), "perl", "app.pl")
		}},
	{name: "`make run`: `node app; exit $?`", programs: []string{"make"},
		prepare: app(once, makefile, "make", "-s", "run")},
	{name: "INT to `make run`: `node app; exit $?`", programs: []string{"make"}, signal: syscall.SIGINT,
		prepare: app(once, makefile, "make", "-s", "run")},
	{name: "`python3 wait.py`: ignores TERM, blocks it and waits for it in `sigwait`", programs: []string{"python3"},
		prepare: sigwait("python3", "wait.py")},
}

const treeKill = `
sub below { map { ($_, below($_)) } split ' ', do { local (@ARGV, $/) = "/proc/$_[0]/task/$_[0]/children"; <> // "" } }
$SIG{TERM} = sub {
	kill TERM => $_ for below($$);
	exit;
};
unless ($c = fork) { exec "sh", "-c", 'node app.js; exit $?' }
1 while waitpid($c, 0) != $c;
`

const passesOn = `
$SIG{TERM} = sub { kill TERM => $c };
unless ($c = fork) { exec "sh", "-c", 'node app.js; exit $?' }
1 while waitpid($c, 0) != $c;
`

const tellsNobody = `
$SIG{TERM} = sub { };
unless ($c = fork) { exec "node app.js" }
1 while waitpid($c, 0) != $c;
exit $? >> 8;
`

const tellsNobodyPython = `
import signal, subprocess, sys

signal.signal(signal.SIGTERM, lambda *_: None)
sys.exit(subprocess.run(["node", "app.js"]).returncode)
`

const execSync = `
process.on('SIGTERM', () => {});
try {
  require('node:child_process').execSync('node app.js', { stdio: 'inherit' });
} catch (e) {
  process.exit(e.status);
}
`

var makefile = files{"Makefile": "run:\n\tnode app.js; exit $$?\n"}

// sigwait prepares a start of a program in Python that takes TERM by sigwait, as Swift's servers
// do. Linux queues a blocked signal although it is ignored.
func sigwait(command ...string) func(*testing.T, *scene) []string {
	return withRecord(app(nil, files{"wait.py": `
import os, signal
from record import record

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
signal.signal(signal.SIGTERM, signal.SIG_IGN)
record("begin")
signal.sigwait({signal.SIGTERM})
record("signalled", "SIGTERM")
open(os.environ["END"]).close()
record("done")
`}, command...))
}

// foundDaemons are several applications, some of which are to outlive others.
var foundDaemons = []way{
	{name: "`sh -c 'node app & node app & wait'`", programs: []string{"sh"}, workers: 2, tells: 3, status: 143,
		prepare: app(once, nil, "sh", "-c", "node app.js & node app.js & wait")},
	besideExec("SIGTERM", false),
	besideExec("SIGTERM,SIGINT", false),
	besideExec("SIGTERM,SIGINT,SIGQUIT", true),
	{name: "`sh -c 'setsid -f perl daemon; node app; exit $?'`", programs: []string{"sh", "setsid", "perl"}, workers: 2, inTurn: true, tells: 3, status: 7,
		prepare: app(onceThen7, files{"daemon.pl": daemon}, "sh", "-c", "setsid -f perl daemon.pl; node app.js; exit $?"), kept: daemonLast},
}

// besideExec is a shell that starts one application and becomes another. The first handles
// these, and runs when its job has ended.
func besideExec(signals string, late bool) way {
	return way{name: "`node app & exec node app`, the first handles " + signals, programs: []string{"sh"}, workers: 2, inTurn: true, tells: 2, status: 7, late: late,
		prepare: app(onceThen7, nil, "sh", "-c", "CATCH="+signals+" node app.js & exec node app.js")}
}

// daemon serves the applications, has no job of its own, and leaves when it is signalled.
const daemon = `
use Time::HiRes ();
sub record { open my $f, ">>", $ENV{RECORD}; syswrite $f, sprintf("%s %.3f\n", "@_", Time::HiRes::time()) }
$SIG{TERM} = sub { record("signalled SIGTERM"); exit };
record("begin");
record("done");
select undef, undef, undef, 100 while 1;
`

// daemonLast reports whether the daemon was signalled when the applications had done their jobs.
func daemonLast(_ *testing.T, s *scene) bool { return !s.last("signalled").Before(s.last("done")) }

// TestStartsThatWereFound has the application rest, as in the matrix.
func TestStartsThatWereFound(t *testing.T) {
	t.Parallel()
	harness.Need(t, "perl")
	var late lateRows
	late.wantFew(t)
	for _, w := range foundWays {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			w.need(t)
			if slices.Contains(longWays, w.name) {
				harness.Full(t)
			}
			s := newScene(t, 0)
			s.plain = true
			late.add(w, w.checkIn(t, s, busyGrace))
		})
	}
}
