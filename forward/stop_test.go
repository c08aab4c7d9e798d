package forward

import (
	"path/filepath"
	"strings"
	"testing"

	"drainit/test/harness/rows"
)

// TestStops plays the starts of testdata/stops.tsv, of which nothing is certain, as where what a process
// sleeps in can't be read. The others each hold one condition of a rule.
func TestStops(t *testing.T) { playRows(t, "testdata/stops.tsv") }

func TestConditions(t *testing.T) {
	files, err := filepath.Glob("testdata/conditions/*.tsv")
	if len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		about := strings.TrimSuffix(filepath.Base(file), ".tsv")
		t.Run(about, func(t *testing.T) { playRows(t, file) })
	}
}

// playRows plays a file of stops: a name and a tree, and lines of a script below.
func playRows(t *testing.T, file string) {
	t.Helper()
	type stop struct{ name, tree, script string }
	var stops []stop
	for _, row := range rows.Read(t, file, 2) {
		if row[0] != "" {
			stops = append(stops, stop{name: row[0], tree: row[1]})
		} else {
			stops[len(stops)-1].script += row[1] + " "
		}
	}
	for _, s := range stops {
		t.Run(s.name, func(t *testing.T) { play(t, s.tree, s.script) })
	}
}
