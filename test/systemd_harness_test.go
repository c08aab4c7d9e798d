package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// manager is a systemd that manages units of a user. It kills, restarts and
// counts as the machine's own would, and needs no machine of its own: it has
// PID, mount and cgroup places for itself.
type manager struct {
	*Init
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
	needRoot(t)
	need(t, "systemctl", "nsenter")
	dir, err := os.MkdirTemp("", "systemd-") // t.TempDir's names are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, u := range units {
		u.write(t, dir)
	}
	p := newInit(t)
	p.cmd = exec.Command("/bin/sh", append([]string{"-c", managerScript, "sh"}, makeCgroups(t, "/"+filepath.Base(dir))...)...)
	p.cmd.Env = append(os.Environ(), p.marker)
	m := manager{p, dir}
	p.cmd.Env = append(p.cmd.Env, m.env()...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	p.start(nil, nil)
	waitUntil(t, "systemd has started", func() bool {
		if !p.running() {
			t.Fatalf("systemd has not started:\n%s%s", p.out(), p.err())
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
	t.Cleanup(func() { removeCgroups(t, path) })
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
		"ExecStart=", "ExecStart=" + drainitBin + " -- " + start,
		"StandardOutput=append:" + log, "StandardError=append:" + log,
	}, u.changes...))
}

// logOf is where drainit and the worker of a unit print.
func logOf(dir, name string) string { return filepath.Join(dir, name+".log") }

// writeUnit copies platform/worker.service into a folder of units, and changes
// some lines of it as an administrator would.
func writeUnit(t *testing.T, dir, name string, lines []string) {
	t.Helper()
	text, err := os.ReadFile("platform/worker.service")
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
