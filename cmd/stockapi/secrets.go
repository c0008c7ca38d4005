package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// What is on a command line or in an environment, others on the machine may read. So what may hold a password can be
// read from a file instead, each by a flag of its own: --sql-file for --sql.

// maxSecret bounds what is read of such a file: none of them is meant to be large.
const maxSecret = 64 << 10

// readFiles sets what was given by a file, and the default of --redis, which could not be told from a choice before.
func (c *config) readFiles() error {
	redlock := strings.Join(c.Redlock, ",")
	for _, f := range []struct {
		flag, file string
		value      *string
	}{
		{"--admin-token", c.AdminTokenFile, &c.AdminToken},
		{"--redis", c.RedisFile, &c.Redis},
		{"--lock-redis", c.LockRedisFile, &c.LockRedis},
		{"--redlock", c.RedlockFile, &redlock},
		{"--sql", c.SQLFile, &c.SQL},
	} {
		if err := fromFile(f.flag, f.value, f.file); err != nil {
			return err
		}
	}
	if c.RedlockFile != "" {
		c.Redlock = strings.FieldsFunc(redlock, func(r rune) bool { return strings.ContainsRune(", \r\n", r) })
	}
	if c.Redis == "" {
		c.Redis = defaultRedis
	}
	if !tokenPattern.MatchString(c.AdminToken) {
		return fmt.Errorf("--admin-token: a header has to carry it: no spaces, no letters beyond ASCII: %w", errUsage)
	}
	return nil
}

// tokenPattern matches what can be sent behind Bearer, and no token at all.
var tokenPattern = regexp.MustCompile(`^[!-~]*$`)

// fromFile sets the value of a flag to what the file holds, without the end of its last line.
func fromFile(flag string, value *string, path string) error {
	switch {
	case path == "":
		return nil
	case *value != "":
		return fmt.Errorf("%s and %s-file are both given: leave one out: %w", flag, flag, errUsage)
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s-file: %w", flag, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxSecret))
	if err != nil {
		return fmt.Errorf("%s-file: %w", flag, err)
	}
	*value = strings.TrimRight(string(data), "\r\n")
	if strings.TrimSpace(*value) == "" {
		return fmt.Errorf("%s-file: %s is empty", flag, path)
	}
	return nil
}

// redactArgs takes what was given on the command line and in the environment out of a complaint about it, unless it is
// a plain word: a URL that follows no flag, or the wrong one, may hold a password.
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
	if before, _, ok := strings.Cut(complaint, surplus); ok { // it follows no flag, so nobody knows what it is
		complaint = before + "an argument follows no flag, and is not shown: every value follows the name of its flag"
	}
	return complaint
}

// surplus begins the parser's complaint about an argument that belongs to no flag.
const surplus = "unexpected argument "

// plainWord matches what a complaint may quote: the name of a flag, a number, a duration.
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
