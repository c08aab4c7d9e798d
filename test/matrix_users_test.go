package test

import (
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// asNobody is the start of a command as another user.
var asNobody = []string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"}

// userWays are the starts as another user, and with a terminal of one's own. What changes
// the user and stays ends its child's work after 2 s: here that child is a shell, which is
// dead by then.
var userWays = []way{
	{name: "`setpriv --reuid=nobody … sh -c 'node app; exit $?'`", programs: []string{"node", "setpriv", "sh"}, status: 7,
		prepare: writable(app(env{"STATUS": "7"}, nil, append(asNobody, "sh", "-c", "node app.js; exit $?")...))},
	{name: "`runuser -u nobody -- sh -c 'node app; exit $?'`", programs: []string{"node", "runuser", "sh"}, status: 143,
		prepare: writable(app(nil, nil, "runuser", "-u", "nobody", "--", "sh", "-c", "node app.js; exit $?"))},
	{name: "`su nobody -s /bin/sh -c 'node app; exit $?'`", programs: []string{"node", "su", "sh"}, status: 143,
		prepare: writable(app(nil, nil, "su", "nobody", "-s", "/bin/sh", "-c", "node app.js; exit $?"))},
	scriptWay,
	{name: "`unbuffer node app`, HUP handled", programs: []string{"node", "unbuffer"}, status: 143,
		prepare: app(env{"IGNORE": "SIGHUP"}, nil, "unbuffer", "node", "app.js")},
}

// scriptWay has a terminal that goes with script: the kernel sends HUP to the application.
var scriptWay = way{
	name:     "`script -qec 'node app; exit $?' /dev/null`, HUP handled",
	programs: []string{"node", "script"},
	prepare:  app(env{"IGNORE": "SIGHUP", "SHELL": "/bin/sh"}, nil, "script", "-qec", "node app.js; exit $?", "/dev/null"),
}

// confinedWays are the starts as another user than the init's, which without SYS_PTRACE may
// not look at the files, descriptors and system calls of that user's processes.
var confinedWays = []way{
	{name: "`setpriv --reuid=nobody … sh -c 'node app | tee log'`, no SYS_PTRACE", programs: []string{"node", "sh", "tee"}, status: 7, confined: true,
		prepare: writable(app(env{"STATUS": "7", "CHATTY": "1"}, nil, append(asNobody, "sh", "-c", "node app.js | tee log")...))},
	{name: "`setpriv --reuid=nobody … timeout 300 sh -c 'node app; exit $?'`, no SYS_PTRACE", programs: []string{"node", "sh", "timeout"}, status: 143, confined: true,
		prepare: writable(app(nil, nil, append(asNobody, "timeout", "300", "sh", "-c", "node app.js; exit $?")...))},
	{name: "INT to `setpriv --reuid=nobody … ./start.sh`, a bash, no SYS_PTRACE", programs: []string{"node", "bash"}, signal: syscall.SIGINT, status: 7, confined: true,
		prepare: writable(app(env{"STATUS": "7"}, files{"start.sh": "#!/bin/bash\nnode app.js\n"}, append(asNobody, "./start.sh")...))},
	{name: "`setpriv --reuid=nobody … bash start.sh`: `trap cleanup TERM; node app`, no SYS_PTRACE", programs: []string{"node", "bash"}, status: 7, confined: true,
		prepare: writable(app(env{"STATUS": "7"}, files{"start.sh": trapAndWait + "node app.js\n"}, append(asNobody, "bash", "start.sh")...)), kept: cleanedUp},
}

// asOthers has each way start its worker as another user, below an init with the
// capabilities that Docker leaves to root.
var asOthers = flag.Bool("as-others", false, "run the matrix with Docker's capabilities and workers of another user")

// forRoot are the programs that need more than those, or folders of root's.
var forRoot = []string{"unshare", "bwrap", "su", "runuser", "setpriv", "rabbitmq-server", "nginx", "go"}

// giveAway makes the scene another user's, which the command is to run as. What only root
// may look into is not in that user's PATH.
func (s *scene) giveAway(t *testing.T, command []string) []string {
	needRoot(t)
	giveToNobody(t, s.dir)
	for i, v := range s.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			dirs := slices.DeleteFunc(strings.Split(path, ":"), func(dir string) bool { return strings.HasPrefix(dir, "/root") })
			s.env[i] = "PATH=" + strings.Join(dirs, ":")
		}
	}
	return append(slices.Clone(asNobody), command...)
}

// giveToNobody makes a folder and what is in it the other user's.
func giveToNobody(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command("chown", "-hR", "nobody:nogroup", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// writable prepares a start by root in a folder that other users can write to.
func writable(prepare func(*testing.T, *scene) []string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		needRoot(t)
		if err := os.Chmod(s.dir, 0o777); err != nil {
			t.Fatal(err)
		}
		return prepare(t, s)
	}
}
