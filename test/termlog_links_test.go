package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// usersFolder is a folder of the worker's user, who can put anything there at any time, with an
// empty termination log in a folder below.
func usersFolder(t *testing.T) (dir, file string) {
	t.Helper()
	needRoot(t)
	need(t, "setpriv")
	dir, err := os.MkdirTemp("", "drainit-termlog-")
	fatalIf(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	fatalIf(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	file = filepath.Join(dir, "sub", "termination-log")
	writeFile(t, file, nil)
	giveToNobody(t, dir)
	return dir, file
}

// rootsFile is an empty file of root's, on the same file system.
func rootsFile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "drainit-termlog-")
	fatalIf(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "termination-log")
	writeFile(t, file, nil)
	return file
}

// killedUser starts drainit as root with a worker of the other user, calls a function while
// it runs, and has it killed, which drainit has a message for.
func killedUser(t *testing.T, l Launch, file string, meanwhile func(p *Init)) *Init {
	t.Helper()
	args := line([]string{"--termination-log", file, "--grace=0"}, append(append([]string(nil), asNobody...), "sleep", "1000")...)
	if l.Bin == "" {
		l.Args = args
	} else {
		l.Args = append(append(l.Args, drainitBin), args...)
	}
	p := launch(t, l)
	waitUntil(t, "the worker has become sleep", func() bool { return comm(p.firstChild()) == "sleep" })
	p.waitTitle("drainit:run")
	if meanwhile != nil {
		meanwhile(p)
	}
	p.signal(unix.SIGTERM)
	p.wantExit(137)
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
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				dir, file := usersFolder(t)
				victim := rootsFile(t)
				p := killedUser(t, Launch{NoPID1: noPID1}, file, func(*Init) {
					replace(t, dir, file, victim)
					for _, path := range []string{file, filepath.Dir(file)} {
						fatalIf(t, os.Lchown(path, nobody, -1)) // as who replaced it
					}
					fatalIf(t, os.Chown(victim, 0, -1))
					fatalIf(t, os.Chown(filepath.Dir(victim), 0, -1))
				})
				wantLastMessage(t, victim, "")
				p.wantLogged(notWritten, 1)
			})
		})
	}
}

// A plain empty file in such a folder is written, as everywhere.
func TestTerminationLogOfTheWorkersUserIsWritten(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		_, file := usersFolder(t)
		p := killedUser(t, Launch{NoPID1: noPID1}, file, nil)
		wantLastMessage(t, file, `^grace period of 0s over: killed sleep\[\d+\]`)
		p.wantLogged(`"level":"warn".*termination`, 0)
	})
}

// A file of /proc is empty by its size, and written to it is the kernel's setting: neither as
// it is nor behind a link is it a log. The host's name is that of a namespace here.
func TestTerminationLogIsNoFileOfProc(t *testing.T) {
	need(t, "unshare", "nsenter")
	const setting = "/proc/sys/kernel/hostname"
	for name, link := range map[string]bool{"by its name": false, "behind a link": true} {
		t.Run(name, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				dir, file := usersFolder(t)
				if link {
					fatalIf(t, os.Remove(file))
					fatalIf(t, os.Symlink(setting, file))
					giveToNobody(t, dir)
				} else {
					file = setting
				}
				var uts *os.File
				before := ""
				p := killedUser(t, Launch{NoPID1: noPID1, Bin: pathOf(t, "unshare"), Args: []string{"--uts"}}, file, func(p *Init) {
					var err error
					uts, err = os.Open(fmt.Sprintf("/proc/%d/ns/uts", p.Pid()))
					fatalIf(t, err)
					before = settingIn(t, uts, setting)
				})
				defer uts.Close()
				if after := settingIn(t, uts, setting); after != before {
					t.Errorf("%s was %q and is %q", setting, before, after)
				}
				p.wantLogged(notWritten, 1)
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
