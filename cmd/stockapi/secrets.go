package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// Other users of the machine may read the command line and the environment. So a value that may hold a password can be
// read from a file instead: --sql-file for --sql.

const (
	maxSecret = 64 << 10 // bounds the size of such a file
	maxToken  = 8 << 10  // bounds a token: it has to fit into the 16 KiB of a request's headers
)

// readFiles sets the values that are given by files. It also sets the default of --redis, because before that an
// explicit value has to be distinguished from the default.
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
	if len(c.AdminToken) > maxToken {
		return fmt.Errorf("--admin-token has to be no longer than %d bytes: %w", maxToken, errUsage)
	}
	if !tokenPattern.MatchString(c.AdminToken) {
		return fmt.Errorf("--admin-token has to fit into a header: ASCII only, no spaces: %w", errUsage)
	}
	return nil
}

// tokenPattern matches a token that can follow Bearer in a header, or none.
var tokenPattern = regexp.MustCompile(`^[!-~]*$`)

// fromFile sets the value of a flag to the content of a file, without the line end.
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
	data, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err != nil {
		return fmt.Errorf("%s-file: %w", flag, err)
	}
	if len(data) > maxSecret {
		return fmt.Errorf("%s-file: %s is larger than 64 KiB", flag, path)
	}
	*value = strings.TrimRight(string(data), "\r\n")
	if strings.TrimSpace(*value) == "" {
		return fmt.Errorf("%s-file: %s is empty", flag, path)
	}
	return nil
}

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
