package tree

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// start is a way to start jobs, which are stopped by whatever the script does. In the script stands app N
// for job N: testdata/harm/app.
type start struct {
	name   string
	runs   string // what runs the script
	script string
	uses   string // programs beside what runs the script
	files  files
	env    string // variables of app, with blanks between them
	flags  string // of drainit
	under  string // a command of the shell that then becomes the init, if any

	signal    unix.Signal // TERM if 0
	readsNull bool        // the input is /dev/null, opened to read
	inTime    string      // the rhythms in which no job may wait for a call
	killed    bool        // the grace period ends it
	after     string      // a command of the shell that must succeed in the folder in the end
}

// files are by name, in the folder of a start.
type files map[string]string

// A process that a manager stops itself is signalled once, however long the manager takes.
func TestStopInSteps(t *testing.T) {
	t.Parallel()
	for _, s := range steps {
		s.keepsOnce(t)
	}
}

// steps are managers that signal one process, wait, and then signal the next.
var steps = []start{
	{name: "a trap that kills by a pid file and looks whether it lives", runs: "bash", script: `
		trap 'kill $s; wait $s;
			kill $(cat 1.pid); while kill -0 $(cat 1.pid); do sleep .1; done; exit' TERM
		sh -c 'app 1; exit $?' & s=$!; wait $s`},
	{name: "a trap that sleeps for a second between two", runs: "bash", script: `
		trap 'kill $s; wait $s; sleep 1;
			kill $(cat 1.pid); while kill -0 $(cat 1.pid); do sleep .1; done; exit' TERM
		sh -c 'app 1; exit $?' & s=$!; wait $s`},
	{name: "terminate, wait, pause, killpg", runs: "python3", script: `
import os, signal, subprocess, sys, time
def stop(*_):
    shell.terminate()
    shell.wait()
    time.sleep(0.05)
    os.killpg(shell.pid, signal.SIGTERM)
    while os.path.exists("/proc/" + open("1.pid").read()):
        time.sleep(0.1)
    sys.exit()
shell = subprocess.Popen(["sh", "-c", "app 1; exit $?"], start_new_session=True)
signal.signal(signal.SIGTERM, stop)
while True:
    signal.pause()`},
}

// A process that blocks the signal and looks for it from time to time stops its own.
func TestStopByOneThatPolls(t *testing.T) {
	t.Parallel()
	for _, s := range pollers {
		s.keepsOnce(t)
	}
}

// pollers block the signal and look for it each half second: none of these has a handler.
var pollers = []start{
	{name: "sigtimedwait", runs: "python3", script: poll + `
while signal.sigtimedwait([signal.SIGTERM], 0) is None:
    time.sleep(0.5)
stop()`},
	{name: "sigpending", runs: "python3", script: poll + `
while signal.SIGTERM not in signal.sigpending():
    time.sleep(0.5)
stop()`},
	{name: "sigpending, in epoll", runs: "python3", script: poll + `
events = select.epoll()
while signal.SIGTERM not in signal.sigpending():
    events.poll(0.5)
stop()`},
	{name: "sigpending, in Perl", runs: "perl", script: `
use POSIX qw(SIG_BLOCK SIG_UNBLOCK SIGTERM);
my ($term, $pending) = (POSIX::SigSet->new(SIGTERM), POSIX::SigSet->new);
POSIX::sigprocmask(SIG_BLOCK, $term);
my $pid = fork;
if (!$pid) { POSIX::sigprocmask(SIG_UNBLOCK, $term); exec "app", "1" }
do { select undef, undef, undef, 0.5; POSIX::sigpending($pending) } until $pending->ismember(SIGTERM);
kill TERM => $pid;
waitpid $pid, 0;`},
}

const poll = `
import os, select, signal, subprocess, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
unblock = lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
app = subprocess.Popen(["app", "1"], preexec_fn=unblock)
def stop():
    app.terminate()
    app.wait()
`

// A worker may drain for a limit of its own, by default as long as the platform waits, and then give its
// jobs back. A second signal has it give up. By default drainit's own end is later, and so is its final
// call.
func TestFinalCallComesAfterAWorkersOwnLimit(t *testing.T) {
	t.Parallel()
	ownLimit.keepsOnceBy(t, peer{"", "-v"})
}

