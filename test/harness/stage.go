package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// EmptyFile is what the kubelet puts there before the start.
func EmptyFile(t *testing.T) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "termination-log")
	WriteFile(t, name, nil)
	return name
}

// WantLastMessage checks what is in a termination log: one line at most, printable.
func WantLastMessage(t *testing.T, file, pattern string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(string(b), "\n")
	if len(b) > 4096 || !Matches(pattern, text) {
		t.Errorf("the message is %q, want %q", b, pattern)
	}
	WantPrintable(t, text)
}

// Scratch is the folder of an image that holds two static programs and nothing
// else that any of them could use.
func Scratch(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, dir := range []string{"proc", "dev"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{DrainitBin: "drainit", WorkerBin: "worker"} {
		if err := os.Link(from, filepath.Join(root, to)); err != nil {
			t.Fatal(err)
		}
	}
	WriteFile(t, filepath.Join(root, "dev/null"), nil)
	return root
}
