package cli

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// pflag keeps the text of a flag's value from before the flags are parsed.
func TestFlagValuesAsText(t *testing.T) {
	on, off, wait := toggle(true), toggle(false), delay(90*time.Second)
	for _, tt := range []struct {
		value      pflag.Value
		text, kind string
	}{
		{&on, "true", "bool"},
		{&off, "false", "bool"},
		{&wait, "1m30s", "duration"},
		{&texts{}, "", "text"},
		{&texts{"a", "b"}, "a,b", "text"},
	} {
		if tt.value.String() != tt.text || tt.value.Type() != tt.kind {
			t.Errorf("%s, %s; want %s, %s", tt.value, tt.value.Type(), tt.text, tt.kind)
		}
	}
}

func TestARefusedValueChangesNothing(t *testing.T) {
	on, wait := toggle(true), delay(time.Second)
	if err := on.Set("maybe"); err == nil || !bool(on) {
		t.Errorf("a toggle: %v, %v", on, err)
	}
	if err := wait.Set("soon"); err == nil || time.Duration(wait) != time.Second {
		t.Errorf("a delay: %v, %v", wait, err)
	}
}
