package ociruntime

import (
	"encoding/json"
	"strconv"
	"strings"
)

// node is a value within a JSON text: where it begins and ends. The zero node is one that is not there.
type node struct {
	text     []byte
	from, to int
}

// readJSON returns the value that a text has, and false if the text is no valid JSON. Package encoding/json
// would have to write all anew: what is read here by its place can be left as it is, byte for byte.
func readJSON(text []byte) (node, bool) {
	if !json.Valid(text) {
		return node{}, false
	}
	from := skipBlanks(text, 0)
	return node{text, from, skipValue(text, from)}, true
}

func skipBlanks(text []byte, at int) int {
	for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		at++
	}
	return at
}

// skipValue returns the end of the value that begins at a place of a valid text.
func skipValue(text []byte, at int) int {
	for depth := 0; ; {
		switch text[at] {
		case '"':
			for at++; text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		at++
		if depth == 0 && (at == len(text) || strings.IndexByte(" \t\r\n,:]}", text[at]) >= 0) {
			return at
		}
	}
}

// is reports whether the value begins with this byte, as an object, an array or a string does.
func (n node) is(first byte) bool { return n.to > 0 && n.text[n.from] == first }

// each calls a function with the values of an object or array, and the keys of the object.
func (n node) each(visit func(key, value node)) {
	if !n.is('{') && !n.is('[') {
		return
	}
	for at := skipBlanks(n.text, n.from+1); at < n.to-1; {
		var key node
		value := node{n.text, at, skipValue(n.text, at)}
		if n.is('{') {
			key = value
			at = skipBlanks(n.text, skipBlanks(n.text, key.to)+1) // the colon
			value = node{n.text, at, skipValue(n.text, at)}
		}
		visit(key, value)
		at = skipBlanks(n.text, value.to)
		if n.text[at] == ',' {
			at = skipBlanks(n.text, at+1)
		}
	}
}

// get follows keys into objects. Of two values with one key the last counts, as for most readers.
func (n node) get(keys ...string) node {
	for _, key := range keys {
		var found node
		n.each(func(k, value node) {
			if k.string() == key {
				found = value
			}
		})
		n = found
	}
	return n
}

// string returns the text of a string, "" for another value. JSON's escapes are Go's but for \/ and the
// halves of a surrogate pair, which no engine writes: a string with one counts as "".
func (n node) string() string {
	if !n.is('"') {
		return ""
	}
	asGo := strings.NewReplacer(`\\`, `\\`, `\/`, "/")
	text, _ := strconv.Unquote(asGo.Replace(string(n.text[n.from:n.to])))
	return text
}

// strings returns the texts of an array.
func (n node) strings() (all []string) {
	n.each(func(_, value node) { all = append(all, value.string()) })
	return all
}

// edit is a piece of a text that becomes another.
type edit struct {
	from, to int
	text     string
}

// add returns the edit that adds elements to an array of an object, which is not empty, or makes the array.
func (n node) add(key, elements string) edit {
	switch array := n.get(key); {
	case array.to == 0:
		return edit{n.from + 1, n.from + 1, strconv.Quote(key) + ":[" + elements + "],"}
	case array.is('n'): // null
		return edit{array.from, array.to, "[" + elements + "]"}
	case skipBlanks(n.text, array.from+1) == array.to-1:
		return edit{array.to - 1, array.to - 1, elements}
	default:
		return edit{array.to - 1, array.to - 1, "," + elements}
	}
}

// edited returns the text with edits, of which no two overlap.
func (n node) edited(edits []edit) (text []byte) {
	for i := range edits { // in the order of their places: there are three at most
		for j := range i {
			if edits[i].from < edits[j].from {
				edits[i], edits[j] = edits[j], edits[i]
			}
		}
	}
	at := 0
	for _, e := range edits {
		text = append(append(text, n.text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(text, n.text[at:]...)
}
