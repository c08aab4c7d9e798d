package tree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

// script is what a shell does with its children: the files in testdata/forest say how it is written.
type script struct{ name, text string }

// The kinds of members beside jobs and helpers, which have no children: all others have one at least.
// member.pl has what each does.
var (
	parents = harness.Words(`works relay relay_leaves relay_slow leaves guards guards_group blocks ` +
		`group_again reraises helper
		execs execs_leaves ignores dies steps steps_to_jobs steps_to_group
		polls relay_works relay_output tells_and_leaves`)
	rhythms = harness.Words("idle idle busy critical")
	// The first two are on any Debian. Without the others the same seed makes another tree.
	shells  = []string{"bash", "dash", "mksh", "lksh", "posh", "zsh", "yash", "ksh93", "busybox sh"}
	scripts = readScripts("scripts")
	inits   = readScripts("inits") // which need tini and dumb-init
)

func readScripts(file string) (all []script) {
	for _, row := range rows.Read(rows.AtStart{}, "testdata/forest/"+file+".tsv", 2) {
		all = append(all, script{row[0], row[1]})
	}
	return all
}

// forest makes random trees from a seed.
type forest struct {
	*rand.Rand
	shells  []string // that are installed
	scripts []script
	members int
	jobs    []int // their numbers
	dir     string
	lines   []string // the tree, a line for each member
}

// grow makes a tree of up to four levels below dir, and returns the worker's command line.
func grow(t *testing.T, seed uint64, dir string) (command []string, text string) {
	t.Helper()
	f := &forest{Rand: rand.New(rand.NewPCG(seed, 0)), dir: dir, shells: shells[:2], scripts: scripts}
	if fullForest() {
		f.shells, f.scripts = shells, slices.Concat(scripts, inits)
	}
	command = f.member(t, 1)
	for strings.HasPrefix(command[1], "member.pl") && command[3] == "job" { // a single job is no tree
		f.members, f.lines, f.jobs = 0, nil, nil
		command = f.member(t, 1)
	}
	return command, strings.Join(f.lines, "\n")
}

// fullForest reports whether trees may have all programs in them.
func fullForest() bool {
	return harness.Of(1, 0) == 1 && !slices.ContainsFunc(append(slices.Clone(shells), "tini", "dumb-init"),
		func(name string) bool {
			_, err := exec.LookPath(strings.Fields(name)[0])
			return err != nil
		})
}

// member makes one and those below it, and returns its command line.
func (f *forest) member(t *testing.T, level int) []string {
	t.Helper()
	f.members++
	id := f.members
	at := len(f.lines)
	f.lines = append(f.lines, "")
	describe := func(format string, args ...any) {
		f.lines[at] = strings.Repeat("  ", level-1) + fmt.Sprintf("%d: ", id) + fmt.Sprintf(format, args...)
	}
	rhythm, work := rhythms[f.IntN(len(rhythms))], f.IntN(300)
	if level == 4 || f.members > 9 || level > 1 && f.IntN(3) == 0 {
		kind := "job"
		if f.IntN(8) == 0 {
			kind = "dies"
		}
		if kind == "job" {
			f.jobs = append(f.jobs, id)
		}
		describe("%s, %s, %d ms", kind, rhythm, work)
		return []string{"perl", "member.pl", fmt.Sprint(id), kind, rhythm, fmt.Sprint(work)}
	}
	var below [][]string
	children := 1 + f.IntN(3)*f.IntN(2)
	shell, s := f.shells[f.IntN(len(f.shells))], f.scripts[f.IntN(len(f.scripts))]
	kind := parents[f.IntN(len(parents))]
	isShell := f.IntN(2) == 0
	others := len(f.jobs)
	for range children {
		below = append(below, f.member(t, level+1))
	}
	jobs := strings.Trim(fmt.Sprint(f.jobs[others:]), "[]")
	if isShell {
		describe("%s: %s", shell, s.name)
		f.write(t, fmt.Sprintf("%d.sh", id), strings.ReplaceAll(s.of(id, below), "JOBS", jobs))
		harness.Must(t, unix.Mkfifo(filepath.Join(f.dir, fmt.Sprintf("%d.stop", id)), 0o600))
		return append(strings.Fields(shell), fmt.Sprintf("%d.sh", id))
	}
	describe("%s, %s, %d ms", kind, rhythm, work)
	var kids string
	for _, command := range below {
		kids += strings.Join(command, " ") + "\n"
	}
	f.write(t, fmt.Sprintf("%d.kids", id), kids)
	f.write(t, fmt.Sprintf("%d.jobs", id), jobs)
	return []string{"perl", "member.pl", fmt.Sprint(id), kind, rhythm, fmt.Sprint(work)}
}

func (f *forest) write(t *testing.T, name, text string) {
	t.Helper()
	harness.Must(t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600))
}

// of is the text of a script for these children.
func (s script) of(id int, below [][]string) string {
	const prelude = `exec 2>>errors
[ -z "$ZSH_VERSION" ] || setopt shwordsplit
note() { echo "- %[1]d $$ $*" >>record; }
kill_group() { note passes to its group; kill 0; }
`
	background, text := "", s.text
	for _, command := range below[:len(below)-1] {
		background += inBackground(command)
	}
	last := strings.Join(below[len(below)-1], " ")
	switch {
	case strings.HasSuffix(text, "$"):
		text = strings.TrimSuffix(text, "$") + last + "\nnote leaves\n"
	case strings.Contains(text, "reader idle"):
		text = strings.Replace(text, "%", "%"+last+" | ", 1)
	}
	text = strings.ReplaceAll(text, "%", background)
	text = strings.ReplaceAll(text, "@", background+inBackground(below[len(below)-1]))
	return fmt.Sprintf(prelude, id) + strings.ReplaceAll(text, "ID", fmt.Sprint(id))
}

func inBackground(command []string) string { return strings.Join(command, " ") + " & p=\"$p $!\"\n" }
