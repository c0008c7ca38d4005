package main

import (
	"fmt"
	"regexp"
	"strings"
)

// redactArgs removes the values of the command line and the environment from an error about them, unless they are plain
// words: a URL without a flag, or after the wrong one, may hold a password.
func redactArgs(complaint string, args, env []string) string {
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=")
		complaint = redactValue(redactValue(complaint, arg), value)
	}
	for _, set := range env {
		if name, value, ok := strings.Cut(set, "="); ok && strings.HasPrefix(name, "STOCKAPI_") {
			complaint = redactValue(complaint, value)
		}
	}
	if before, _, ok := strings.Cut(complaint, surplus); ok { // without a flag it may be anything
		complaint = before + "an argument has no flag, and is not shown: every value has to follow the name of its flag"
	}
	return complaint
}

// surplus begins the parser's error about an argument without a flag.
const surplus = "unexpected argument "

// plainWord matches the words that an error may quote: the name of a flag, a number, a duration.
var plainWord = regexp.MustCompile(`^-*[A-Za-z0-9.+-]{0,20}$`)

func redactValue(complaint, value string) string {
	if plainWord.MatchString(value) {
		return complaint
	}
	for _, quoted := range []string{fmt.Sprintf("%q", value), value} {
		complaint = strings.ReplaceAll(complaint, quoted, "…")
	}
	return complaint
}
