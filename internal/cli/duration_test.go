package cli

import (
	"strings"
	"testing"
	"time"

	"drainit/supervisor"
)

func TestDurations(t *testing.T) {
	const week = 7 * 24 * time.Hour
	tests := []struct {
		text string
		want time.Duration
		err  string // about the value
	}{
		{"0", 0, ""},
		{"0s", 0, ""},
		{"-0s", 0, ""},
		{"1", time.Second, ""},
		{"007", 7 * time.Second, ""},
		{"25", 25 * time.Second, ""},
		{"25s", 25 * time.Second, ""},
		{"1m30s", 90 * time.Second, ""},
		{"1.5s", 1500 * time.Millisecond, ""},
		{"1ns", 1, ""},
		{"604799", week - time.Second, ""},
		{"604800", week, ""},
		{"168h", week, ""},
		{"168h0m0.000000001s", 0, `"168h0m0.000000001s" is more than a week (milliseconds meant?)`},
		{"604801", 0, `"604801" is more than a week (milliseconds meant?)`},
		{"90000000", 0, `"90000000" is more than a week (milliseconds meant?)`},
		{"9223372037", 0, `"9223372037" is more than a week (milliseconds meant?)`},
		{"18446744073709551615", 0, `"18446744073709551615" is more than a week (milliseconds meant?)`},
		{"18446744073709551616", 0, `invalid duration "18446744073709551616"`},
		{"-1ns", 0, `invalid duration "-1ns"`},
		{"-5", 0, `invalid duration "-5"`},
		{"", 0, `invalid duration ""`},
		{"25x", 0, `invalid duration "25x"`},
		{"1.5", 0, `invalid duration "1.5"`},
		{" 5", 0, `invalid duration " 5"`},
		{"1d", 0, `invalid duration "1d"`},
		{"30S", 30 * time.Second, ""},
		{"1M5S", 65 * time.Second, ""},
		{"25X", 0, `invalid duration "25X"`},
		{"infinit", 0, `invalid duration "infinit"`},
		{"5\n", 0, `invalid duration "5\n"`},
	}
	kinds := []struct {
		name  string
		parse func(string) (time.Duration, error)
		takes string
	}{
		{"delay", parseDelay, ": want 5s or 5 (seconds)"},
		{"grace", parseGrace, ": want 25s, 25 (seconds), 0 (kill at once) or infinity"},
	}
	for _, tt := range tests {
		for _, kind := range kinds {
			got, err := kind.parse(tt.text)
			switch {
			case tt.err == "" && (err != nil || got != tt.want):
				t.Errorf("%s %q is %v, %v; want %v", kind.name, tt.text, got, err, tt.want)
			case tt.err != "" && (err == nil || got != 0 || err.Error() != tt.err+kind.takes):
				t.Errorf("%s %q is %v, %v; want %s", kind.name, tt.text, got, err, tt.err+kind.takes)
			}
		}
	}
}

func TestOnlyAGraceCanBeInfinite(t *testing.T) {
	for _, s := range []string{"infinity", "inf", "Infinity", "INF"} {
		if d, err := parseGrace(s); d != supervisor.Forever || err != nil {
			t.Errorf("a grace of %s: %v, %v", s, d, err)
		}
	}
	if d, err := parseDelay("infinity"); d != 0 || err == nil || err.Error() != `invalid duration "infinity": want 5s or 5 (seconds)` {
		t.Errorf("a delay: %v, %v", d, err)
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"", "0", "25", "25s", "1m30s", "infinity", "-1", "1e9", "9223372036854775807", "168h", "0x10", "1_000", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parseDelay(s)
		if err == nil && (d < 0 || d > 7*24*time.Hour) {
			t.Errorf("%q is %v", s, d)
		}
		if err != nil && (d != 0 || strings.ContainsAny(err.Error(), "\n\x00\x1b")) {
			t.Errorf("%q gives %v and %q", s, d, err)
		}
		if g, gerr := parseGrace(s); g != supervisor.Forever && (g != d || (gerr == nil) != (err == nil)) {
			t.Errorf("%q is a duration of %v, %v and a grace of %v, %v", s, d, err, g, gerr)
		}
	})
}
