package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Keys that could not be removed are reported, unless they were on a server of the run's own, which has died.
func TestKeysLeft(t *testing.T) {
	for _, c := range []struct {
		flags runFlags
		err   error
		left  bool
	}{
		{runFlags{Backend: "embedded"}, errors.New("embedded redis died"), false},
		{runFlags{Backend: "auto", SQL: "postgres"}, errors.New("interrupted"), false},
		{runFlags{Backend: "embedded"}, nil, true},
		{runFlags{Backend: "redis://127.0.0.1:1"}, errors.New("interrupted"), true},
		{runFlags{Backend: "embedded", SQL: "mysql://h/shop"}, errors.New("embedded redis died"), true},
		{runFlags{Backend: "embedded", ZooKeeper: "h:2181"}, errors.New("embedded redis died"), true},
		{runFlags{Targets: []string{"http://h"}}, errors.New("interrupted"), true},
	} {
		s := &session{flags: &c.flags, swept: errors.New("503")}
		assert.Equal(t, c.left, s.keysLeft(c.err) != nil, "%+v", c)
		s.swept = nil
		assert.NoError(t, s.keysLeft(c.err))
	}
}
