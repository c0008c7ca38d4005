package shop

import (
	"encoding/base64"
	"errors"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"stockapi/loadtest/history"
)

// A Mask hides the values of headers, which may be secrets, in what is printed and kept: a shop may repeat them in its
// answers, its output and its keys.
type Mask struct{ values *regexp.Regexp }

// NewMask returns a mask of these headers.
func NewMask(headers []Header) *Mask {
	var patterns []string
	for _, h := range headers {
		for _, secret := range secretsIn(h.Value) {
			patterns = append(patterns, patternsOf(secret)...)
		}
	}
	if len(patterns) == 0 {
		return &Mask{}
	}
	slices.SortStableFunc(patterns, func(x, y string) int { return len(y) - len(x) }) // the whole value before its parts
	return &Mask{regexp.MustCompile(strings.Join(slices.Compact(patterns), "|"))}
}

// placeholder matches what differs in the orders' values of a header.
var placeholder = regexp.MustCompile(`\{(i|order|product|ms)\}`)

// secretsIn returns a header's value and the parts that a shop may repeat alone: a token without its scheme, the value
// of a cookie, a user and a password.
func secretsIn(value string) (secrets []string) {
	secrets = []string{value}
	for i, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t;,", r) }) {
		isScheme := i == 0 && strings.HasPrefix(value, word+" ")
		if isScheme {
			continue
		}
		secrets = append(secrets, word)
		if _, of, found := strings.Cut(word, "="); found {
			secrets = append(secrets, strings.Trim(of, `"`))
		}
		if plain, err := base64.StdEncoding.DecodeString(word); err == nil && strings.HasPrefix(value, "Basic ") {
			_, password, _ := strings.Cut(string(plain), ":")
			secrets = append(secrets, string(plain), password)
		}
	}
	return slices.DeleteFunc(secrets, func(s string) bool {
		return len(placeholder.ReplaceAllString(s, "")) < leastSecret
	})
}

// patternsOf returns patterns of a secret: as it is, as JSON, a URL, HTML or base64 have it, and clipped.
func patternsOf(secret string) (patterns []string) {
	asJSON := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	asIs := func(s string) string { return s }
	for _, form := range []func(string) string{asIs, asJSON, url.QueryEscape, url.PathEscape, html.EscapeString} {
		patterns = append(patterns, filledPattern(secret, form))
	}
	if !placeholder.MatchString(secret) {
		patterns = append(patterns, regexp.QuoteMeta(base64.StdEncoding.EncodeToString([]byte(secret))))
	}
	if begin := secret[:leastSecret]; !strings.ContainsAny(begin, "{ ") && utf8.ValidString(begin) {
		patterns = append(patterns, regexp.QuoteMeta(begin)+`[^\s…]*…`)
	}
	return patterns
}

// filledPattern returns a pattern of a text in a form, with its placeholders filled in.
func filledPattern(text string, form func(string) string) string {
	literals := placeholder.Split(text, -1)
	for i := range literals {
		literals[i] = regexp.QuoteMeta(form(literals[i]))
	}
	return strings.Join(literals, `[\w-]+`)
}

// Text returns a text without the values.
func (m *Mask) Text(text string) string {
	if m.values == nil {
		return text
	}
	return m.values.ReplaceAllLiteralString(text, masked)
}

// Err returns an error without the values.
func (m *Mask) Err(err error) error {
	if err == nil || m.Text(err.Error()) == err.Error() {
		return err
	}
	return errors.New(m.Text(err.Error()))
}

// All hides the values in every text of what v points to.
func (m *Mask) All(v any) {
	if m.values != nil {
		history.Mask(v, m.Text)
	}
}

const (
	masked = "***"
	// leastSecret is the least length of a value, without its placeholders, that is hidden.
	leastSecret = 4
)
