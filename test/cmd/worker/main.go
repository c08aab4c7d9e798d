// Command worker is what the tests run under drainit, and, as "worker stage",
// what prepares the surroundings of a drainit: it is the first process of a
// fresh PID namespace, sets up what the test asks for and becomes drainit.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// The first process of a namespace is prepared, and is traced from its exec on, by
// its first thread: what a thread sets for itself, another that execs does not have.
// The state and the mask of a process are those of its first thread, too.
func init() {
	if len(os.Args) > 1 && slices.Contains([]string{"stage", "hang", "headless"}, os.Args[1]) {
		runtime.LockOSThread()
	}
}

func main() {
	verbs := map[string]func(args []string){
		// which become a command
		"stage": stage, "hostile": hostile, "noipv6": noIPv6, "nocall": noCall,
		"guard": guard, "reap": reap, "hungfs": hungFS, "hang": hang,
		"listen": listen, "headless": headless, "drains": drains, "send": send,
	}
	if len(os.Args) < 2 || verbs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "worker: unknown verb")
		os.Exit(64)
	}
	verbs[os.Args[1]](os.Args[2:])
}

func must(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "worker: cannot %s: %v\n", what, err)
		os.Exit(65)
	}
}

func become(command []string) {
	must("run "+command[0], syscall.Exec(command[0], command, os.Environ()))
}

// reap runs a command and reaps what it leaves, as an init does. Its exit status is the command's. It is
// for the tests where PID 1 is go test, which reaps no process that is not its own: a million zombies
// would fill the process table.
func reap(args []string) {
	must("become a subreaper", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	p, err := os.StartProcess(args[0], args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	must("start "+args[0], err)
	go func() {
		for sig := range signals {
			_ = syscall.Kill(p.Pid, sig.(syscall.Signal))
		}
	}()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			must("wait", err)
		case pid == p.Pid && status.Signaled():
			os.Exit(128 + int(status.Signal()))
		case pid == p.Pid:
			os.Exit(status.ExitStatus())
		}
	}
}
