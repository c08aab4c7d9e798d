package platform

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/cgroup"
	"drainit/test/harness/rows"
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
mount --make-rprivate / && mount -t proc proc /proc && mount -t tmpfs tmpfs /run || exit
mkdir -p /run/systemd/system || exit
sh -c 'for top; do echo $$ >"$top/cgroup.procs" || exit; done
	exec /lib/systemd/systemd --user --unit=basic.target --log-target=console --log-level=warning' sh "$@" &
wait`

// startSystemd starts a manager that knows the units. They are not changed later: it would drop all
// connections to read them again.
func startSystemd(t *testing.T) manager {
	t.Helper()
	harness.NeedRoot(t)
	harness.Need(t, "systemctl", "nsenter")
	dir := harness.ShortDir(t)
	for _, u := range units(t) {
		u.write(t, dir)
	}
	m := manager{dir: dir}
	p := harness.Run(t, harness.Launch{Cmd: func(marker string) *exec.Cmd {
		cmd := exec.Command("/bin/sh", append([]string{"-c", managerScript, "sh"},
			makeCgroups(t, "/"+filepath.Base(dir))...)...)
		cmd.Env = append(append(os.Environ(), marker), m.env()...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true,
			Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
		return cmd
	}})
	m.Init = p
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
		harness.Must(t, os.Mkdir(top+path, 0o755))
		all = append(all, top+path)
	}
	return all
}

func (m manager) env() []string {
	return []string{"XDG_RUNTIME_DIR=" + m.dir, "HOME=" + m.dir, "SYSTEMD_UNIT_PATH=" +
		filepath.Join(m.dir, "units") + ":"}
}

// systemctl is called in the manager's namespaces: else it is a stranger.
func (m manager) systemctl(args ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"--target", strconv.Itoa(m.Pid()), "--mount", "--pid",
		"systemctl", "--user", "--no-pager"}, args...)...)
	cmd.Env = append(os.Environ(), m.env()...)
	return cmd
}

// unit is the service of worker.service under a name of its own, and what it lives through.
type unit struct {
	name    string
	text    string   // in place of that of worker.service
	script  string   // of its start script; WORKER is `worker listen`
	changes []string // lines for [Service]
	// a command of systemctl's, a signal to the main process alone, or the wait for lines of the log
	steps  string
	end    string   // what systemd calls it; where that is no failure it has forgotten the exit status
	logged []string // how many lines of the log match
}

func units(t *testing.T) (all []*unit) {
	t.Helper()
	for _, row := range rows.Read(t, "testdata/units.tsv", 3) {
		if row[0] != "" {
			all = append(all, &unit{name: row[0], steps: row[1], end: row[2]})
			continue
		}
		switch u := all[len(all)-1]; row[1] {
		case "script":
			u.script = row[2]
		case "change":
			u.changes = append(u.changes, row[2])
		default:
			u.logged = append(u.logged, strings.Replace(row[2], "KILLS", harness.KillLine, 1))
		}
	}
	// The example of docs/start.md, with the worker of docs/images.md.
	return append(all, &unit{name: "page", steps: "stop", end: "inactive success",
		text:   harness.PageBlock(t, harness.Repo("docs", "start.md"), "Two examples", "ini"),
		script: harness.PageBlock(t, harness.Repo("docs", "images.md"), "Shell", "sh"),
		logged: []string{"1 what still runs after 1m5s", "1 ^drained$"}})
}

// write copies the unit into a manager's folder. Only what this machine does not have is another:
// its user, its folder, its start script.
func (u *unit) write(t *testing.T, dir string) {
	t.Helper()
	log := filepath.Join(dir, u.name+".log")
	script := strings.ReplaceAll(u.script, "WORKER", harness.WorkerBin+" listen")
	start := harness.WriteProgram(t, dir, u.name+".sh", 0o755, "#!/bin/sh\n"+script+"\n")
	writeUnit(t, filepath.Join(dir, "units"), u.name, u.text, append([]string{
		"[Service]", "User=", "WorkingDirectory=" + dir,
		"ExecStart=", "ExecStart=" + harness.DrainitBin + " -- " + start,
		"StandardOutput=append:" + log, "StandardError=append:" + log,
	}, u.changes...))
}

// writeUnit copies worker.service, or another text, into a folder of units, and changes some lines of it as
// an administrator would.
func writeUnit(t *testing.T, dir, name, text string, lines []string) {
	t.Helper()
	harness.Must(t, os.MkdirAll(filepath.Join(dir, name+".service.d"), 0o755))
	harness.WriteFile(t, filepath.Join(dir, name+".service"), cmp.Or(text,
		harness.TextOf(t, "worker.service")))
	harness.WriteFile(t, filepath.Join(dir, name+".service.d", "here.conf"), strings.Join(lines, "\n")+"\n")
}

func TestUnitUnderSystemd(t *testing.T) {
	t.Parallel()
	m := startSystemd(t)
	for _, u := range units(t) {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			u.live(t, m)
		})
	}
}

func (u *unit) live(t *testing.T, m manager) {
	ask := func(args ...string) string {
		t.Helper()
		return harness.OutputOf(t, m.systemctl(append(args, u.name)...))
	}
	log := func() string { return harness.SoFar(filepath.Join(m.dir, u.name+".log")) }
	matches := func(logged string) bool {
		n, pattern, _ := strings.Cut(logged, " ")
		return strconv.Itoa(len(regexp.MustCompile("(?m)"+pattern).FindAllString(log(), -1))) == n
	}
	ask("start")
	group := "/" + filepath.Base(m.dir) + "/app.slice/" + u.name + ".service"
	for step := range strings.SplitSeq(`1 ^(ready|working)\b, `+u.steps, ", ") {
		switch {
		case strings.Contains(step, " "):
			harness.WaitUntil(t, step, func() bool { return matches(step) })
		case step == strings.ToUpper(step):
			ask("kill", "--kill-whom=main", "--signal="+step)
		default:
			if len(cgroup.At(group)) == 0 {
				t.Errorf("no cgroup %s while it runs", group)
			}
			ask(step)
		}
	}
	var end string
	harness.WaitUntil(t, u.name+" is at rest", func() bool {
		shown := strings.Fields(ask("show", "--property=ActiveState,Result"))
		slices.Sort(shown)
		end = strings.NewReplacer("ActiveState=", "", "Result=", "").Replace(strings.Join(shown, " "))
		return strings.HasPrefix(end, "inactive") || strings.HasPrefix(end, "failed")
	})
	if end != u.end {
		t.Errorf("%s, want %s\n%s", end, u.end, log())
	}
	for _, logged := range u.logged {
		if !matches(logged) {
			t.Errorf("not so: %s\n%s", logged, log())
		}
	}
	if left := cgroup.At(group); len(left) > 0 {
		t.Errorf("processes are left in %q", left)
	}
}

// What systemd itself has to say of the file, and the one thing that it does not compare.
func TestUnitIsSound(t *testing.T) {
	t.Parallel()
	harness.Need(t, "systemd-analyze")
	dir := t.TempDir()
	writeUnit(t, dir, "worker", "", []string{"[Service]", "ExecStart=", "ExecStart=" + harness.DrainitBin +
		" -- /opt/worker/start.sh"})
	verify := exec.Command("systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
		filepath.Join(dir, "worker.service"))
	verify.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
	if out, err := verify.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	service := make(map[string]string)
	for _, line := range regexp.MustCompile(`(?m)^([A-Z]\w+)=(.*)$`).
		FindAllStringSubmatch(harness.TextOf(t, "worker.service"), -1) {
		service[line[1]] = line[2]
	}
	grace, found := strings.CutPrefix(service["Environment"], "DRAINIT_GRACE=")
	if stop := seconds(t, service["TimeoutStopSec"]+"s"); !found || stop < limitFor(seconds(t, grace)) {
		t.Errorf("TimeoutStopSec=%d, the grace period is %q", stop, grace)
	}
}
