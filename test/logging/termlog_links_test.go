package logging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// usersFolder is a folder of the worker's user, who can put anything there at any time, with an
// empty termination log in a folder below.
func usersFolder(t *testing.T) (dir, file string) {
	t.Helper()
	harness.NeedRoot(t)
	harness.Need(t, "setpriv")
	dir, err := os.MkdirTemp("", "drainit-termlog-")
	fatalIf(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	fatalIf(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	file = filepath.Join(dir, "sub", "termination-log")
	harness.WriteFile(t, file, nil)
	harness.GiveToNobody(t, dir)
	return dir, file
}

// rootsFile is an empty file of root's, on the same file system.
func rootsFile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "drainit-termlog-")
	fatalIf(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "termination-log")
	harness.WriteFile(t, file, nil)
	return file
}

// killedUser starts drainit as root with a worker of the other user, calls a function while
// it runs, and has it killed, which drainit has a message for.
func killedUser(t *testing.T, l harness.Launch, file string, meanwhile func(p *harness.Init)) *harness.Init {
	t.Helper()
	args := harness.Line([]string{"--termination-log", file, "--grace=0"}, append(append([]string(nil), harness.AsNobody...), "sleep", "1000")...)
	if l.Bin == "" {
		l.Args = args
	} else {
		l.Args = append(append(l.Args, harness.DrainitBin), args...)
	}
	p := harness.Run(t, l)
	harness.WaitUntil(t, "the worker has become sleep", func() bool { return harness.Comm(p.FirstChild()) == "sleep" })
	p.WaitTitle("drainit:run")
	if meanwhile != nil {
		meanwhile(p)
	}
	p.Signal(unix.SIGTERM)
	p.WantExit(137)
	return p
}

const notWritten = `"level":"warn".*cannot write the termination message to `

// replaced are what the worker's user can make of the log while it runs, so that root would
// write to a file of its own.
var replaced = map[string]func(t *testing.T, dir, file, victim string){
	"a symbolic link": func(t *testing.T, _, file, victim string) {
		fatalIf(t, os.Remove(file))
		fatalIf(t, os.Symlink(victim, file))
	},
	"a relative symbolic link": func(t *testing.T, dir, file, victim string) {
		to, err := filepath.Rel(filepath.Join(dir, "sub"), victim)
		fatalIf(t, err)
		fatalIf(t, os.Remove(file))
		fatalIf(t, os.Symlink(to, file))
	},
	"a hard link": func(t *testing.T, _, file, victim string) {
		fatalIf(t, os.Remove(file))
		fatalIf(t, os.Link(victim, file))
	},
	"a symbolic link for its folder": func(t *testing.T, dir, _, victim string) {
		fatalIf(t, os.RemoveAll(filepath.Join(dir, "sub")))
		fatalIf(t, os.Symlink(filepath.Dir(victim), filepath.Join(dir, "sub")))
	},
}

// A termination log in a folder of the worker's user leads root nowhere else: nothing is
// written through a link, and a line says why the message is missing.
func TestTerminationLogIsNotWrittenThroughALink(t *testing.T) {
	for name, replace := range replaced {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				dir, file := usersFolder(t)
				victim := rootsFile(t)
				p := killedUser(t, harness.Launch{NoPID1: noPID1}, file, func(*harness.Init) {
					replace(t, dir, file, victim)
					for _, path := range []string{file, filepath.Dir(file)} {
						fatalIf(t, os.Lchown(path, harness.PlainUser, -1)) // as who replaced it
					}
					fatalIf(t, os.Chown(victim, 0, -1))
					fatalIf(t, os.Chown(filepath.Dir(victim), 0, -1))
				})
				harness.WantLastMessage(t, victim, "")
				p.WantLogged(notWritten, 1)
			})
		})
	}
}

// A plain empty file in such a folder is written, as everywhere.
func TestTerminationLogOfTheWorkersUserIsWritten(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		_, file := usersFolder(t)
		p := killedUser(t, harness.Launch{NoPID1: noPID1}, file, nil)
		harness.WantLastMessage(t, file, `^grace period of 0s over: killed sleep\[\d+\]`)
		p.WantLogged(`"level":"warn".*termination`, 0)
	})
}

// A file of /proc is empty by its size, and written to it is the kernel's setting: neither as
// it is nor behind a link is it a log. The host's name is that of a namespace here.
func TestTerminationLogIsNoFileOfProc(t *testing.T) {
	harness.Need(t, "unshare", "nsenter")
	harness.NeedNamespaces(t)
	const setting = "/proc/sys/kernel/hostname"
	for name, link := range map[string]bool{"by its name": false, "behind a link": true} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				dir, file := usersFolder(t)
				if link {
					fatalIf(t, os.Remove(file))
					fatalIf(t, os.Symlink(setting, file))
					harness.GiveToNobody(t, dir)
				} else {
					file = setting
				}
				var uts *os.File
				before := ""
				p := killedUser(t, harness.Launch{NoPID1: noPID1, Bin: harness.PathOf(t, "unshare"), Args: []string{"--uts"}}, file, func(p *harness.Init) {
					var err error
					uts, err = os.Open(fmt.Sprintf("/proc/%d/ns/uts", p.Pid()))
					fatalIf(t, err)
					before = settingIn(t, uts, setting)
				})
				defer uts.Close()
				if after := settingIn(t, uts, setting); after != before {
					t.Errorf("%s was %q and is %q", setting, before, after)
				}
				p.WantLogged(notWritten, 1)
			})
		})
	}
}

// settingIn is what a file says in a UTS namespace.
func settingIn(t *testing.T, uts *os.File, file string) string {
	t.Helper()
	cmd := exec.Command("nsenter", "--uts=/proc/self/fd/3", "cat", file)
	cmd.ExtraFiles = []*os.File{uts}
	out, err := cmd.Output()
	fatalIf(t, err)
	return string(out)
}
