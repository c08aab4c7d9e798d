package cli

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"drainit/internal/machine"
)

// differs lists the fields in which a struct is not another, as "Grace=29s Forking=true". Of a struct in
// it, its first field is shown.
func differs(is, from any) string {
	var words []string
	a, b := reflect.ValueOf(is), reflect.ValueOf(from)
	for i := range a.NumField() {
		value, _, inner := strings.Cut(fmt.Sprint(a.Field(i)), " {")
		if was, _, _ := strings.Cut(fmt.Sprint(b.Field(i)), " {"); value == was {
			continue
		}
		if inner {
			value = value[1:]
		}
		words = append(words, a.Type().Field(i).Name+"="+value)
	}
	return strings.ReplaceAll(strings.Join(words, " "), machine.Forever.String(), "forever")
}

// outcome is what parse makes of a command line: an error, or how its options differ from those of
// `drainit -- x`, but for the environment, the doubts and what is said of the settings.
func outcome(args, environ []string) (said string, o *options) {
	o, err := parse(args, environ)
	if err != nil {
		return err.Error(), o
	}
	is, from := *o, plain()
	if is.Grace == from.Grace {
		from.Limit = 30 * time.Second
	}
	is.Env, is.Given, is.Doubts = nil, nil, nil
	said = differs(is.Config, from.Config)
	is.Config, is.json = from.Config, from.json // TestLogFormat
	return strings.TrimSpace(said + " " + differs(is, from)), o
}