var ownLimit = start{name: "a relay above a worker with a limit of 30 s", runs: "bash",
	env: "WORK=30000", script: `
	trap 'kill $p; wait $p; exit' TERM
	app 1 & p=$!; wait $p; wait $p`}

// A command in the background of a shell, which its trap signals, may bear no mark of that.
func TestStopOfWhatBearsNoMark(t *testing.T) {
	t.Parallel()
	for _, form := range []struct{ shell, kind, text string }{
		{"bash", "job", "for i in 1; do app 1; done <&0 &"},
		{"bash", "job", "if true; then app 1; fi <&0 &"},
		{"bash", "job", "f() { app 1; true; }; f <&0 &"},
		{"zsh", "job_resets", "app 1 &"},
	} {
		start{name: form.shell + ": " + form.text, runs: form.shell, env: "KIND=" + form.kind, script: `
			trap 'read app <1.pid; kill $app; wait' TERM
			exec 3<&0
			` + form.text + `
			wait; wait`}.keepsOnce(t)
	}
}

// A worker may stop by pid what was started before it, and leave at once. It has half a second. What the
// worker leaves alone is signalled after that.
func TestStopByAWorkerThatLeaves(t *testing.T) {
	t.Parallel()
	for _, s := range leavers {
		s.keepsOnce(t)
	}
}

// leavers start a job, and then become a worker that handles the signal.
var leavers = []start{
	{name: "a daemon that the worker stops", runs: "sh", env: "WORK=300",
		script: "(setsid app 1 &)\nexec perl -e '" + stopsByPid + "'"},
	{name: "a server beside the worker, which stops it", runs: "sh", env: "WORK=300",
		script: "app 1 &\nexec perl -e '" + stopsByPid + "'"},
	{name: "a daemon that the worker leaves", runs: "sh", script: "(setsid app 1 &)\nexec perl -e '" +
		leaves + "'"},
	{name: "a server beside the worker, which leaves it", runs: "sh",
		script: "app 1 &\nexec perl -e '" + leaves + "'"},
}

const (
	stopsByPid = `$SIG{TERM} = sub { open my $f, "<", "1.pid"; kill TERM => <$f>; exit }; sleep 1 while 1`
	leaves     = `$SIG{TERM} = sub { exit }; sleep 1 while 1`
)

// Where more processes have children than drainit has descriptors, a job below one of them is signalled.
func TestStopOfMoreParentsThanDescriptors(t *testing.T) {
	t.Parallel()
	for files, parents := range map[int]int{16: 30, 64: 80} {
		start{name: fmt.Sprintf("%d parents, %d descriptors", parents, files), runs: "sh",
			under: fmt.Sprint("ulimit -n ", files),
			script: strings.Repeat("sh -c 'sleep 999; exit $?' &\n", parents) +
				"sh -c 'app 1; exit $?'\nexit $?"}.keepsOnce(t)
	}
}

// keepsOnce checks, with jobs that sleep and jobs that wake up now and then, that each job is signalled
// once and drains. Before a release a start has both, and otherwise one of them.
func (s start) keepsOnce(t *testing.T) { t.Helper(); s.keepsOnceBy(t, drainit) }

func (s start) keepsOnceBy(t *testing.T, by peer) {
	t.Helper()
	for i, rhythm := range []string{"idle", "busy"} {
		if i == len(s.name)%2 && harness.Of(2, 1) == 1 {
			continue
		}
		t.Run(s.name+", "+rhythm, func(t *testing.T) {
			harness.Full(t)
			harness.Need(t, append(strings.Fields(s.uses), "perl", s.runs)...)
			t.Parallel()
			s := s
			s.env += " RHYTHM=" + rhythm
			for id, what := range s.stop(t, by) {
				if what != "kept once" {
					t.Errorf("job %s: %s", id, what)
				}
			}
			if t.Failed() {
				for _, other := range others {
					other.compare(t, s)
				}
			}
		})
	}
}

// peer is another init, and its flag.
type peer struct{ program, flag string }

var (
	drainit = peer{"", "--grace=12s"}
	others  = []peer{{"tini", "-s"}, {"tini", "-g"}}
)

// compare logs what becomes of the jobs below another init, if it is installed.
func (p peer) compare(t *testing.T, s start) {
	if p.isInstalled() {
		t.Logf("%s %s: %v", p.program, p.flag, s.stop(t, p))
	}
}

