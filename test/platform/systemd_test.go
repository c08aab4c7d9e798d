package platform

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
	"drainit/test/harness/cgroup"
)

// manager is a systemd that manages units of a user. It kills, restarts and
// counts as the machine's own would, and needs no machine of its own: it has
// PID, mount and cgroup places for itself.
type manager struct {
	*harness.Init
	dir string // its runtime directory; the units are in its folder units
}

// managerScript is PID 1 of the manager's namespace. systemd wants to see that
// the machine was booted by it, and makes cgroups below the one it is in.
const managerScript = `
mount --make-rprivate / && mount -t proc proc /proc && mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system || exit
sh -c 'for top; do echo $$ >"$top/cgroup.procs" || exit; done
	exec /lib/systemd/systemd --user --unit=basic.target --log-target=console --log-level=warning' sh "$@" &
wait`

// startSystemd starts a manager that knows these units. They are not changed
// later: it would drop all connections to read them again.
func startSystemd(t *testing.T, units []unit) manager {
	t.Helper()
	harness.NeedRoot(t)
	harness.Need(t, "systemctl", "nsenter")
	dir, err := os.MkdirTemp("", "systemd-") // t.TempDir's names are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, u := range units {
		u.write(t, dir)
	}
	p := harness.NewInit(t)
	p.Cmd = exec.Command("/bin/sh", append([]string{"-c", managerScript, "sh"}, makeCgroups(t, "/"+filepath.Base(dir))...)...)
	p.Cmd.Env = append(os.Environ(), p.Marker)
	m := manager{p, dir}
	p.Cmd.Env = append(p.Cmd.Env, m.env()...)
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	p.Start(nil, nil)
	harness.WaitUntil(t, "systemd has started", func() bool {
		if !p.Running() {
			t.Fatalf("systemd has not started:\n%s%s", p.Out(), p.Err())
		}
		out, _ := m.systemctl("is-system-running").Output()
		state := strings.TrimSpace(string(out))
		return state == "running" || state == "degraded"
	})
	return m
}

// makeCgroups makes a cgroup in each hierarchy in which systemd keeps processes
// by units, for as long as the test runs.
func makeCgroups(t *testing.T, path string) (all []string) {
	t.Helper()
	t.Cleanup(func() { harness.RemoveCgroups(t, path) })
	for _, top := range []string{"/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(top, "cgroup.procs")); err != nil {
			continue
		}
		if err := os.Mkdir(top+path, 0o755); err != nil {
			t.Fatal(err)
		}
		all = append(all, top+path)
	}
	return all
}

func (m manager) env() []string {
	return []string{"XDG_RUNTIME_DIR=" + m.dir, "HOME=" + m.dir, "SYSTEMD_UNIT_PATH=" + filepath.Join(m.dir, "units") + ":"}
}

// systemctl is called in the manager's namespaces: else it is a stranger.
func (m manager) systemctl(args ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"--target", strconv.Itoa(m.Pid()), "--mount", "--pid", "systemctl", "--user", "--no-pager"}, args...)...)
	cmd.Env = append(os.Environ(), m.env()...)
	return cmd
}

