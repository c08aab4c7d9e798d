package logging

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"drainit/test/harness"
)

// warnedFolder makes a folder in which the command lines of the warnings' tests
// find what they name, and the environment that goes with it.
func warnedFolder(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "drainit-warned-") // t.TempDir's name has the test's in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	here, err := filepath.Abs("testdata/warned")
	links := map[string]string{"bin/app": here + "/app", "node_modules/.bin/tool": here + "/app"}
	for _, file := range []string{"app.js", "main.go", "package.json"} {
		links[file] = filepath.Join(here, file)
	}
	// A shell by a name of its own, and another program by a shell's.
	for link, program := range map[string]string{"bin/ash": "busybox", "sh": "perl"} {
		if path, missing := exec.LookPath(program); missing == nil {
			links[link] = path
		}
	}
	links["bin/worker"] = harness.WorkerBin
	for link, file := range links {
		link = filepath.Join(dir, link)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(file, link))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, append(goEnv(t), "HOME="+dir, "npm_config_update_notifier=false",
		"PATH="+strings.Join([]string{filepath.Join(dir, "bin"), harness.NodePackages(".bin"), os.Getenv("PATH")}, ":"))
}

// goEnv lets go run in another home find what has been built already.
func goEnv(t *testing.T) []string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil || os.Getenv("GOCACHE") != "" {
		return nil
	}
	return []string{"GOCACHE=" + filepath.Join(cache, "go-build")}
}

// splitWords splits a command line as a shell does that knows single quotes only.
func splitWords(command string) (words []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// needFor skips a test whose command line has a program that is not there.
func needFor(t *testing.T, command string) {
	t.Helper()
	harness.Need(t, "perl")
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \n'\"/!#", r) })
	for _, program := range []string{"dash", "bash", "busybox", "timeout", "tini", "node", "npm", "npx", "python3", "go"} {
		if slices.Contains(words, program) {
			harness.Need(t, program)
		}
	}
	if slices.Contains(words, "ash") {
		harness.Need(t, "busybox")
	}
	if slices.Contains(words, "yarn") {
		harness.NeedNodePackages(t)
	}
}
