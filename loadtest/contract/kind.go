package contract

import (
	"encoding/json"
	"strings"
	"time"
)

// A Kind is the type of a member, as a sentence says it.
type Kind string

const (
	text   Kind = "text"
	number Kind = "a number"
	whole  Kind = "a whole number"
	wholes Kind = "a list of whole numbers"
	yesNo  Kind = "true or false"
	moment Kind = "an RFC 3339 time"
	list   Kind = "a list"
	object Kind = "an object"
)

// holds reports whether v, as package json decodes it, is of that kind.
func (k Kind) holds(v any) bool {
	switch k {
	case wholes:
		return all(v, whole)
	case list:
		_, is := v.([]any)
		return is
	case object:
		_, is := v.(map[string]any)
		return is
	case yesNo:
		_, is := v.(bool)
		return is
	case number, whole:
		return isNumber(v, k)
	}
	s, is := v.(string)
	return is && (k == text || isMoment(s))
}

func all(v any, k Kind) bool {
	elements, is := v.([]any)
	for _, e := range elements {
		is = is && k.holds(e)
	}
	return is
}

func isNumber(v any, k Kind) bool {
	n, is := v.(json.Number)
	if is && k == whole {
		_, err := n.Int64()
		return err == nil
	}
	return is
}

func isMoment(s string) bool {
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

// find returns the value at a path, or one value per element if the path goes through a list. A missing or null value
// is nil.
func find(doc any, path string) []any {
	head, rest, more := strings.Cut(path, ".")
	name, each := strings.CutSuffix(head, "[]")
	fields, _ := doc.(map[string]any)
	values := []any{fields[name]}
	if each {
		values, _ = fields[name].([]any)
	}
	if !more {
		return values
	}
	var found []any
	for _, v := range values {
		found = append(found, find(v, rest)...)
	}
	return found
}