// ask runs a command of systemctl's that must succeed.
func (m manager) ask(t *testing.T, args ...string) string {
	t.Helper()
	out, err := m.systemctl(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("systemctl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// unit is the service of platform/worker.service under another name.
type unit struct {
	name    string
	script  string   // what its start script does, in sh
	changes []string // lines for [Service]
}

// write copies the unit into a manager's folder. Only what this machine does not
// have is another: its user, its folder, its start script.
func (u unit) write(t *testing.T, dir string) {
	t.Helper()
	start, log := filepath.Join(dir, u.name+".sh"), logOf(dir, u.name)
	if err := os.WriteFile(start, fmt.Appendf(nil, "#!/bin/sh\n%s\n", u.script), 0o755); err != nil {
		t.Fatal(err)
	}
	writeUnit(t, filepath.Join(dir, "units"), u.name, append([]string{
		"[Service]", "User=", "WorkingDirectory=" + dir,
		"ExecStart=", "ExecStart=" + harness.DrainitBin + " -- " + start,
		"StandardOutput=append:" + log, "StandardError=append:" + log,
	}, u.changes...))
}

// logOf is where drainit and the worker of a unit print.
func logOf(dir, name string) string { return filepath.Join(dir, name+".log") }

// writeUnit copies platform/worker.service into a folder of units, and changes
// some lines of it as an administrator would.
func writeUnit(t *testing.T, dir, name string, lines []string) {
	t.Helper()
	text, err := os.ReadFile("worker.service")
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, name+".service.d"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".service"), text, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".service.d", "here.conf"), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unitTests are what a unit lives through, each under a name of its own.
var unitTests = []struct {
	name    string
	script  string // WORKER is `worker listen`
	changes []string
	test    func(s service)
}{
	// As a legacy worker's start script: a shell, without exec.
	{"stops", `WORKER -catch HUP,TSTP,TERM -drain 300ms; exit $?`, nil, unitStops},
	{"dies", `echo ready; exec sleep 1000`, nil, unitDiesOfTerm},
	{"outside", `echo ready; exec sleep 1000`, []string{"RestartSec=100ms"}, unitTermFromOutside},
	{"killed", `exec WORKER -drain 1h`, []string{"Environment=DRAINIT_GRACE=300ms"}, unitKilled},
	{"restarts", `exec WORKER -catch USR1,TERM -end USR1,TERM -exit 3`, []string{"RestartSec=100ms"}, unitRestarts},
	{"continued", `exec WORKER -catch TSTP,CONT,TERM -drain 300ms`, nil, unitContinued},
	{"late", `WORKER -drain 1h; exit $?`, []string{"TimeoutStopSec=1s"}, unitLate},
}

func TestUnitUnderSystemd(t *testing.T) {
	t.Parallel()
	var units []unit
	for _, tt := range unitTests {
		units = append(units, unit{tt.name, strings.ReplaceAll(tt.script, "WORKER", harness.WorkerBin+" listen"), tt.changes})
	}
	m := startSystemd(t, units)
	for _, tt := range unitTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := service{m, t, tt.name}
			s.ask("start")
			s.wait(`^ready`, 1)
			tt.test(s)
		})
	}
}

// service is a unit that a manager has started.
type service struct {
	m    manager
	t    *testing.T
	name string
}

// ask is systemctl, of this unit.
func (s service) ask(verb string, flags ...string) string {
	s.t.Helper()
	return s.m.ask(s.t, append(append([]string{verb}, flags...), s.name)...)
}

