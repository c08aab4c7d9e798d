package cli

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// newFlagSet returns a set that prints nothing by itself.
func newFlagSet(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// addToggle adds a flag that sets a bool.
func addToggle(fs *pflag.FlagSet, to *bool, name, short string) {
	fs.VarPF((*toggle)(to), name, short, "").NoOptDefVal = "true"
}

// toggle is the value of a flag that takes none, or =true or =false.
type toggle bool

func (t *toggle) String() string { return strconv.FormatBool(bool(*t)) }
func (t *toggle) Type() string   { return "bool" }
func (t *toggle) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if err != nil {
		return errors.New("want true or false, or nothing")
	}
	*t = toggle(on)
	return nil
}

// delay is the value of a flag that takes a duration.
type delay time.Duration

func (d *delay) String() string { return time.Duration(*d).String() }
func (d *delay) Type() string   { return "duration" }
func (d *delay) Set(s string) error {
	parsed, err := parseDelay(s)
	if err != nil {
		return err
	}
	*d = delay(parsed)
	return nil
}

// pidValue is the value of a flag that takes a pid.
type pidValue int

func (p *pidValue) String() string { return strconv.Itoa(int(*p)) }
func (p *pidValue) Type() string   { return "pid" }
func (p *pidValue) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return errors.New("want a pid")
	}
	*p = pidValue(n)
	return nil
}

// texts holds what a flag was given, to be checked when all flags are known.
type texts []string

func (t *texts) String() string     { return strings.Join(*t, ",") }
func (t *texts) Type() string       { return "text" }
func (t *texts) Set(s string) error { *t = append(*t, s); return nil }
