package harness

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// NeedNamespaces skips a test where no namespaces can be made.
func NeedNamespaces(t *testing.T) {
	t.Helper()
	if !makesPID1() {
		Skip(t, "needs root with CAP_SYS_ADMIN or user namespaces, to be PID 1")
	}
}

// makesPID1 is whether this machine lets the tests make namespaces.
var makesPID1 = sync.OnceValue(func() bool {
	try := exec.Command(WorkerBin, "stage", DrainitBin, "--version")
	try.Env = []string{`STAGE={"Namespace":true}`}
	try.SysProcAttr = &syscall.SysProcAttr{}
	inNamespaces(try.SysProcAttr)
	return try.Run() == nil
})

// inNamespaces has a process start in namespaces of its own. A user that is not root is mapped
// to root in one of users.
func inNamespaces(attr *syscall.SysProcAttr) {
	attr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	if os.Getuid() == 0 {
		return
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
}
