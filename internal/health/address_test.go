package health

import "testing"

// A port and localhost are what people type.
func TestAddressesArePlaces(t *testing.T) {
	for text, same := range map[string]string{"8080": ":8080", "localhost:8080": "127.0.0.1:8080"} {
		a, err := ParseAddress(text)
		b, errSame := ParseAddress(same)
		if err != nil || errSame != nil || a.String() != text {
			t.Fatalf("%s is %v, %v; %v", text, a, err, errSame)
		}
		b.text = text
		if a != b {
			t.Errorf("%s is %+v, and %s is %+v", text, a, same, b)
		}
	}
	for _, text := range []string{"", "0", "65536", "-1", "localhost", "localhost:", "localhost:0", "localhost:http", "127.0.0.1", "drainit:80", "http", "::1", "mylocalhost:80"} {
		if a, err := ParseAddress(text); err == nil || a.Given() {
			t.Errorf("%q is %+v", text, a)
		}
	}
}