func (p peer) isInstalled() bool {
	_, err := exec.LookPath(p.program)
	return err == nil
}

// stop stops the jobs below an init, and returns what has become of each, by its ID.
func (s start) stop(t *testing.T, by peer) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"harm/app", "forest/member.pl"} {
		harness.WriteProgram(t, dir, filepath.Base(name), 0o755, harness.TextOf(t, "testdata/"+name))
	}
	harness.WriteFile(t, filepath.Join(dir, "record"), "")
	harness.WriteFile(t, filepath.Join(dir, "script"), s.script+"\n")
	for name, text := range s.files {
		harness.WriteFile(t, filepath.Join(dir, name), text+"\n")
	}
	flags := []string{by.flag}
	if by.program == "" {
		flags = append(append(flags, "-v", "--log-format=json"), strings.Fields(s.flags)...)
	}
	var under []string
	if s.under != "" {
		under = []string{"sh", "-c", s.under + `; exec "$0" "$@"`}
	}
	l := harness.Launch{Under: under, Bin: by.program, Dir: dir, Args: harness.Line(flags, s.runs, "script"),
		Env: append(strings.Fields(s.env), "PATH="+dir+":"+os.Getenv("PATH"))}
	if s.readsNull {
		null, err := os.Open(os.DevNull)
		harness.Must(t, err)
		l.Stdin = null
	}
	p := harness.Run(t, l)
	record := func() string { return harness.TextOf(t, filepath.Join(dir, "record")) }
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v, record:\n%s", by, record())
		}
	})
	harness.WaitUntil(t, "the jobs are ready",
		func() bool { return strings.Count(record(), " ready ") == max(1, s.jobs()) || !p.Running() })
	p.WaitStarted(harness.Patience)
	if !p.Running() {
		t.Fatal("the start has ended by itself")
	}
	p.Signal(cmp.Or(s.signal, unix.SIGTERM))
	p.Wait()
	p.WantNothingLeft()
	s.wantEnd(t, by, p, dir)
	if late := regexp.MustCompile(`.*"signalled_late".*`).
		FindString(p.Stderr.Text()); late != "" && s.inTime != "" {
		for _, rhythm := range strings.Split(s.inTime, ", ") {
			if strings.Contains(s.env, rhythm) {
				t.Error(late)
			}
		}
	}
	return became(record())
}

// wantEnd checks how a start has ended below drainit.
func (s start) wantEnd(t *testing.T, by peer, p *harness.Init, dir string) {
	t.Helper()
	if by.program != "" {
		return
	}
	p.WaitErr(`"event":"ended"`)
	if log := p.Stderr.Text(); strings.Contains(log, `"event":"killing"`) != s.killed {
		t.Errorf("killed: want %v\n%s", s.killed, log)
	}
	if s.after != "" {
		check := exec.Command("sh", "-c", s.after)
		check.Dir = dir
		if ran := harness.Finish(t, check); ran.Status != 0 {
			t.Errorf("%s: status %d\n%s", s.after, ran.Status, p.Stderr.Text())
		}
	}
}

// jobs is how many jobs a start has. One without any writes a line to the record when it is ready.
func (s start) jobs() int {
	all := strings.Join(append(slices.Collect(maps.Values(s.files)), s.script), "\n")
	return len(slices.Compact(slices.Sorted(slices.Values(appIn.FindAllString(all, -1)))))
}

var appIn = regexp.MustCompile(`\bapp"?[, ]*"?\d+`)

// became is what has become of each job of a record. It is kept if it has drained, of one signal: what an
// init keeps.
func became(record string) (all map[string]string) {
	got, drained := make(map[string]int), make(map[string]bool)
	for _, l := range harness.LinesOf(record) {
		switch f := strings.Fields(l); strings.Join(f[3:], " ") {
		case "ready job":
			got[f[1]] = 0
		case "got":
			if _, isJob := got[f[1]]; isJob {
				got[f[1]]++
			}
		case "drained":
			drained[f[1]] = true
		}
	}
	all = make(map[string]string)
	for id, times := range got {
		switch {
		case times == 1 && drained[id]:
			all[id] = "kept once"
		case times == 1:
			all[id] = "signalled once, and killed before it had drained"
		default:
			all[id] = fmt.Sprintf("signalled %d times", times)
		}
	}
	return all
}