// log is what the unit has printed.
func (s service) log() string {
	b, err := os.ReadFile(logOf(s.m.dir, s.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(b)
}

// count is how many lines of the log match.
func (s service) count(pattern string) int {
	return len(regexp.MustCompile("(?m)"+pattern).FindAllString(s.log(), -1))
}

// wait waits until so many lines of the log match.
func (s service) wait(pattern string, want int) {
	s.t.Helper()
	harness.WaitUntil(s.t, fmt.Sprintf("%d times %q", want, pattern), func() bool { return s.count(pattern) == want })
}

// want compares how many lines of the log match.
func (s service) want(pattern string, want int) {
	s.t.Helper()
	if got := s.count(pattern); got != want {
		s.t.Errorf("%d lines match %q, want %d:\n%s", got, pattern, want, s.log())
	}
}

// signal is `systemctl kill`, to the main process alone.
func (s service) signal(sig string) {
	s.t.Helper()
	s.ask("kill", "--kill-whom=main", "--signal="+sig)
}

// wantEnd waits until the unit is at rest, and checks what systemd calls its end.
// Where that is no failure it has forgotten the exit status.
func (s service) wantEnd(state, result string) {
	s.t.Helper()
	want := fmt.Sprintf("ActiveState=%s Result=%s", state, result)
	var got []string
	harness.WaitUntil(s.t, s.name+" is at rest", func() bool {
		got = strings.Fields(s.ask("show", "--property=ActiveState,Result"))
		slices.Sort(got)
		return got[0] == "ActiveState=inactive" || got[0] == "ActiveState=failed"
	})
	if got := strings.Join(got, " "); got != want {
		s.t.Errorf("%s, want %s\n%s", got, want, s.log())
	}
}

// The stop of a quiet worker behind a shell: signalled once, and by drainit.
func unitStops(s service) {
	s.ask("reload")
	s.wait(`^got SIGHUP$`, 1)
	s.signal("TSTP")
	s.wait(`^got SIGTSTP$`, 1)
	s.ask("stop")
	s.want(`^got SIGTERM$`, 1)
	s.want(`^drained$`, 1)
	s.want(`what still runs after 1m20s`, 1)
	s.want(harness.KillLine, 0)
	s.wantEnd("inactive", "success")
}

// What systemd calls no failure where the worker is its own child is none here.
func unitDiesOfTerm(s service) {
	s.ask("stop")
	s.wantEnd("inactive", "success")
	s.want(`sleep\[\d+\] died of SIGTERM; exit status 143"`, 1)
}

// Nor does it restart such a worker.
func unitTermFromOutside(s service) {
	s.signal("TERM")
	s.wantEnd("inactive", "success")
	s.want(`sleep\[\d+\] died of SIGTERM; exit status 143"`, 1)
	s.want(`^ready`, 1)
}

// A grace that was too short is a failure, and one that the log explains.
func unitKilled(s service) {
	s.ask("stop")
	s.want(`grace period of 300ms over: killing worker\[\d+\]`, 1)
	s.want(`"status":137`, 1)
	s.wantEnd("failed", "exit-code")
}

// A worker that fails is started again, but not when it was asked to stop.
func unitRestarts(s service) {
	s.signal("USR1")
	s.wait(`^ready`, 2)
	s.ask("stop")
	s.wantEnd("failed", "exit-code")
	s.want(`^ready`, 2)
}

// systemd sends CONT right after TERM: that must not end the quiet phase of a
// worker that is about to stop.
func unitContinued(s service) {
	s.signal("TSTP")
	s.wait(`^got SIGTSTP$`, 1)
	s.ask("stop")
	s.want(`^got SIGTERM$`, 1)
	s.want(`^drained$`, 1)
	s.wantEnd("inactive", "success")
	s.want(`running again`, 0)
}

// A time to stop that is shorter than the grace: SIGKILL to drainit and to all
// that is below it.
func unitLate(s service) {
	path := "/" + filepath.Base(s.m.dir) + "/app.slice/late.service"
	if len(cgroup.At(path)) == 0 {
		s.t.Errorf("no cgroup %s while it runs", path)
	}
	began := time.Now()
	s.ask("stop")
	harness.WantTookAtLeast(s.t, began, time.Second)
	s.want(`^got SIGTERM$`, 1)
	s.want(`killing`, 0)
	s.wantEnd("failed", "timeout")
	if left := cgroup.At(path); len(left) > 0 {
		s.t.Errorf("processes are left in %q", left)
	}
}

// What systemd itself has to say of the file, and what must be true of it.
func TestUnitIsSound(t *testing.T) {
	t.Parallel()
	harness.Need(t, "systemd-analyze")
	dir := t.TempDir()
	writeUnit(t, dir, "worker", []string{"[Service]", "ExecStart=", "ExecStart=" + harness.DrainitBin + " -- /opt/worker/start.sh"})
	verify := exec.Command("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", filepath.Join(dir, "worker.service"))
	verify.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
	if out, err := verify.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	service := serviceSection(t)
	for key, want := range map[string]string{"Type": "exec", "KillMode": "mixed", "Restart": "on-failure", "KillSignal": "", "SendSIGHUP": ""} {
		if service[key] != want {
			t.Errorf("%s=%s, want %q", key, service[key], want)
		}
	}
	grace, found := strings.CutPrefix(service["Environment"], "DRAINIT_GRACE=")
	if stop := seconds(t, service["TimeoutStopSec"]+"s"); !found || stop < seconds(t, grace)+10 {
		t.Errorf("TimeoutStopSec=%d, the grace is %q", stop, grace)
	}
	if command := strings.Fields(service["ExecStart"]); filepath.Base(command[0]) != "drainit" || command[1] != "--" || len(command) < 3 {
		t.Errorf("ExecStart=%q", command)
	}
}

// serviceSection are the settings of [Service] in platform/worker.service.
func serviceSection(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("worker.service")
	if err != nil {
		t.Fatal(err)
	}
	settings := make(map[string]string)
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		key, value, found := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			section = line
		case found && section == "[Service]" && !strings.HasPrefix(line, "#"):
			settings[key] = value
		}
	}
	return settings
}
